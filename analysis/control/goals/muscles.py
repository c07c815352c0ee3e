"""Goals of muscles' own states."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from myoquat.analysis.control.goals.base import IntegralGoal
from myoquat.analysis.control.plants import MuscledPlant, Plant
from myoquat.analysis.control.points import Point
from myoquat.core.typing import Array
from myoquat.joints.stacking import vector
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.states import forces_of_laws

__all__ = ["TendonForceRates"]


@dataclass(frozen=True)
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

    def content(self, plant: Plant) -> Hashable:
        return "tendon force rates"

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        assert isinstance(plant, MuscledPlant)
        rates = tension_rates(plant, point)
        result: Array = np.sum(vector([(rates[..., i] / F0) ** 2 for i, F0 in _elastic(plant).items()]), axis=-1)
        return result


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

    result: Array = jacobian_at(along, np.zeros(1), like=length)[..., 0]
    return result
