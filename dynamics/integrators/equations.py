"""The equations of motion in first-order form, xdot = f(t, x): one formula for step loops and adaptive solvers.

x = (q, u, w), udot = forward dynamics of muscle torques and external torques, qdot = N(q) u. The states w are first
those of the muscles: the activations of those with activation dynamics, then what their laws integrate, such as fiber
lengths. After them come the activations of actuators that follow their controls with a delay.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Self

import numpy as np

from myoquat.core import Array, Pair, content_key, frozen
from myoquat.dynamics import articulated
from myoquat.dynamics.constraints import Constraint, Constraints, constraints_of
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import system_of
from myoquat.joints.multibody import state
from myoquat.joints.vectors import dot, joined, vector
from myoquat.kernels import as_array
from myoquat.muscle import Model, Parameters, actuators
from myoquat.muscle.acting import Instant, torques
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.states import activation_rates, rates, state_names

Law = Callable[[Array, Array, Array], Any]

CHECKED_AT_ONCE = 2**20  # values of inputs
SPEED_LIMIT = 1e6  # |u| [rad/s, m/s] that no body reaches: a state beyond it has blown up


@frozen
class StateEquations:
    """The motion of a Model or an ArticulatedSystem.

    external_torque  whether external torques (nu,) act, as the input "torque".
    baumgarte        whether |Q| is pulled back to 1. Qdot gets -(|Q|^2 - 1) Q / (2 T), where T is the parameter
                     "time_constant", so that |Q|^2 - 1 decays as exp(-t / T). Constraints likewise, critically damped.
    constraints      that the motion satisfies, independent ones unless `redundant`.
    feedback         ((name of an input, its law), ...): inputs that are functions of t, q and u, not of time alone.
    own_inputs       names of inputs, such as "controls", in which the columns that the model's own `inputs` prescribe
                     follow these.
    weightless       as of `Constraints`, for a model of symbols.
    varied           numbers of the model that are given as "p", the last of the parameters: parameter studies, and
                     batches of models.
    limits           ((entry, low, high), ...): a run stops where an entry of (q, u) leaves them.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.integrators import StateEquations
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, damping=2.0)
    >>> StateEquations(mq.ArticulatedSystem((sled,))).rate(np.zeros(()), np.array([0.0, 3.0]))  # of (q, u)
    array([ 3., -6.])
    """

    model: Model | ArticulatedSystem
    external_torque: bool = False
    baumgarte: bool = False
    constraints: tuple[Constraint, ...] = ()
    redundant: bool = False
    feedback: tuple[tuple[str, Law], ...] = ()
    own_inputs: tuple[str, ...] = ()
    weightless: bool | None = None
    varied: Parameters | None = None
    limits: tuple[tuple[int, float, float], ...] = ()

    @property
    def system(self) -> ArticulatedSystem:
        return system_of(self.model)

    @property
    def muscled(self) -> Model:
        """The Model whose muscles act; ValueError for a system without muscles."""
        if not isinstance(self.model, Model):
            raise ValueError("this system has no muscles")
        return self.model

    @property
    def muscles(self) -> int:
        """Number of muscles that act."""
        return len(getattr(self.model, "muscles", ()))

    @property
    def actuated(self) -> int:
        """Number of controls of actuators that act."""
        return len(getattr(self.model, "control_names", ()))

    @property
    def excited(self) -> tuple[int, ...]:
        """The muscles with activation dynamics: their activations are states, their excitations the input."""
        muscles = getattr(self.model, "muscles", ())
        return tuple(i for i, muscle in enumerate(muscles) if muscle.activation_dynamics is not None)

    @property
    def delayed(self) -> tuple[int, ...]:
        """The controls that act by activations, which follow them with a delay."""
        return tuple(actuators.delayed(self.model)) if isinstance(self.model, Model) else ()

    def delayed_start(self, p: Array | None = None) -> tuple[Array, ...]:
        """((..., n),) where these activations start, with the numbers p (..., k) that vary; () without any."""
        if not self.delayed:
            return ()
        place = self.muscled.actuators.index
        delayed = actuators.delayed(self.muscled).values()
        own: dict[Any, Any] = {
            ("actuators", place(actuator), "activation"): actuator.activation for actuator in delayed
        }
        if p is None or self.varied is None:
            return (np.array([*own.values()]),)
        given = {location.steps: p[..., k] for k, location in enumerate(self.varied.locations)}
        start = [given.get(steps, x) for steps, x in own.items()]
        return (np.stack(np.broadcast_arrays(*start, p[..., 0])[:-1], axis=-1),)

    @property
    def of_muscles(self) -> tuple[str, ...]:
        """Names of the muscles' states, with which w begins."""
        if not self.muscles:
            return ()
        model = self.muscled
        return (*(f"{model.muscle_names[i]}.activation" for i in self.excited), *state_names(model))

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the states of muscles and actuators, in the order of w."""
        return (*self.of_muscles, *(f"{self.muscled.control_names[i]}.activation" for i in self.delayed))

    @property
    def size(self) -> int:
        """Length of x."""
        return self.system.nq + self.system.nu + len(self.own)

    @property
    def key(self) -> Hashable:
        """Equal for equal equations: kernels are kept by it."""
        return (
            type(self).__name__, self.model.content_key, self.external_torque, self.baumgarte,
            content_key(self.constraints), self.redundant, content_key(self.feedback), self.own_inputs, self.names,
            content_key(self.limits)
        )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """The varied numbers."""
        return () if self.varied is None else self.varied.names

    @property
    def inputs(self) -> dict[str, int]:
        """Name and length of what may change with time and is given from outside."""
        fed_back = dict(self.feedback)
        return {name: n for name, n in self.acting.items() if name not in fed_back}

    @property
    def acting(self) -> dict[str, int]:
        """Name and length of what may change with time."""
        control = "excitation" if self.excited else "activation"
        external = self.system.nu if self.external_torque else 0
        given = {control: self.muscles, "controls": self.actuated, "torque": external}
        return {name: n for name, n in given.items() if n}

    @property
    def parameters(self) -> dict[str, Any]:
        """Name and shape of what is constant."""
        constant: dict[str, Any] = {"time_constant": ()} if self.baumgarte else {}
        return constant | ({"p": (len(self.names),)} if self.names else {})

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """The arguments of a formula after x, by name."""
        return dict(zip((*self.inputs, *self.parameters), values, strict=True))

    def at(self, values: Sequence[Any]) -> tuple["StateEquations", Sequence[Any]]:
        """The equations with the numbers that vary, from the values after x, and the other values."""
        if not self.names:
            return self, values
        place = [*self.inputs, *self.parameters].index("p")
        return self.fixed(values[place]), [*values[:place], *values[place + 1 :]]

    def fixed(self, p: Array | None) -> Self:
        """The equations with the numbers p (n,) in the model, as all other fields say."""
        return replace(self if p is None else self.of_model(self.bound(p)), varied=None)

    def over_time(self, model: Model, names: tuple[str, ...], p: Array | None) -> InputsOverTime:
        """The model's own inputs of these names over time, with their numbers among p (..., n)."""
        columns = [k for k, name in enumerate(self.names) if name.startswith("inputs.")]
        if p is None or not columns:
            return InputsOverTime(model.inputs, names)
        varied = Parameters.of(model, [self.names[k] for k in columns])
        return InputsOverTime(model.inputs, names, varied, p[..., columns])

    def of_model(self, model: Model | ArticulatedSystem) -> Self:
        """The same equations of a model with other numbers, whose own constraints have these numbers too."""
        count = len(constraints_of(self.model))
        own = constraints_of(model) if self.constraints else ()
        weightless = self.constrained.weightless if self.constraints else None
        return replace(self, model=model, constraints=(*own, *self.constraints[count:]), weightless=weightless)

    @property
    def constrained(self) -> Constraints:
        """The constraints on the system."""
        return Constraints(self.system, self.constraints, self.redundant, self.weightless)

    # ---- formulas --------------------------------------------------------------------------------------------

    def split(self, x: Array) -> Pair:
        """(q, u) of x (..., size)."""
        nq, nu = self.system.nq, self.system.nu
        return x[..., :nq], x[..., nq : nq + nu]

    def rest(self, x: Array) -> Array:
        """w of x (..., size)."""
        return x[..., self.system.nq + self.system.nu :]

    def parts(self, x: Array) -> tuple[Array, ...]:
        """(q, u) of x, and w where there are such states."""
        return (*self.split(x), *([self.rest(x)] if self.own else []))

    def given(self, t: Array, x: Array, values: Sequence[Any]) -> dict[str, Any]:
        """What forces depend on beside q and u: the arguments of a formula after x, what feedback returns, and the
        states w as "own"."""
        given = self.named(values) | self.fed_back(t, *self.split(x)) | ({"own": self.rest(x)} if self.own else {})
        return given | self.prescribed(t, given) if self.own_inputs else given

    def prescribed(self, t: Array, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs (..., n) at times t (...) with the model's own functions in the columns that they prescribe."""
        model, replaced = self.bound(given.get("p")), {}
        if not isinstance(model, Model):
            return {}
        for name in self.own_inputs:
            names = model.control_names if name == "controls" else model.muscle_names
            if own := InputsOverTime(model.inputs, names).prescribed(t):
                columns = [own[c] if c in own else given[name][..., k] for k, c in enumerate(names)]
                replaced[name] = vector(columns)
        return replaced

    def check_prescribed(self, t: Array, p: Array | None = None) -> None:
        """ValueError where activations or excitations that follow the model's own inputs leave [0, 1] at times t
        (..., k) [s], with numbers p (..., n) of each run."""
        model = self.model
        if not isinstance(model, Model) or not {"activation", "excitation"}.intersection(self.own_inputs):
            return
        if any(own.name in model.muscle_names for own in model.inputs):
            given = self.over_time(model, model.muscle_names, p)
            runs = len(np.atleast_2d(t if given.numbers is None else given.numbers))
            rows = max(1, CHECKED_AT_ONCE // (self.muscles * runs))
            for k in range(0, t.shape[-1], rows):
                model.check_activation(given(t[..., k : k + rows]))

    def bound(self, p: Array | None) -> Model | ArticulatedSystem:
        """The model that moves, with p (n,) in it where numbers vary."""
        return self.model if p is None or self.varied is None else self.varied.bind(p)

    def fed_back(self, t: Array, q: Array, u: Array) -> dict[str, Any]:
        """What the laws of the feedback return, (..., n) by the name of the input."""
        return {name: law(t, q, u) for name, law in self.feedback}

    def activation(self, given: Mapping[str, Any]) -> Array:
        """(..., m) activations: states of the muscles with activation dynamics, the input of the others."""
        return self._by_states("excitation" if self.excited else "activation", given, self.excited, 0)

    def states(self, given: Mapping[str, Any]) -> Array | None:
        """(..., ns) the states of the laws, None for laws without."""
        first, end = len(self.excited), len(self.of_muscles)
        return given["own"][..., first:end] if end > first else None

    def actuation(self, given: Mapping[str, Any]) -> Array:
        """(..., k) what actuators act by: their controls, or the activations that follow these."""
        return self._by_states("controls", given, self.delayed, len(self.of_muscles))

    @staticmethod
    def _by_states(name: str, given: Mapping[str, Any], columns: Sequence[int], first: int) -> Array:
        """(..., n) an input with states from w[first] on in these columns."""
        value: Array = given[name]
        states = {i: given["own"][..., k] for k, i in enumerate(columns, start=first)}
        return vector([states.get(i, value[..., i]) for i in range(value.shape[-1])]) if states else value

    def instant(self, t: Array, q: Array, u: Array, given: Mapping[str, Any]) -> Instant:
        """What acts at a state, as `torques` and `wrenches` of `myoquat.muscle.acting` take it."""
        activation, states = (self.activation(given), self.states(given)) if self.muscles else (None, None)
        controls = self.actuation(given) if self.actuated else None
        return Instant(q, u, t, activation, states, controls=controls, torque=given.get("torque"))

    def force(self, t: Array, q: Array, u: Array, given: Mapping[str, Any]) -> Array:
        """(..., nu) the generalized forces of all that acts."""
        return torques(self.model, self.instant(t, q, u, given))

    def own_rate(self, q: Array, u: Array, given: Mapping[str, Any]) -> list[Array]:
        """[(..., len(own))] wdot; nothing where there are no such states."""
        parts = []
        if self.excited:
            rate = activation_rates(self.muscled, given["excitation"], self.activation(given))
            parts.append(np.stack([rate[..., i] for i in self.excited], axis=-1))
        if (state := self.states(given)) is not None:
            parts.append(rates(self.muscled, q, u, self.activation(given), state))
        if self.delayed:
            activation = given["own"][..., len(self.of_muscles) :]
            parts.append(actuators.delayed_rates(self.muscled, given["controls"], activation))
        return [joined(parts)] if parts else []

    def bounded(self, own: Array) -> Array:
        """(..., len(own)) states w after a step, activations with bounds of their own within these."""
        bounds = [(-np.inf, np.inf)] * own.shape[-1]
        for k, i in enumerate(self.excited):
            dynamics = self.muscled.muscles[i].activation_dynamics
            if dynamics is not None and dynamics.form == "integral":
                bounds[k] = 0.0, 1.0
        for k, actuator in enumerate(actuators.delayed(self.muscled).values() if self.delayed else ()):
            bounds[len(self.of_muscles) + k] = actuator.activation_bounds
        if all(isinstance(end, float) and np.isinf(end) for bound in bounds for end in bound):
            return own
        low, high = (as_array(ends) for ends in zip(*bounds, strict=True))
        return np.minimum(np.maximum(own, low), high)

    def acceleration(self, t: Array, q: Array, u: Array, given: Mapping[str, Any]) -> Array:
        """(..., nu) udot."""
        tau = self.force(t, q, u, given)
        if not self.constraints:
            return articulated.forward(self.system, q, u, tau)
        held = self.constrained
        rest = held.stabilization(q, u, t, given["time_constant"]) if self.baumgarte else None
        return held.acceleration(q, u, t, tau, rest)[0]

    def rate(self, t: Array, x: Array, *values: Array) -> Array:
        """(..., size) xdot, the values in the order of inputs and parameters."""
        given = self.given(t, x, values)
        q, u = self.split(x)
        qdot = state.rates(self.system, q, u).copy()
        for s in self.system.quaternion_slices() if self.baumgarte else ():
            Q = q[..., s]
            qdot[..., s] = qdot[..., s] - (dot(Q, Q)[..., None] - 1) / 2 * Q / given["time_constant"]
        return joined([qdot, self.acceleration(t, q, u, given), *self.own_rate(q, u, given)])

    def beyond(self, t: Array, x: Array, *values: Array) -> Array:
        """Positive where |u| is beyond the speed limit, or an entry of (q, u) beyond its own."""
        _, u = self.split(x)
        excess = [dot(u, u) - SPEED_LIMIT**2]
        for entry, low, high in self.limits:
            excess += [x[..., entry] - high, low - x[..., entry]]
        return reduce(np.maximum, excess)

    def stabilized(self, x: Array, stabilization: str, t: Array | float = 0.0) -> Array:
        """(..., size) x after a step. For "projection" and "norm" every quaternion is divided by its length: that is
        the nearest point of each unit sphere. For "projection" the state is then brought onto the constraints at t."""
        if stabilization not in ("projection", "norm"):
            return x
        q, u, *own = self.parts(x)
        q = state.normalized(self.system, q)
        if self.constraints and stabilization == "projection":
            q, u = self.constrained.nearest(q, u, t + np.zeros(()), newton_steps=1)
        return joined([q, u, *own])

    def projection(self, stabilization: str) -> Callable[..., Array] | None:
        """(t, x, *values) -> x after a step, for methods by slopes; None where it stays as it is."""
        if stabilization not in ("projection", "norm"):
            return None
        return lambda t, x, *values: self.stabilized(x, stabilization, t)
