"""Goals of muscles: effort, rates of their tensions, metabolic power."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

import numpy as np

from myoquat.analysis.control.plants import MuscledPlant, Plant
from myoquat.analysis.control.points import Point
from myoquat.analysis.recruitment.metabolic_power import MuscleFibers
from myoquat.core import Array, frozen
from myoquat.joints.vectors import vector
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.metabolics import Bhargava2004, MetabolicCost
from myoquat.muscle.states import forces_of_laws, state_slices

from .base import IntegralGoal, WeightedGoal


@frozen
class Effort(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i c_i^exponent over the controls c_i; of an odd exponent |c_i|^exponent.

    weights: w_i by the names of controls, 1 where a name is missing; `of` names the controls that count, all by
    default. Moco's MocoControlGoal is that without division by the displacement.

    >>> from myoquat.analysis.control import Effort
    >>> Effort(weights={"residual": 10.0}).exponent
    2
    """

    _what = "control"
    _many = "controls; give muscles, actuators or torques"
    exponent: int = 2

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if self.exponent < 1 or not float(self.exponent).is_integer():
            raise ValueError(f"goal {self.title!r}: the exponent must be a whole number from 1 on, not {self.exponent}")

    def content(self, plant: Plant) -> Hashable:
        return super().content(plant), self.exponent

    def _names(self, plant: Plant) -> Sequence[str]:
        return plant.control_names

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        powers = point.controls**self.exponent
        return self._summed(plant, powers if self.exponent % 2 == 0 else np.abs(powers))


@frozen
class TendonForceRates(IntegralGoal):
    """The integral of sum_i (d(F_i / F0_i)/dt)^2 [1/s^2] over the muscles with elastic tendons. A small weight keeps
    fiber lengths smooth where nothing else determines them. Moco calls it the goal of implicit auxiliary derivatives.

    Raises ValueError for a model without elastic tendons.

    >>> from myoquat.analysis.control import TendonForceRates
    >>> TendonForceRates(weight=0.01).title
    'TendonForceRates'
    """

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if not isinstance(plant, MuscledPlant) or not _elastic(plant):
            raise ValueError(f"goal {self.title!r}: the model has no muscles with elastic tendons")

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        assert isinstance(plant, MuscledPlant)
        rates = tension_rates(plant, point)
        return np.sum(vector([(rates[..., i] / F0) ** 2 for i, F0 in _elastic(plant).items()]), axis=-1)


WITHOUT_CORNERS = Bhargava2004(
    forbid_negative_power=False, enforce_minimum_heat=False, speed_rounding=0.1, length_rounding=0.02
)


def _elastic(plant: MuscledPlant) -> dict[int, float]:
    """Strength [N] of the muscles with elastic tendons, by their indices."""
    laws = [muscle.law for muscle in plant.equations.muscled.muscles] if plant.muscle_names else []
    return {i: law.max_isometric_force for i, law in enumerate(laws) if isinstance(law, HillLaw) and law.states}


def tension_rates(plant: MuscledPlant, point: Point) -> Array:
    """(..., m) rates of the tensions [N/s] at the rates of path lengths and states."""
    model, (length, speed) = plant.equations.muscled, plant.muscle_paths(point)
    given, (first, last) = plant.given(point), plant.law_states
    activation = plant.equations.activation(given)
    state, rate = point.states[..., first:last], point.rates[..., first:last]

    def along(s: Array) -> Array:
        return forces_of_laws(model, length + s * speed, speed, activation, state + s * rate)

    return jacobian_at(along, np.zeros(1), like=length)[..., 0]


@frozen
class MetabolicEnergy(IntegralGoal):
    """The integral of the metabolic power [W] of all muscles, or its mean over time if `mean`.

    cost         a `MetabolicCost`
    slow_twitch  as `analysis.recruitment.metabolic_power` takes it
    masses       as `analysis.recruitment.metabolic_power` takes them
    scale        divides the integral, such as the weight of the body

    Corners of the heat keep solvers with exact second derivatives from converging. The default is therefore Bhargava's
    cost without bounds and with rounded corners. The power of zero activation has an infinite slope: activations need a
    positive lower bound.

    Raises ValueError for a model without muscles, ModelError for a law without a fiber.

    >>> from myoquat.analysis.control import MetabolicEnergy
    >>> from myoquat.muscle.metabolics import Umberger2010
    >>> MetabolicEnergy(Umberger2010(), scale=700.0, mean=True).title
    'MetabolicEnergy'
    """

    cost: MetabolicCost = field(default_factory=lambda: WITHOUT_CORNERS)
    slow_twitch: float | Mapping[str, float] = 0.5
    masses: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if not isinstance(plant, MuscledPlant) or not plant.muscle_names:
            raise ValueError(f"goal {self.title!r}: the model has no muscles")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"goal {self.title!r}: the scale must be positive, not {self.scale}")
        self._fibers(plant)

    def _fibers(self, plant: MuscledPlant) -> MuscleFibers:
        return MuscleFibers.of(plant.equations.muscled, self.cost, self.slow_twitch, self.masses)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        assert isinstance(plant, MuscledPlant)
        given, (length, speed) = plant.given(point), plant.muscle_paths(point)
        activation, fibers = plant.equations.activation(given), self._fibers(plant)
        excitation, states = given.get("excitation", activation), plant.equations.states(given)
        powers = []
        for i, s in enumerate(state_slices(plant.equations.muscled)):
            at = length[..., i], speed[..., i], activation[..., i]
            own = states[..., s] if states is not None and s.stop > s.start else None
            powers.append(self.cost.power(fibers.fiber(i, at, excitation[..., i], own)))
        return np.sum(vector(powers), axis=-1) / self.scale
