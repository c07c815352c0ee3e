"""What is controlled: a model with its muscles and actuators, equations of one's own, or a model with a known motion.

Of a model whose motion is prescribed, controls produce the torques that inverse dynamics asks for. Lengths, speeds and
moment arms of the muscles and the needed torques are known at every time. They are data of the points, and the
equations are those of the muscles alone:

    C^T (ID(q, u, udot) - loads) = sum_i r_i F_i(a_i, l_i, ldot_i, l_M,i) + C^T tau(c),

C spans the velocities that locks, couplers and constraints leave free, so that the forces of constraints drop out.
Where numbers of more than laws of muscles are unknown, q, u, udot, C and the loads are the data.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.analysis.control.points import Point, interpolated_pose, interpolated_rows, interpolated_velocity
from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import consistent_motion
from myoquat.analysis.recruitment.free import check_recorded, free_velocities
from myoquat.analysis.recruitment.redundancy.actuators import control_columns
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_locked
from myoquat.core import CALLABLE, Array, Record, check_types, content_key, frozen, indices_of
from myoquat.data.motions import Forces, Motion
from myoquat.data.motions.series import check_names
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.inverse import inverse
from myoquat.joints.errors import ModelError
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, matvec, vecmat, vector
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.acting import Instant, torques
from myoquat.muscle.actuators import delayed, delayed_rates
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.loads import LoadFrames
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.segments.path_segments import paths_at
from myoquat.muscle.states import activation_rates, forces_of_laws, residuals, residuals_of_laws

from .base import PathEquations, Plant, UnknownParameters


@frozen(eq=False)
class Acting:
    """`torques`: velocity -> scale [N m, N]; `frames` of external loads; parameters of the model that are `unknown`."""

    torques: Mapping[str, float] = field(default_factory=dict)
    frames: LoadFrames = field(default_factory=LoadFrames)
    unknown: UnknownParameters = field(default_factory=UnknownParameters)


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
        self.unknown, self.parameter_names = acting.unknown, acting.unknown.names
        self.equations = StateEquations(model if isinstance(model, Model) else system, external_torque)
        self.state_names = self.equations.own
        self.torque_indices = indices_of("velocity", torques, system.velocity_names)
        self.torque_scales = tuple(map(float, torques.values()))
        own = model if isinstance(model, Model) else None
        self.muscle_names = own.muscle_names if own else ()
        self.actuator_names = own.control_names if own else ()
        self.control_names = (*self.muscle_names, *self.actuator_names, *(f"{name}.torque" for name in torques))

    def _bind(self, p: Array) -> None:
        assert self.unknown.binding is not None
        self.model = self.unknown.binding.bind(p)
        self.equations = replace(self.equations, model=self.model)

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
        return vector(columns)

    @property
    def control_bounds(self) -> Array:
        actuators = self.model.actuators if isinstance(self.model, Model) else ()
        bounds = [b for actuator in actuators for b in actuator.bounds]
        free = [(-np.inf, np.inf)] * len(self.torque_indices)
        excitations = [(self._least(name), 1.0) for name in self.muscle_names]
        found = np.array(excitations + bounds + free).reshape(-1, 2)
        return np.where(self.prescribed[:, None], 0.0, found)

    def _ends(self, name: str, own: float) -> tuple[float, float]:
        """The bounds of a number of the model by its name: its own value twice where it is no unknown."""
        names = self.parameter_names
        low, high = self.unknown.bounds[names.index(name)] if name in names else (own, own)
        return float(low), float(high)

    def _least(self, name: str) -> float:
        """Of a muscle the excitation or, without activation dynamics, activation below which nothing changes."""
        muscle = self._muscles[name]
        part, limit = ("", muscle.law) if muscle.activation_dynamics is None else (
            "activation_dynamics.", muscle.activation_dynamics)  # fmt: skip
        own = getattr(limit, "minimum_activation", 0.0)
        return self._ends(f"muscles.{name}.{part}minimum_activation", own)[0]

    @cached_property
    def _muscles(self) -> dict[str, Muscle]:
        return {m.name: m for m in self.equations.muscled.muscles} if self.muscle_names else {}

    @property
    def jumping(self) -> tuple[str, ...]:
        """The muscles whose activation dynamics have a derivative that jumps where excitation and activation are
        equal."""
        own = ((m.name, m.activation_dynamics) for m in self._muscles.values())
        return tuple(name for name, dynamics in own if dynamics is not None and dynamics.form in JUMPING)

    @property
    def kinked(self) -> tuple[str, ...]:
        """The muscles whose force has a slope over the fiber's speed that jumps at rest."""
        return tuple(m.name for m in self._muscles.values() if isinstance(m.law, HillLaw) and m.law.kinked_at_rest)

    @property
    def state_bounds(self) -> Array:
        """Activations of muscles from the least to 1, fiber lengths within FIBER_RANGE of the optimal one where a law
        has one, and activations of actuators within their own bounds. Where such a number is an unknown, within the
        widest that its bounds allow. A prescribed control may run into the bounds of its activation, where the equation
        stops it, up to the error of the transcription: such an activation has no bounds here."""
        found = [(self._least(self.muscle_names[i]), 1.0) for i in self.equations.excited]
        for muscle in self._muscles.values():
            optimal = getattr(muscle.law, "optimal_fiber_length", np.inf)
            low, high = self._ends(f"muscles.{muscle.name}.optimal_fiber_length", optimal)
            own = (FIBER_RANGE[0] * low, FIBER_RANGE[1] * high) if np.isfinite(low) else (-np.inf, np.inf)
            found += [own] * len(getattr(muscle.law, "states", ()))
        prescribed = self.prescribed[len(self.muscle_names) :]
        for k, actuator in (delayed(self.equations.muscled) if self.equations.delayed else {}).items():
            ends = zip(("least", "greatest"), actuator.activation_bounds, strict=True)
            least, greatest = (self._ends(f"actuators.{actuator.name}.{end}_activation", x) for end, x in ends)
            found.append((-np.inf, np.inf) if prescribed[k] else (least[0], greatest[1]))
        return np.array(found).reshape(-1, 2)

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

    def torque(self, point: Point) -> Array:
        """(..., nu) the `torques` [N m, N] on the velocities."""
        first = len(self.muscle_names) + len(self.actuator_names)
        given = point.controls[..., first:] * np.array(self.torque_scales)
        columns = [0.0 * point.t] * system_of(self.model).nu
        for i, place in enumerate(self.torque_indices):
            columns[place] = given[..., i]
        return vector(columns)

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


