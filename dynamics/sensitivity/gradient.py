"""`simulation_gradient`: the gradient of a number of a whole simulation, by the adjoint method."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import FixedStep, StateEquations, StepFormula
from myoquat.dynamics.sensitivity.points import StateTangent, check_curved_paths, checked_start, state_tangent
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice, method_named
from myoquat.dynamics.simulation.problem import Problem
from myoquat.dynamics.simulation.schedule import Schedule
from myoquat.joints.evaluation import SystemLike, kernel_for, traced_once
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel, StepLoop, ZeroOrderHold, step_loop
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = [
    "Goals",
    "SimulationGradient",
    "StepAdjoint",
    "backward_loop",
    "lanes_for",
    "simulation_gradient",
]


# ---- Goals of a simulation: a number of its last state, and the integral of a number over its course --------------


Goal = Callable[..., Any]


@dataclass(frozen=True)
class Goals:
    """final(q, u, w) at the end plus the integral of running(t, q, u, w), w the muscles' states."""

    equations: StateEquations
    final: Goal | None = None
    running: Goal | None = None

    def __post_init__(self) -> None:
        if self.final is None and self.running is None:
            raise ValueError("simulation_gradient: give final=, a function of (q, u), running=, of (t, q, u), or both")

    def at_end(self, t: float, x: Array) -> tuple[Array, Array]:
        """The final goal and its derivatives (..., n) at the last states x (..., n)."""
        return self._evaluated("final", self.final, t, x)

    def along(self, t: Array, x: Array) -> tuple[Array, Array]:
        """The running goal and its derivatives (..., n) at states x (..., n) at times t (...)."""
        return self._evaluated("running", self.running, t, x)

    def _evaluated(self, name: str, goal: Goal | None, t: Any, x: Array) -> tuple[Array, Array]:
        if goal is None:
            return np.zeros(x.shape[:-1]), np.zeros_like(x)
        key = ("simulation goal", name, goal, self.equations.key)
        kernel: Kernel = kernel_for(key, lambda content: self._kernel(name, goal, content))
        value, gradient = kernel(t, x)
        return value, gradient

    def _kernel(self, name: str, goal: Goal, content: str | None) -> Kernel:
        def number(t: Array, x: Array) -> Array:
            before = [t] if name == "running" else []
            value = as_array(goal(*before, *self.equations.parts(x)))
            if value.shape != x.shape[:-1]:
                raise ValueError(f"{name}: one number for each state is needed, not an array of shape {value.shape}")
            return value[..., None]

        def formula(t: Array, x: Array) -> tuple[Array, Array]:
            return number(t, x)[..., 0], jacobian_at(lambda x: number(t, x), x)[..., 0, :]

        sizes = {"t": (), "x": self.equations.size}
        return kernels.compile(formula, sizes, ["value", "gradient"], name=f"goal_{name}", content=content)


# --------------------------------------------------------------------------------------------------------------
#
# The adjoint of one step: from the gradient by the state after it to those by the state before, inputs and parameters.
#
# A formula for a compiled loop that runs backwards. The slope of a method, and its adjoint, are functions in the
# machine
# code, called at every stage. The code is therefore as long as that of one stage.


Gradients = tuple[Array, Array]  # by a state (n,), and by inputs and parameters (m,)


