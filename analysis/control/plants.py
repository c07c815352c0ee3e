"""What is controlled: the equations of motion of a model, or one's own differential equations, behind one set of verbs.

The state is (q, u, w): the pose with its chart z (nu,), the velocities u (nu,) and further states w (nw,), such as
activations and fiber lengths. Equations are implicit: residual(point) = 0 with udot and wdot as unknowns, which for a
model is inverse dynamics, the cheapest form of its equations of motion.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.analysis.control.charts import chart_coordinates, chart_pose, displacement, displacement_rate
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import CALLABLE, check_types
from myoquat.core.content import content_key
from myoquat.core.records import Record
from myoquat.core.typing import Array
from myoquat.data.motions.series import check_names, indices_of
from myoquat.dynamics import inverse
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.multibody.state import integrate
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined, vector
from myoquat.joints.validation import SystemLike, system_of
from myoquat.joints.vectors import matvec
from myoquat.muscle.loads import Load, generalized_force, world_point
from myoquat.muscle.model import Model
from myoquat.muscle.states import activation_rates, residuals

__all__ = ["Equations", "LoadFrames", "ModelPlant", "OwnPlant", "Plant", "plant_of"]

FIBER_RANGE = (0.2, 1.8)  # of the optimal fiber length: where active fibers have a force
Rate = Callable[[Point], Any]


@dataclass(frozen=True)
class Equations(Record):
    """One's own differential equations, xdot = rate(point), in plain NumPy, in place of a model.

    states, controls: their names. rate(point) returns the rates of the states, an array (n,) or a sequence of n numbers
    in the order of their names; `point["x"]` is a state or a control by its name, `point.t` the time [s]. It is traced,
    so that it may not branch on values. Raises ValueError for names that come twice.

    >>> from myoquat.analysis.control import Equations
    >>> cart = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"] - point["v"]))
    >>> cart.states, cart.controls
    (('x', 'v'), ('force',))
    """

    states: tuple[str, ...]
    controls: tuple[str, ...]
    rate: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(states=(self.states, tuple), controls=(self.controls, tuple), rate=(self.rate, CALLABLE))
        check_names("state or control", (*self.states, *self.controls))


class Plant(ABC):
    """What a transcription asks of a model or of equations. Sizes and names, the chart of the pose, the residual."""

    system: ArticulatedSystem | None = None
    velocity_names: tuple[str, ...] = ()
    state_names: tuple[str, ...]
    control_names: tuple[str, ...]

    @property
    @abstractmethod
    def content(self) -> Hashable:
        """What the residual computes with, for the key of its kernels."""

    @property
    @abstractmethod
    def control_bounds(self) -> Array:
        """(nc, 2) least and greatest of each control."""

    @property
    @abstractmethod
    def state_bounds(self) -> Array:
        """(nw, 2) least and greatest of each of the states w."""

    @abstractmethod
    def residual(self, point: Point) -> Array:
        """(..., nu + nw) zero where the equations hold: the formula."""

    @property
    def residual_names(self) -> tuple[str, ...]:
        """What each entry of the residual is, for messages."""
        forces = tuple(f"equation of motion of {name}" for name in self.velocity_names)
        return (*forces, *(f"equation of {name}" for name in self.state_names))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.system.nq if self.system is not None else 0

    @property
    def nu(self) -> int:
        """Number of velocities, and of chart coordinates."""
        return len(self.velocity_names)

    @property
    def nw(self) -> int:
        """Number of further states."""
        return len(self.state_names)

    @property
    def nc(self) -> int:
        """Number of controls."""
        return len(self.control_names)

    def pose(self, reference: Array, z: Array) -> Array:
        """(..., nq) q at the chart coordinates z (..., nu)."""
        return z if self.system is None else chart_pose(self.system.layout, reference, z)

    def coordinates(self, reference: Array, q: Array) -> Array:
        """(..., nu) chart coordinates of q (..., nq) about a reference."""
        return q if self.system is None else chart_coordinates(self.system.layout, reference, q)

    def moved(self, q: Array, motion: Array) -> Array:
        """(..., nq) q after unit time at constant velocities `motion` (..., nu)."""
        return q if self.system is None else integrate(self.system.layout, q, motion)

    def displacement(self, q0: Array, q1: Array) -> Array:
        """(..., nu) from q0 to q1."""
        return q1 - q0 if self.system is None else displacement(self.system.layout, q0, q1)

    def displacement_rate(self, theta: Array, q: Array, u: Array) -> Array:
        """(..., nu) the rate of a displacement."""
        return u if self.system is None else displacement_rate(self.system.layout, theta, q, u)


class OwnPlant(Plant):
    """One's own `Equations`: all states are w."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.state_names, self.control_names = equations.states, equations.controls

    @property
    def content(self) -> Hashable:
        return content_key(self.equations)

    @property
    def control_bounds(self) -> Array:
        return np.tile([-np.inf, np.inf], (self.nc, 1))

    @property
    def state_bounds(self) -> Array:
        return np.tile([-np.inf, np.inf], (self.nw, 1))

    def residual(self, point: Point) -> Array:
        rate = self.equations.rate(point)
        found: Array = rate if isinstance(rate, np.ndarray) or hasattr(rate, "shape") else vector(rate)
        if found.shape[-1:] != (self.nw,):
            raise ValueError(f"rate returns {found.shape[-1:]} numbers; the states are {', '.join(self.state_names)}")
        return point.rates - found


@dataclass(frozen=True)
class LoadFrames:
    """Where external loads act: bodies, frames of force and torque, frames of the points."""

    bodies: tuple[str, ...] = ()
    force_frames: tuple[str, ...] = ()
    point_frames: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Numbers per time: force, torque and point of each load."""
        return 9 * len(self.bodies)

    def force(self, system: ArticulatedSystem, q: Array, loads: Array) -> Array:
        """(..., nu) generalized force of loads (..., 9 n), each a force, a torque and a point."""
        poses, acting = system.poses(q), []
        for k, (body, frame, point_frame) in enumerate(
            zip(self.bodies, self.force_frames, self.point_frames, strict=True)
        ):
            force, torque, point = (loads[..., 9 * k + 3 * i : 9 * k + 3 * i + 3] for i in range(3))
            R = poses[frame][0]
            acting.append(Load(body, world_point(poses, point_frame, point), matvec(R, force), matvec(R, torque)))
        return generalized_force(system, q, acting)


class ModelPlant(Plant):
    """A Model or an ArticulatedSystem: M udot + b = forces of muscles, actuators, limits, torques and loads.

    The controls are the excitations of muscles with activation dynamics or the activations of the others, the controls
    of the actuators, and the `torques`, each times its scale [N m, N], on velocities.
    """

    def __init__(self, model: SystemLike, torques: Mapping[str, float], frames: LoadFrames) -> None:
        self.model, self.frames = model, frames
        self.system: ArticulatedSystem = system_of(model)
        self.equations = StateEquations(model if isinstance(model, Model) else self.system, bool(torques))
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
        return self.equations.key, tuple(self.torque_places), self.torque_scales, self.frames

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
        return joined([needed, *self._own_residual(point, given)])

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


def plant_of(model: SystemLike | Equations, torques: Mapping[str, float], frames: LoadFrames) -> Plant:
    """The plant of a model, a system or equations of one's own; ValueError for torques or loads on equations."""
    if not isinstance(model, Equations):
        return ModelPlant(model, torques, frames)
    if torques or frames.bodies:
        raise ValueError("torques and loads act on the bodies of a model; equations of one's own have none")
    return OwnPlant(model)