class ModelPlant(MuscledPlant):
    """A Model or an ArticulatedSystem: M udot + b = forces of muscles, actuators, limits, torques and loads, and
    A^T lambda of constraints."""

    system: ArticulatedSystem

    def __init__(self, model: SystemLike, acting: Acting) -> None:
        super().__init__(model, acting, bool(acting.torques))
        self.system, self.frames = system_of(model), acting.frames
        held = constraints_of(model)
        # numbers that are unknown may change what rows imply
        self.constraints = PathEquations(model, held, bool(self.parameter_names)) if held else None
        self.velocity_names = self.system.velocity_names

    def _bind(self, p: Array) -> None:
        super()._bind(p)
        self.system = system_of(self.model)
        self.constraints = self.constraints and self.constraints.of(self.model)

    @cached_property
    def content(self) -> Hashable:
        held = self.constraints.key if self.constraints else None
        return self.equations.key, tuple(self.torque_indices), self.torque_scales, self.frames, held

    def given(self, point: Point) -> dict[str, Array]:
        """What the forces depend on beside q and u, as `StateEquations` has it."""
        inputs = super().given(point)
        return inputs | {"torque": self.torque(point)} if self.torque_scales else inputs

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
        way = paths_at(self.system, self.equations.muscled.paths, point.q, point.u)
        return way.length, way.speed

    def residual(self, point: Point) -> Array:
        given = self.given(point)
        needed = inverse(self.system, point.q, point.u, point.udot)
        needed = needed - torques(self.equations.model, self.instant(point))

        def fibers(activation: Array, state: Array, rate: Array) -> Array:
            return residuals(self.equations.muscled, point.q, point.u, activation, state, rate)

        own = self.own_rows(point, given, fibers)
        if self.constraints is None:
            return joined([needed, *own])
        needed = needed - self.constraints.force(point.q, point.t, point.multipliers)
        open_ = self.constraints.acceleration(point.q, point.u, point.udot, point.t)
        return joined([needed, *own, open_])


