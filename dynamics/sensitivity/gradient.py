"""`simulation_gradient`: the gradient of a number of a whole simulation, by the adjoint method."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, frozen
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import FixedStep, StateEquations, StepFormula
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice, Timing, method_named
from myoquat.dynamics.simulation.problem import Problem
from myoquat.joints.evaluation import SystemLike, compiled, kernel_for, traced_once
from myoquat.joints.vectors import joined
from myoquat.kernels import StepLoop, ZeroOrderHold, as_array, step_loop
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.tracing.derivatives import jacobian_at

from .points import StateTangent, check_curved_paths, checked_start, state_tangent

Goal = Callable[..., Any]  # a number of the last state, or one whose integral over the simulation counts


# --------------------------------------------------------------------------------------------------------------
#
# The adjoint of one step: from the gradient by the state after it to those by the state before, inputs and parameters.
#
# A formula for a compiled loop that runs backwards. The slope of a method, and its adjoint, are functions in the
# machine
# code, called at every stage. The code is therefore as long as that of one stage.


@frozen
class StepAdjoint:
    """The adjoint of a step of states (size,); `shapes` are those of the inputs and parameters, vectors or numbers.

    States z (n + m,) have the components of these values behind their own."""

    step: StepFormula
    size: int
    shapes: tuple[tuple[int, ...], ...]

    @property
    def values_size(self) -> int:
        """Number of components of all inputs and parameters."""
        return sum(map(math.prod, self.shapes))

    def parts(self, z: Array) -> list[Array]:
        """The state and the values."""
        ends = self.size + np.cumsum([0, *map(math.prod, self.shapes)])
        return [z[: self.size], *(z[i:j].reshape(s) for i, j, s in zip(ends, ends[1:], self.shapes, strict=False))]

    def __call__(self, t: Array, h: Array, z: Array, after: Array) -> Array:
        """The gradient at z (n + m,) of a number whose gradient by the state after the step is `after`."""
        step, n, method, at = self.step, self.size, self.step.method, joined([after, np.zeros(self.values_size)])
        if step.slope is None:
            return _gradient(lambda z: step(t, h, *self.parts(z)), z, after)
        states, slopes = [z], list[Array]()
        for node, indices, update in zip(method.c, method.slope_indices, method.updates, strict=True):
            moving = joined([(t + node * h)[..., None], states[-1]])
            slopes.append(out_of_line_call(_slope, (self,), moving, n))
            states.append(joined([update(z[:n], h, *(slopes[j] for j in indices)), z[n:]]))
        if (project := step.project) is not None:
            at = _gradient(lambda z: project(t + h, *self.parts(z)), states[-1], after)
        by_x, by_values, by_slope = np.zeros(n), at[n:], [np.zeros(n)] * len(slopes)
        for stage in reversed(range(len(slopes))):
            update, indices = method.updates[stage], method.slope_indices[stage]

            def moved(y: Array, update: Callable[..., Array] = update) -> Array:
                x, *others = np.split(y, len(y) // n)
                return update(x, h, *others)

            given = joined([z[:n], *(slopes[j] for j in indices)])
            own, *others = np.split(_gradient(moved, given, at[:n]), len(given) // n)
            by_x = by_x + own
            for j, part in zip(indices, others, strict=True):
                by_slope[j] = by_slope[j] + part
            moving = joined([(t + method.c[stage] * h)[..., None], states[stage], by_slope[stage]])
            at = out_of_line_call(_slope_gradient, (self,), moving, len(z))
            by_values = by_values + at[n:]
        return joined([by_x + at[:n], by_values])


def _gradient(function: Callable[[Array], Array], x: Array, weights: Array) -> Array:
    """(n,) derivative of weights . function(x) by x (n,)."""
    return jacobian_at(lambda z: np.sum(weights * function(z), axis=-1)[..., None], x)[0]


def _slope(adjoint: StepAdjoint, z: Array) -> Array:
    """The slope at z = (t, state, values)."""
    assert adjoint.step.slope is not None
    return adjoint.step.slope(z[0], *adjoint.parts(z[1:]))


def _slope_gradient(adjoint: StepAdjoint, z: Array) -> Array:
    """The gradient of weights . slope at z = (t, state, values, weights)."""
    n = adjoint.size
    return _gradient(lambda x: _slope(adjoint, joined([z[:1], x])), z[1:-n], z[-n:])


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
        by_z = adjoint(time, h, joined([state, *(np.reshape(v, (-1,)) for v in values)]), z[:n])
        return joined([by_z[:n] + push, keep * z[n : n + m] + by_z[n : n + m], z[n + m :] + by_z[n + m :]])

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


@frozen
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
    if final is None and running is None:
        raise ValueError("simulation_gradient: give final=, a function of (q, u), running=, of (t, q, u), or both")
    if problem.varied is not None:
        problem.varied.acting("muscle_states", states=True)
    values = _in_intervals(problem, given, intervals)
    p = problem.values(given.parameters)
    first: dict[str, Any] = {name: v[..., 0, :] for name, v in values.items()}
    own = problem.own_start(start.q, first, replace(given, **first), p)
    timing, constants = Timing(duration / (intervals or 1), step), {} if p is None else {"p": p}
    goals = final, running
    simulation = _Simulation(problem, method_named(method), *goals, timing, intervals or 1, values, constants)
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


@frozen
class _Simulation:
    """A simulation whose inputs are constant in intervals of `timing.steps` steps."""

    problem: Problem
    method: FixedStep
    final: Goal | None
    running: Goal | None
    timing: Timing
    intervals: int
    values: dict[str, Array]
    constants: dict[str, Any]

    @property
    def equations(self) -> StateEquations:
        return self.problem.equations

    def evaluated(self, name: str, t: Any, x: Array) -> Pair:
        """A goal, "final" or "running", and its derivatives (..., n) at states x (..., n) at times t (...)."""
        goal = getattr(self, name)
        if goal is None:
            return np.zeros(x.shape[:-1]), np.zeros_like(x)

        def number(t: Array, x: Array) -> Array:
            value = as_array(goal(*([t] if name == "running" else []), *self.equations.parts(x)))
            if value.shape != x.shape[:-1]:
                raise ValueError(f"{name}: one number for each state is needed, not an array of shape {value.shape}")
            return value[..., None]

        def formula(t: Array, x: Array) -> Pair:
            return number(t, x)[..., 0], jacobian_at(lambda x: number(t, x), x)[..., 0, :]

        key, sizes = ("simulation goal", name, goal, self.equations.key), {"t": (), "x": self.equations.size}
        value, gradient = compiled(key, formula, sizes, ["value", "gradient"], name=f"goal_{name}")(t, x)
        return value, gradient

    def run(self, x: Array, first: int, count: int, every: int) -> Array:
        """(..., rows, n) the states over intervals first, first + 1, ..., from x (..., n); NaN after a stop."""
        equations, hold, h = self.equations, self.timing.steps, self.timing.h
        loop = self.method.kept_loop(equations, "projection", lanes_for(x))
        cut = slice(first, first + count)
        inputs: dict[str, Any] = {name: ZeroOrderHold(v[..., cut, :], hold) for name, v in self.values.items()}
        ran = loop(x, h=h, steps=count * hold, every=every, start=first * hold * h, **inputs, **self.constants)
        return ran.states

    def gradient(self, x0: Array, single: bool) -> SimulationGradient:
        """The goals of the simulation from x0 (..., n), and their gradient."""
        heads = *(v.shape[:-2] for v in self.values.values()), *(p.shape[:-1] for p in self.constants.values())
        x0 = np.broadcast_to(x0, (*np.broadcast_shapes(x0.shape[:-1], *heads), x0.shape[-1]))
        hold, h, count = self.timing.steps, self.timing.h, self.intervals
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
            running, pushes = self.evaluated("running", steps * h, states)
            running, pushes = weights * running, weights[:, None] * pushes
            if not by_inputs:
                end = states[..., -1, :]
                value, costate = self.evaluated("final", count * hold * h, end)
                value, costate = value + running[..., -1], costate + pushes[..., -1, :]
            before = steps[:-1] * h, states[..., :-1, :], pushes[..., :-1, :]
            costate, inputs, parameters = self._backward((costate, parameters), before, first)
            value = value + np.sum(running[..., :-1], axis=-1)
            by_inputs.insert(0, inputs)
        equations, gradients = self.equations, np.concatenate(by_inputs, axis=-2)
        basis, _ = state_tangent(equations)(x0)
        dq, du, dw = StateTangent(equations).split(np.sum(costate[..., :, None] * basis, axis=-2))
        parts = np.split(
            gradients[..., 0, :] if single else gradients, np.cumsum([*equations.inputs.values()]), axis=-1
        )
        by_name = dict(zip(equations.inputs, parts, strict=False))
        named = {name: parameters[..., i] for i, name in enumerate(self.problem.names)}
        return SimulationGradient(value, dq, du, dw, by_name, named, *equations.split(end))

    def _backward(self, end: Pair, piece: tuple[Array, Array, Array], first: int) -> tuple[Array, Array, Array]:
        """The gradients by states (..., n), inputs (..., K, m) and parameters (..., k) at the start of a piece of the
        simulation from interval `first` on.

        end    gradients by the states (..., n) and the parameters (..., k) at the end of the piece.
        piece  times (s,), states (..., s, n) and gradients of the running goal (..., s, n) before each of its steps.
        """
        equations, hold = self.equations, self.timing.steps
        times, states, pushes = piece
        n, m, steps = equations.size, sum(equations.inputs.values()), len(times)
        cut = slice(first, first + steps // hold)
        each = {"state": states, "push": pushes}
        backwards: dict[str, Any] = {
            "time": ZeroOrderHold(np.ascontiguousarray(times[::-1])),
            "keep": ZeroOrderHold(np.where(np.arange(steps) % hold == 0, 0.0, 1.0)),
            **{k: ZeroOrderHold(np.ascontiguousarray(v[..., ::-1, :])) for k, v in each.items()},
            **{
                k: ZeroOrderHold(np.ascontiguousarray(v[..., cut, :][..., ::-1, :]), hold)
                for k, v in self.values.items()
            },
        }
        ran = backward_loop(self.method, equations, lanes_for(end[0]))(
            joined([end[0], np.zeros(m), end[1]]), h=self.timing.h, steps=steps, every=hold, **backwards,
            **self.constants,
        )  # fmt: skip
        final = np.where((ran.stopped >= 0)[..., None], np.nan, ran.final)
        return final[..., :n], ran.states[..., :0:-1, n : n + m], final[..., n + m :]
