"""A model as that which is controlled."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import numpy as np

from myoquat.analysis.control.plants.base import Plant
from myoquat.analysis.control.plants.constraints import PathEquations
from myoquat.analysis.control.plants.loads import LoadFrames
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.dynamics import inverse
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined, vector
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.model import Model
from myoquat.muscle.states import activation_rates, residuals

__all__ = ["ModelPlant"]

FIBER_RANGE = (0.2, 1.8)  # of the optimal fiber length: where active fibers have a force


class ModelPlant(Plant):
    """A Model or an ArticulatedSystem: M udot + b = forces of muscles, actuators, limits, torques, loads, constraints.

    The controls are the excitations of muscles with activation dynamics or the activations of the others, the controls
    of the actuators, and the `torques`, each times its scale [N m, N], on velocities.
    """

    def __init__(self, model: SystemLike, torques: Mapping[str, float], frames: LoadFrames) -> None:
        self.model, self.frames = model, frames
        self.system: ArticulatedSystem = system_of(model)
        self.equations = StateEquations(model if isinstance(model, Model) else self.system, bool(torques))
        held = constraints_of(model)
        self.constraints = PathEquations(self.system, held) if held else None
        self.velocity_names = self.system.velocity_names
        self.state_names = self.equations.own
        self.torque_places = indices_of("velocity", torques, self.velocity_names)
        self.torque_scales = tuple(map(float, torques.values()))
        own = model if isinstance(model, Model) else None
        self.muscle_names = own.muscle_names if own else ()
        self.actuator_names = own.control_names if own else ()
        self.control_names = (*self.muscle_names, *self.actuator_names, *(f"{name}.torque" for name in torques))

    @cached_property
    def content(self) -> Hashable:
        held = self.constraints.key if self.constraints else None
        return self.equations.key, tuple(self.torque_places), self.torque_scales, self.frames, held

    @property
    def control_bounds(self) -> Array:
        actuators = self.model.actuators if isinstance(self.model, Model) else ()
        bounds = [b for actuator in actuators for b in actuator.bounds]
        free = [(-np.inf, np.inf)] * len(self.torque_places)
        return np.array([(0.0, 1.0)] * len(self.muscle_names) + bounds + free).reshape(-1, 2)

    @property
    def state_bounds(self) -> Array:
        laws = {m.name: m.law for m in self.equations.muscled.muscles} if self.muscle_names else {}
        return np.array([_state_bound(name, laws) for name in self.state_names]).reshape(-1, 2)

    def given(self, point: Point) -> dict[str, Array]:
        """What the forces depend on beside q and u, as `StateEquations` has it."""
        m, k = len(self.muscle_names), len(self.actuator_names)
        inputs: dict[str, Array] = {"own": point.states} if self.nw else {}
        for name in self.equations.inputs:
            if name == "controls":
                inputs[name] = point.controls[..., m : m + k]
            elif name == "torque":
                inputs[name] = self._torque(point.controls[..., m + k :])
            else:
                inputs[name] = point.controls[..., :m]
        return inputs

    def _torque(self, controls: Array) -> Array:
        columns = [0.0 * controls[..., 0]] * self.nu
        for i, (place, scale) in enumerate(zip(self.torque_places, self.torque_scales, strict=True)):
            columns[place] = scale * controls[..., i]
        return vector(columns)

    def residual(self, point: Point) -> Array:
        given = self.given(point)
        needed = inverse.inverse(self.system, point.q, point.u, point.udot)
        needed = needed - self.equations.force(point.t, point.q, point.u, given)
        if self.frames.bodies:
            needed = needed - self.frames.force(self.system, point.q, point.loads)
        if self.constraints is None:
            return joined([needed, *self._own_residual(point, given)])
        needed = needed - self.constraints.force(point.q, point.t, point.multipliers)
        open_ = self.constraints.acceleration(point.q, point.u, point.udot, point.t)
        return joined([needed, *self._own_residual(point, given), open_])

    def _own_residual(self, point: Point, given: Mapping[str, Array]) -> Sequence[Array]:
        """The equations of activations and of the muscles' own states."""
        equations, parts = self.equations, []
        first, last = len(equations.excited), len(equations.of_muscles)
        if equations.excited:
            rates = activation_rates(equations.muscled, given["excitation"], equations.activation(given))
            parts.append(point.rates[..., :first] - vector([rates[..., i] for i in equations.excited]))
        if last > first:
            state, rate = point.states[..., first:last], point.rates[..., first:last]
            parts.append(residuals(equations.muscled, point.q, point.u, equations.activation(given), state, rate))
        if equations.delayed:
            parts.append(point.rates[..., last:] - equations.own_rate(point.q, point.u, given)[0][..., last:])
        return parts


def _state_bound(name: str, laws: Mapping[str, object]) -> tuple[float, float]:
    """Activations in [0, 1], fiber lengths within FIBER_RANGE of the optimal one, where a law has one."""
    muscle, _, state = name.rpartition(".")
    if state == "activation":
        return 0.0, 1.0
    optimal = getattr(laws.get(muscle), "optimal_fiber_length", None)
    return (-np.inf, np.inf) if optimal is None else (FIBER_RANGE[0] * optimal, FIBER_RANGE[1] * optimal)