Rate = Callable[[Point], Any]


@frozen
class Equations(Record):
    """One's own differential equations, xdot = rate(point), in plain NumPy, in place of a model.

    states    names (n,)
    controls  names
    rate      rate(point) returns the rates of the states, an array (n,) or a sequence of n numbers in the order of
              their names

    `point["x"]` is a state, a control or an unknown parameter of the problem by its name, `point.t` the time [s]. The
    function is traced, so it may not branch on values. Raises ValueError for names that come twice.

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


class OwnPlant(Plant):
    """One's own `Equations`: all states are w."""

    def __init__(self, equations: Equations, unknown: UnknownParameters | None = None) -> None:
        self.equations = equations
        self.unknown = unknown or UnknownParameters()
        self.parameter_names = self.unknown.names
        self.state_names, self.control_names = equations.states, equations.controls

    @property
    def content(self) -> Hashable:
        return content_key(self.equations)

    def residual(self, point: Point) -> Array:
        return point.rates - self._rate(point)

    def rates(self, point: Point) -> tuple[Array, Array]:
        return point.u, self._rate(point)

    def _rate(self, point: Point) -> Array:
        rate = self.equations.rate(point)
        found: Array = rate if isinstance(rate, np.ndarray) or hasattr(rate, "shape") else vector(rate)
        if found.shape[-1:] != (self.nw,):
            raise ValueError(f"rate returns {found.shape[-1:]} numbers; the states are {', '.join(self.state_names)}")
        return found


# ---- A model whose motion is prescribed --------------------------------------------------------------------------

OF_MUSCLES = ("law", "activation_dynamics")  # whose parameters change no length and no moment arm
MIN_ARM = 1e-12  # [m, -] moment arms and gains of controls below it at all frames are structurally zero
LINEARITY_CONTROL = 0.5  # control at which actuators are compared with affine functions


