"""What is controlled: a model with its muscles and actuators, or equations of one's own."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.analysis.control.points import Point
from myoquat.core import CALLABLE, Array, Record, check_types, content_key, frozen, indices_of
from myoquat.data.motions.series import check_names
from myoquat.dynamics import inverse
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, vector
from myoquat.muscle.acting import Instant, torques
from myoquat.muscle.actuators import delayed, delayed_rates
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.loads import LoadFrames
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.segments.path_segments import paths_at
from myoquat.muscle.states import activation_rates, residuals

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
