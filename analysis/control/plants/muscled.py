"""A model whose muscles, actuators and torques are controlled: names, bounds, and the equations of its muscles."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from myoquat.analysis.control.plants.acting import Acting
from myoquat.analysis.control.plants.base import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import vector
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.actuators import delayed_rates
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.model import Model
from myoquat.muscle.states import activation_rates

__all__ = ["MuscledPlant"]

JUMPING = ("piecewise", "linear", "quadratic")  # forms of activation dynamics
FIBER_RANGE = (0.2, 1.8)  # of the optimal fiber length: where active fibers have a force

OfFibers = Callable[[Array, Array, Array], Array]  # of activations, states of the laws, their rates


class MuscledPlant(Plant):
    """A model whose controls are those of muscles, actuators and `torques`.

    The control of a muscle is its excitation, or its activation if it has no activation dynamics. Each of the `torques`
    acts on a velocity, with a control times its scale [N m, N].
    """

    def __init__(self, model: SystemLike, acting: Acting, external_torque: bool) -> None:
        system: ArticulatedSystem = system_of(model)
        self.model, self.acting, torques = model, acting, acting.torques
        self.unknown = acting.unknown
        self.equations = StateEquations(model if isinstance(model, Model) else system, external_torque)
        self.state_names = self.equations.own
        self.torque_indices = indices_of("velocity", torques, system.velocity_names)
        self.torque_scales = tuple(map(float, torques.values()))
        own = model if isinstance(model, Model) else None
        self.muscle_names = own.muscle_names if own else ()
        self.actuator_names = own.control_names if own else ()
        self.control_names = (*self.muscle_names, *self.actuator_names, *(f"{name}.torque" for name in torques))

    @property
    def prescribed(self) -> Array:
        """(nc,) whether the model itself prescribes a control."""
        own = {own.name for own in self.model.inputs} if isinstance(self.model, Model) else set()
        count = len(self.muscle_names) + len(self.actuator_names)
        return np.array([k < count and name in own for k, name in enumerate(self.control_names)], dtype=bool)

    def acting_controls(self, t: Array, controls: Array) -> Array:
        if not self.prescribed.any():
            return controls
        assert isinstance(self.model, Model)
        own = InputsOverTime(self.model.inputs, self.control_names).prescribed(t)
        columns = [own.get(name, controls[..., k]) for k, name in enumerate(self.control_names)]
        result: Array = np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1)
        return result

    @property
    def control_bounds(self) -> Array:
        actuators = self.model.actuators if isinstance(self.model, Model) else ()
        bounds = [b for actuator in actuators for b in actuator.bounds]
        free = [(-np.inf, np.inf)] * len(self.torque_indices)
        least = self._least
        excitations = [(least.get(name, 0.0), 1.0) for name in self.muscle_names]
        found = np.array(excitations + bounds + free).reshape(-1, 2)
        return np.where(self.prescribed[:, None], 0.0, found)

    @property
    def _least(self) -> dict[str, float]:
        """Of every muscle with activation dynamics the activation below which nothing changes."""
        muscles = self.equations.muscled.muscles if self.muscle_names else ()
        return {m.name: m.activation_dynamics.minimum_activation for m in muscles if m.activation_dynamics is not None}

    @property
    def jumping(self) -> tuple[str, ...]:
        """The muscles whose activation dynamics have a derivative that jumps where excitation and activation are
        equal."""
        muscles = self.equations.muscled.muscles if self.muscle_names else ()
        own = ((m.name, m.activation_dynamics) for m in muscles)
        return tuple(name for name, dynamics in own if dynamics is not None and dynamics.form in JUMPING)

    @property
    def state_bounds(self) -> Array:
        laws = {m.name: m.law for m in self.equations.muscled.muscles} if self.muscle_names else {}
        return np.array([_state_bound(name, laws, self._least) for name in self.state_names]).reshape(-1, 2)

    def given(self, point: Point) -> dict[str, Array]:
        """What the forces depend on beside q and u, as `StateEquations` has it, but for external torques."""
        m, k = len(self.muscle_names), len(self.actuator_names)
        inputs: dict[str, Array] = {"own": point.states} if self.nw else {}
        for name in self.equations.inputs:
            if name == "controls":
                inputs[name] = point.controls[..., m : m + k]
            elif name != "torque":
                inputs[name] = point.controls[..., :m]
        return inputs

    def torques_of(self, point: Point) -> Array:
        """(..., k) the `torques` [N m, N]."""
        first = len(self.muscle_names) + len(self.actuator_names)
        result: Array = point.controls[..., first:] * np.array(self.torque_scales)
        return result

    @abstractmethod
    def muscle_paths(self, point: Point) -> tuple[Array, Array]:
        """(..., m) lengths [m] and speeds [m/s] of the muscles' paths."""

    @property
    def law_states(self) -> tuple[int, int]:
        """Where the states of force laws, such as fiber lengths, begin and end among the states."""
        return len(self.equations.excited), len(self.equations.of_muscles)

    def own_rows(self, point: Point, given: Mapping[str, Array], fibers: OfFibers) -> Sequence[Array]:
        """The equations of activations, of the laws' own states by `fibers`, and of delayed actuators."""
        equations, parts = self.equations, []
        first, last = self.law_states
        if equations.excited:
            rates = activation_rates(equations.muscled, given["excitation"], equations.activation(given))
            parts.append(point.rates[..., :first] - vector([rates[..., i] for i in equations.excited]))
        if last > first:
            activation = equations.activation(given)
            parts.append(fibers(activation, point.states[..., first:last], point.rates[..., first:last]))
        if equations.delayed:
            rates = delayed_rates(equations.muscled, given["controls"], point.states[..., last:])
            parts.append(point.rates[..., last:] - rates)
        return parts


def _state_bound(name: str, laws: Mapping[str, object], least: Mapping[str, float]) -> tuple[float, float]:
    """Activations from the least to 1, fiber lengths within FIBER_RANGE of the optimal one, where a law has one."""
    muscle, _, state = name.rpartition(".")
    if state == "activation":
        return least.get(muscle, 0.0), 1.0
    optimal = getattr(laws.get(muscle), "optimal_fiber_length", None)
    return (-np.inf, np.inf) if optimal is None else (FIBER_RANGE[0] * optimal, FIBER_RANGE[1] * optimal)