class PrescribedPlant(MuscledPlant):
    """The muscles, actuators and torques of a model along a motion under external loads; poses are no unknowns."""

    def __init__(self, model: Model, motion: Motion, acting: Acting, loads: Forces | None) -> None:
        """ModelError where the force of an actuator is not an affine function of its control."""
        super().__init__(model, acting, False)
        self.model: Model = model
        self.motion, self.loads = motion, loads
        locations = self.unknown.binding.locations if self.unknown.binding else ()
        if self.unknown.binding:
            check_recorded(self.unknown.binding)
        self.posed = any(place.steps[0] != "muscles" or place.steps[2] not in OF_MUSCLES for place in locations)
        self.free_names, _ = free_velocities(model, motion.q[:1], motion.time[:1])
        once, twice = (control_columns(model, motion.q[:1], k * LINEARITY_CONTROL)[0].T for k in (1, 2))
        for name, one, two in zip(self.actuator_names, once, twice, strict=True):
            if not np.allclose(2 * one, two):
                raise ModelError(f"the force of {name!r} is not proportional to its control")

    @property
    def residual_names(self) -> tuple[str, ...]:
        torques = tuple(f"torque of {name}" for name in self.free_names)
        return (*torques, *(f"equation of {name}" for name in self.state_names))

    @cached_property
    def _structure(self) -> tuple[Array, Array]:
        """(m, n) and (k, n): whether a muscle or a control has an effect on a free velocity at any frame."""
        *_, arms, gains = self._effects(self.motion.q, self.motion.time)
        return np.abs(arms).max(axis=0) > MIN_ARM, np.abs(gains).max(axis=0) > MIN_ARM

    @cached_property
    def content(self) -> Hashable:
        if self.posed:
            return "posed", self.equations.key, tuple(self.torque_indices), self.torque_scales, self.acting.frames
        arms, gains = self._structure
        return "prescribed", self.equations.key, arms.tobytes(), gains.tobytes(), len(self.free_names)

    # ---- data of the points ----------------------------------------------------------------------------------

    def motion_at(self, time: Array) -> Motion:
        """The motion at other times, on the model's couplers and constraints, with u and udot; ValueError where it
        moves a locked coordinate."""
        motion = self.motion
        if motion.udot is not None:
            udot = interpolated_rows(motion.time, motion.udot, time)
        else:
            u = motion.u if motion.u is not None else interpolated_velocity(motion, motion.time)
            udot = interpolated_rows(motion.time, u, time, 1)
        q, u = interpolated_pose(motion, time), interpolated_velocity(motion, time)
        found = consistent_motion(self.model, Motion(motion.system, time, q, u, udot))
        check_locked(self.model, found)
        return found

    def _effects(self, q: Array, time: Array) -> tuple[Array, Array, Array, Array]:
        """C (t, nu, n), the Jacobian (t, m, nu) of the paths, (t, m, n) moment arms of the muscles, and (t, k, n) those
        of a unit of every other control."""
        _, C = free_velocities(self.model, q, time, self.free_names)
        axes = np.array(self.torque_scales)[:, None] * np.eye(self.model.system.nu)[self.torque_indices]
        torques = np.broadcast_to(axes, (len(q), *axes.shape))
        units = np.concatenate([np.swapaxes(control_columns(self.model, q), -1, -2), torques], axis=1)
        J = path_jacobian(self.model, q)
        return C, J, -J @ C, units @ C

    def samples(self, time: Array) -> Array:
        at = self.motion_at(time)
        if self.posed:
            _, C = free_velocities(self.model, at.q, at.time, self.free_names)
            loads = [] if self.loads is None else [self.loads.resampled(time).numbers]
            return np.concatenate([at.q, at.u, at.udot, C.reshape(len(time), -1), *loads], axis=1)
        bare = replace(self.model, inputs=())  # `actuation` has prescribed controls
        torque = inverse_dynamics_of_motion(bare, at, self.loads).torque
        C, J, arms, gains = self._effects(at.q, at.time)
        of_arms, of_gains = self._structure
        length, speed = path_lengths(self.model, at.q), matvec(J, at.speeds)
        needed = np.einsum("tij,ti->tj", C, torque)
        return np.concatenate([needed, length, speed, arms[:, of_arms], gains[:, of_gains]], axis=1)

    # ---- equations -------------------------------------------------------------------------------------------

    def _parts(self, point: Point) -> tuple[Array, ...]:
        """Of a `posed` motion q, u, udot, C and loads."""
        data, nq, nu, n = point.prescribed, self.model.system.nq, self.model.system.nu, len(self.free_names)
        ends = np.cumsum([0, nq, nu, nu, nu * n, self.acting.frames.width])
        q, u, udot, C, loads = (data[..., i:j] for i, j in pairwise(ends))
        return q, u, udot, C.reshape(*C.shape[:-1], nu, n), loads

    def muscle_paths(self, point: Point) -> tuple[Array, Array]:
        if self.posed:
            q, u, *_ = self._parts(point)
            way = paths_at(self.model.system, self.model.paths, q, u)
            return way.length, way.speed
        n, m, data = len(self.free_names), len(self.muscle_names), point.prescribed
        return data[..., n : n + m], data[..., n + m : n + 2 * m]

    def residual(self, point: Point) -> Array:
        n, m, data = len(self.free_names), len(self.muscle_names), point.prescribed
        length, speed = self.muscle_paths(point)
        given, equations = self.given(point), self.equations

        def fibers(activation: Array, state: Array, rate: Array) -> Array:
            return residuals_of_laws(self.model, (length, speed, activation), state, rate)

        if self.posed:  # what the motion lacks on the free velocities
            q, u, udot, C, loads = self._parts(point)
            system = self.model.system
            acting = self.acting.frames.acting(system, q, loads) if self.loads is not None else []
            at = equations.instant(point.t, q, u, given | {"torque": self.torque(point)})
            lacking = vecmat(inverse(system, q, u, udot) - torques(self.model, replace(at, loads=acting)), C)
            return joined([lacking, *self.own_rows(point, given, fibers)])
        parts = []
        if self.muscle_names:
            activation, states = equations.activation(given), equations.states(given)
            parts.append(forces_of_laws(self.model, length, speed, activation, states))
        if self.actuator_names:
            parts.append(equations.actuation(given))
        if self.torque_scales:
            parts.append(point.controls[..., m + len(self.actuator_names) :])
        act = joined(parts)
        missing, place = [data[..., j] for j in range(n)], n + 2 * m
        for i, j in np.argwhere(np.concatenate(self._structure)):
            missing[j] = missing[j] - data[..., place] * act[..., i]
            place += 1
        return joined([vector(missing), *self.own_rows(point, given, fibers)])