@dataclass(frozen=True)
class StepAdjoint:
    """The adjoint of a step of states (size,); `shapes` are those of the inputs and parameters, vectors or numbers."""

    step: StepFormula
    size: int
    shapes: tuple[tuple[int, ...], ...]

    @property
    def values_size(self) -> int:
        """Number of components of all inputs and parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def __call__(self, t: Array, h: Array, x: Array, values: Sequence[Array], after: Array) -> Gradients:
        """The gradients at x (n,) and `values` of a number whose gradient by the state after the step is `after`."""
        if self.step.slope is None:
            return self._split(_gradient(self._of(self.step, t, h), self._vector(x, values), after))
        return self._through_stages(t, h, x, values, after)

    def _through_stages(self, t: Array, h: Array, x: Array, values: Sequence[Array], after: Array) -> Gradients:
        method, given = self.step.method, self._vector(x, values)[self.size :]
        states, slopes = [x], []
        for node, indices, update in zip(method.c, method.slope_indices, method.updates, strict=True):
            z = joined([(t + node * h)[..., None], states[-1], given])
            slopes.append(out_of_line_call(_slope, (self,), z, self.size))
            states.append(update(x, h, *(slopes[j] for j in indices)))
        at, by_values = after, np.zeros(self.values_size)
        if self.step.project is not None:
            whole = _gradient(self._of(self.step.project, t + h), joined([states[-1], given]), after)
            at, by_values = self._split(whole)
        by_x = np.zeros(self.size)
        by_slope: list[Any] = [np.zeros(self.size)] * len(slopes)
        for stage in reversed(range(len(slopes))):
            indices = method.slope_indices[stage]
            parts = self._update_gradients(method.updates[stage], h, [x, *(slopes[j] for j in indices)], at)
            by_x = by_x + parts[0]
            for j, part in zip(indices, parts[1:], strict=True):
                by_slope[j] = by_slope[j] + part
            z = joined([(t + method.c[stage] * h)[..., None], states[stage], given, by_slope[stage]])
            both = out_of_line_call(_slope_gradient, (self,), z, self.size + self.values_size)
            at, by_values = both[: self.size], by_values + both[self.size :]
        return by_x + at, by_values

    def _update_gradients(
        self, update: Callable[..., Array], h: Array, given: Sequence[Array], after: Array
    ) -> list[Array]:
        """Of after . update(x, h, *slopes), by each of x and the slopes."""
        n = self.size
        together = _gradient(
            lambda z: update(z[:n], h, *(z[k * n : (k + 1) * n] for k in range(1, len(given)))), joined(given), after
        )
        return [together[k * n : (k + 1) * n] for k in range(len(given))]

    def slope(self, t: Array) -> Callable[[Array], Array]:
        """The slope at a time, of a vector (x, values)."""
        assert self.step.slope is not None
        return self._of(self.step.slope, t)

    def _of(self, part: Callable[..., Array], *times: Array) -> Callable[[Array], Array]:
        """A part of the step at these times as a function of the vector (x, values)."""
        ends = self.size + np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])

        def function(z: Array) -> Array:
            values = [z[i:j].reshape(shape) for i, j, shape in zip(ends, ends[1:], self.shapes, strict=False)]
            return part(*times, z[: self.size], *values)

        return function

    def _vector(self, x: Array, values: Sequence[Array]) -> Array:
        """(n + m,) the state and the values one after the other."""
        return joined([x, *(np.reshape(v, (-1,)) for v in values)])

    def _split(self, z: Array) -> Gradients:
        return z[: self.size], z[self.size :]


def _gradient(function: Callable[[Array], Array], x: Array, weights: Array) -> Array:
    """(n,) derivative of weights . function(x) by x (n,)."""
    return jacobian_at(lambda z: np.sum(weights * function(z), axis=-1)[..., None], x)[0]


def _slope(adjoint: StepAdjoint, z: Array) -> Array:
    """The slope at z = (t, x, values)."""
    return adjoint.slope(z[0])(z[1:])


def _slope_gradient(adjoint: StepAdjoint, z: Array) -> Array:
    """The gradient by (x, values) of weights . slope at z = (t, x, values, weights)."""
    n = adjoint.size
    return _gradient(adjoint.slope(z[0]), z[1:-n], z[-n:])


# --------------------------------------------------------------------------------------------------------------
#
# The backward pass of the adjoint method: a compiled loop from the last step of a simulation to the first.


def lanes_for(x: Array) -> int | None:
    """The lanes of a loop over states x (..., n): a single one is fastest in one lane."""
    return 1 if x.ndim == 1 else None


def backward_loop(method: FixedStep, equations: StateEquations, lanes: int | None) -> StepLoop:
    """The loop over z = (gradient by x, by inputs, by parameters): one step takes it from x_(k + 1) to x_k.

    Inputs of a step are those of the simulation, and:

    time, state  of x_k
    push         the gradient of the running goal at x_k
    keep         zero where an interval of the inputs ends
    """
    n, m = equations.size, sum(equations.inputs.values())
    shapes = (*((size,) for size in equations.inputs.values()), *map(tuple, equations.parameters.values()))
    adjoint = StepAdjoint(method.varied_formula(equations, "projection"), n, shapes)

    def step(t: Array, h: Array, z: Array, time: Array, state: Array, push: Array, keep: Array, *values: Any) -> Array:
        by_x, by_values = adjoint(time, h, state, values, z[:n])
        return joined([by_x + push, keep * z[n : n + m] + by_values[:m], z[n + m :] + by_values[m:]])

    return kernel_for(
        ("simulation gradient", method.key, equations.key, lanes),
        lambda content: step_loop(
            n + adjoint.values_size,
            step=step,
            inputs={"time": (), "state": n, "push": n, "keep": (), **equations.inputs},
            parameters=equations.parameters,
            name=f"gradient_{method.name}",
            content=content,
            lanes=lanes,
        ),
    )


MAX_KEPT_NUMBERS = 8_000_000  # of states that are kept at once, 64 MB


@dataclass(frozen=True)
class SimulationGradient:
    """A number of a simulation, `value` (...), and its gradient, for a batch (...).

    q (..., nu)             by small motions of the start: three numbers for each quaternion.
    u (..., nu)             by the velocities at the start.
    muscle_states (..., s)  by the states of muscles and actuators at the start, as `state_names` lists them.
    inputs                  name -> (..., n), or (..., K, n) for values in K intervals.
    parameters              name -> (...).
    final_q, final_u        where the simulation ended.

    NaN for a run that stopped before its end.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import simulation_gradient
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> found = simulation_gradient(mq.ArticulatedSystem((bob,)), [0.0], [0.0], 0.5, final=lambda q, u: q[0])
    >>> found.q.round(3), found.u.round(3)  # cos(w t) and sin(w t) / w with w^2 = g / l
    (array([-0.6]), array([0.181]))
    """

    value: Array
    q: Array
    u: Array
    muscle_states: Array
    inputs: dict[str, Array]
    parameters: dict[str, Array]
    final_q: Array
    final_u: Array


@traced_once()
def simulation_gradient(
    model: SystemLike, q0: ArrayLike | None = None, u0: ArrayLike | None = None, duration: float = 1.0,
    step: float | None = None, *, final: Callable[..., Any] | None = None,
    running: Callable[..., Any] | None = None, inputs: Inputs | None = None, intervals: int | None = None,
    method: str = "rk4", constraints: Sequence[Constraint] = (),
) -> SimulationGradient:  # fmt: skip
    """The gradient of final(q, u) + integral of running(t, q, u) dt over a simulation of fixed steps.

    q0, u0, duration, step, constraints   as for `simulate`; leading axes are a batch of runs side by side.
    final, running   plain NumPy formulas of one state that return a number; with states of muscles and actuators they
                     take these as one more argument w. The integral is by the trapezoidal rule over the steps.
    inputs           `Inputs`: constants (..., n); with `intervals` K, (..., K, n) values, constant in each of K
                     equal parts of the duration, as direct shooting has them. `parameters` by name, (...).
    method           "rk4", "lie_rk4" or "semi_implicit_euler", with projection after every step.

    Exact for the steps as they are made: the adjoint of the discrete steps, not of the differential equation, one pass
    forward and one backward. States are kept in pieces of at most 64 MB: for longer simulations the pieces are computed
    once more. The states of muscles and actuators at the start count as given, also where they follow from the inputs
    and parameters. Raises as `simulate` does. It also raises ValueError for goals that are no number, inputs that vary
    within an interval, and constraints that change with time.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import Inputs, simulation_gradient
    >>> sled = mq.ArticulatedSystem((mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0),))
    >>> push = Inputs(torque=np.zeros((2, 1)))  # one newton more, in the first or in the second half of a second
    >>> found = simulation_gradient(sled, final=lambda q, u: q[0], inputs=push, intervals=2)
    >>> found.inputs["torque"].ravel().round(6)  # moves the sled at the end by so much
    array([0.1875, 0.0625])
    """
    choice = MethodChoice(method, "projection")
    given = inputs or Inputs()
    check_no_feedback(given)
    check_curved_paths(model, parameters=given.parameters)
    problem, start = checked_start(
        model, (q0, u0), constraints, choice, parameters=given.parameters, external_torque=given.torque is not None
    )
    if problem.varied is not None:
        problem.varied.acting("muscle_states", states=True)
    values = _in_intervals(problem, given, intervals)
    p = problem.values(given.parameters)
    first: dict[str, Any] = {name: v[..., 0, :] for name, v in values.items()}
    own = problem.own_start(start.q, first, replace(given, **first), p)
    simulation = _Simulation(
        problem, method_named(method), Goals(problem.equations, final, running),
        Schedule.of(duration / (intervals or 1), step, None), intervals or 1, values, {} if p is None else {"p": p},
    )  # fmt: skip
    return simulation.gradient(joined([start.q, start.u, *own]), intervals is None)


def _in_intervals(problem: Problem, given: Inputs, intervals: int | None) -> dict[str, Array]:
    """name -> (..., K, n) of every input; ValueError for values that vary otherwise."""
    found = {}
    for name, control in problem.controls(given).items():
        if not control.constant:
            raise ValueError(f"{name}: varies within intervals; give constants (n,), or intervals=K and (K, n)")
        values = control.at(np.zeros(1))[..., 0, :]
        own = intervals is not None and getattr(given, name) is not None
        if own and values.shape[-2:-1] != (intervals,):
            raise ValueError(
                f"{name}: shape {values.shape}; with intervals={intervals}, (..., {intervals}, n) is needed"
            )
        whole = values if own else values[..., None, :]
        found[name] = np.broadcast_to(whole, (*whole.shape[:-2], intervals or 1, whole.shape[-1]))
    return found


@dataclass(frozen=True)
class _Simulation:
    """A simulation whose inputs are constant in intervals of `schedule.steps` steps."""

    problem: Problem
    method: FixedStep
    goals: Goals
    schedule: Schedule
    intervals: int
    values: dict[str, Array]
    constants: dict[str, Any]

    @property
    def equations(self) -> StateEquations:
        return self.problem.equations

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of inputs and parameters."""
        inputs = (v.shape[:-2] for v in self.values.values())
        parameters = (p.shape[:-1] for p in self.constants.values())
        return np.broadcast_shapes(*inputs, *parameters)

    def run(self, x: Array, first: int, count: int, every: int) -> Array:
        """(..., rows, n) the states over intervals first, first + 1, ..., from x (..., n); NaN after a stop."""
        equations, hold, h = self.equations, self.schedule.steps, self.schedule.h
        loop = self.method.kept_loop(equations, "projection", lanes_for(x))
        cut = slice(first, first + count)
        inputs: dict[str, Any] = {name: ZeroOrderHold(v[..., cut, :], hold) for name, v in self.values.items()}
        ran = loop(x, h=h, steps=count * hold, every=every, start=first * hold * h, **inputs, **self.constants)
        return ran.states

    def gradient(self, x0: Array, single: bool) -> SimulationGradient:
        """The goals of the simulation from x0 (..., n), and their gradient."""
        x0 = np.broadcast_to(x0, (*np.broadcast_shapes(x0.shape[:-1], self.batch), x0.shape[-1]))
        hold, h, count = self.schedule.steps, self.schedule.h, self.intervals
        piece = min(count, max(1, MAX_KEPT_NUMBERS // max(1, x0.size * hold)))
        firsts = range(0, count, piece)
        starts = [x0]
        for first in firsts[:-1]:
            starts.append(self.run(starts[-1], first, piece, piece * hold)[..., -1, :])
        value: Array = np.zeros(x0.shape[:-1])
        end, costate, parameters = x0, np.zeros_like(x0), np.zeros((*x0.shape[:-1], len(self.problem.names)))
        by_inputs: list[Array] = []
        for first, start in zip(reversed(firsts), reversed(starts), strict=True):
            states = self.run(start, first, min(piece, count - first), 1)
            steps = first * hold + np.arange(states.shape[-2])
            weights = np.where((steps == 0) | (steps == count * hold), h / 2, h)
            running, pushes = self.goals.along(steps * h, states)
            running, pushes = weights * running, weights[:, None] * pushes
            if not by_inputs:
                end = states[..., -1, :]
                value, costate = self.goals.at_end(count * hold * h, end)
                value, costate = value + running[..., -1], costate + pushes[..., -1, :]
            before = steps[:-1] * h, states[..., :-1, :], pushes[..., :-1, :]
            costate, inputs, parameters = self._backward((costate, parameters), before, first)
            value = value + np.sum(running[..., :-1], axis=-1)
            by_inputs.insert(0, inputs)
        return self._result(x0, end, value, (costate, np.concatenate(by_inputs, axis=-2), parameters), single)

    def _backward(
        self, end: tuple[Array, Array], piece: tuple[Array, Array, Array], first: int
    ) -> tuple[Array, Array, Array]:
        """The gradients by states (..., n), inputs (..., K, m) and parameters (..., k) at the start of a piece of the
        simulation from interval `first` on.

        end    gradients by the states (..., n) and the parameters (..., k) at the end of the piece.
        piece  times (s,), states (..., s, n) and gradients of the running goal (..., s, n) before each of its steps.
        """
        equations, hold = self.equations, self.schedule.steps
        times, states, pushes = piece
        n, m, steps = equations.size, sum(equations.inputs.values()), len(times)
        batch = np.broadcast_shapes(end[0].shape[:-1], end[1].shape[:-1])
        cut = slice(first, first + steps // hold)
        backwards: dict[str, Any] = {
            "time": ZeroOrderHold(np.ascontiguousarray(times[::-1])),
            "state": ZeroOrderHold(np.ascontiguousarray(states[..., ::-1, :])),
            "push": ZeroOrderHold(np.ascontiguousarray(pushes[..., ::-1, :])),
            "keep": ZeroOrderHold(np.where(np.arange(steps) % hold == 0, 0.0, 1.0)),
        }
        for name, values in self.values.items():
            backwards[name] = ZeroOrderHold(np.ascontiguousarray(values[..., cut, :][..., ::-1, :]), hold)
        ran = backward_loop(self.method, equations, lanes_for(end[0]))(
            joined([end[0], np.zeros((*batch, m)), end[1]]), h=self.schedule.h, steps=steps, every=hold, **backwards,
            **self.constants,
        )  # fmt: skip
        final = np.where((ran.stopped >= 0)[..., None], np.nan, ran.final)
        return final[..., :n], ran.states[..., :0:-1, n : n + m], final[..., n + m :]

    def _result(
        self, x0: Array, end: Array, value: Array, gradients: tuple[Array, Array, Array], single: bool
    ) -> SimulationGradient:
        equations, (by_x, by_inputs, by_parameters) = self.equations, gradients
        basis, _ = state_tangent(equations)(x0)
        tangent = StateTangent(equations)
        dq, du, dw = tangent.split(np.sum(by_x[..., :, None] * basis, axis=-2))
        ends = np.cumsum([0, *equations.inputs.values()])
        inputs = {name: by_inputs[..., i:j] for name, i, j in zip(equations.inputs, ends, ends[1:], strict=False)}
        if single:
            inputs = {name: v[..., 0, :] for name, v in inputs.items()}
        named = {name: by_parameters[..., i] for i, name in enumerate(self.problem.names)}
        return SimulationGradient(value, dq, du, dw, inputs, named, *equations.split(end))
