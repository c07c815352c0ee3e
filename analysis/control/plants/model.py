"""A model as that which is controlled."""

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property

from myoquat.analysis.control.plants.acting import Acting
from myoquat.analysis.control.plants.constraints import PathEquations
from myoquat.analysis.control.plants.muscled import MuscledPlant
from myoquat.analysis.control.points import Point
from myoquat.core.typing import Array
from myoquat.dynamics import inverse
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.constraints import constraints_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined, vector
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.acting import Instant, torques
from myoquat.muscle.segments.path_segments import paths
from myoquat.muscle.states import residuals

__all__ = ["ModelPlant"]


class ModelPlant(MuscledPlant):
    """A Model or an ArticulatedSystem: M udot + b = forces of muscles, actuators, limits, torques and loads, and
    A^T lambda of constraints."""

    system: ArticulatedSystem

    def __init__(self, model: SystemLike, acting: Acting) -> None:
        super().__init__(model, acting, bool(acting.torques))
        self.system, self.frames = system_of(model), acting.frames
        held = constraints_of(model)
        self.constraints = PathEquations(self.system, held) if held else None
        self.velocity_names = self.system.velocity_names

    def bound(self, p: Array) -> "ModelPlant":
        if not self.unknown.names:
            return self
        assert self.unknown.binding is not None
        plant = ModelPlant(self.unknown.binding.bind(p), self.acting)
        plant.parameters = p
        if plant.constraints is not None and self.constraints is not None:
            plant.constraints.sizes = self.constraints.sizes
        return plant

    @cached_property
    def content(self) -> Hashable:
        held = self.constraints.key if self.constraints else None
        return self.equations.key, tuple(self.torque_indices), self.torque_scales, self.frames, held

    def given(self, point: Point) -> dict[str, Array]:
        """What the forces depend on beside q and u, as `StateEquations` has it."""
        inputs = super().given(point)
        return inputs | {"torque": self._torque(point)} if self.torque_scales else inputs

    def _torque(self, point: Point) -> Array:
        columns, given = [0.0 * point.controls[..., 0]] * self.nu, self.torques_of(point)
        for i, place in enumerate(self.torque_indices):
            columns[place] = given[..., i]
        return vector(columns)

    def moments(self, point: Point) -> Array:
        """(..., nu) generalized forces of muscles, actuators and torques at a point: the formula."""
        return torques(self.equations.model, replace(self.instant(point), passive=False, loads=()))

    def instant(self, point: Point) -> Instant:
        """What acts at a point, external loads included."""
        loads = self.frames.acting(self.system, point.q, point.loads) if self.frames.bodies else []
        return replace(self.equations.instant(point.t, point.q, point.u, self.given(point)), loads=loads)

    def rates(self, point: Point) -> tuple[Array, Array]:
        given, equations = self.given(point), self.equations
        tau = torques(equations.model, self.instant(point))
        own = equations.own_rate(point.q, point.u, given)
        if self.constraints is None:
            udot = forward(self.system, point.q, point.u, tau)
        else:
            udot, _ = self.constraints.constraints.acceleration(point.q, point.u, point.t, tau)
        return udot, own[0] if own else point.states

    def muscle_paths(self, point: Point) -> tuple[Array, Array]:
        way = paths(self.system, self.equations.muscled.muscles, point.q, point.u)
        return way.length, way.speed

    def residual(self, point: Point) -> Array:
        given = self.given(point)
        needed = inverse.inverse(self.system, point.q, point.u, point.udot)
        needed = needed - torques(self.equations.model, self.instant(point))

        def fibers(activation: Array, state: Array, rate: Array) -> Array:
            return residuals(self.equations.muscled, point.q, point.u, activation, state, rate)

        own = self.own_rows(point, given, fibers)
        if self.constraints is None:
            return joined([needed, *own])
        needed = needed - self.constraints.force(point.q, point.t, point.multipliers)
        open_ = self.constraints.acceleration(point.q, point.u, point.udot, point.t)
        return joined([needed, *own, open_])
