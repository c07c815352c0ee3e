"""`simulation_gradient`: the gradient of a number of a whole simulation, by the adjoint method."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import FixedStep, StateEquations
from myoquat.dynamics.sensitivity.backward import Costates, backward_loop, carried_back, lanes_for
from myoquat.dynamics.sensitivity.goals import Goals
from myoquat.dynamics.sensitivity.points import check_curved_paths, checked_start
from myoquat.dynamics.sensitivity.tangent import StateTangent, state_tangent
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice, method_named
from myoquat.dynamics.simulation.problem import Problem
from myoquat.dynamics.simulation.schedule import Schedule
from myoquat.joints.evaluation import SystemLike, traced_once
from myoquat.joints.vectors import joined
from myoquat.kernels import ZeroOrderHold

__all__ = ["SimulationGradient", "simulation_gradient"]

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
    once more. The muscles' states at the start count as given, also where they follow from the inputs. Raises as
    `simulate` does. It also raises ValueError for goals that are no number, inputs that vary within an interval, and
    constraints that change with time.

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
    check_curved_paths(model)
    problem, start = checked_start(
        model, (q0, u0), constraints, choice, parameters=given.parameters, external_torque=given.torque is not None
    )
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
            back = self._backward(
                (costate, parameters), (steps[:-1] * h, states[..., :-1, :], pushes[..., :-1, :]), first
            )
            value = value + np.sum(running[..., :-1], axis=-1)
            costate, parameters = back.states, back.parameters
            by_inputs.insert(0, back.inputs)
        return self._result(x0, end, value, (costate, np.concatenate(by_inputs, axis=-2), parameters), single)

    def _backward(self, end: tuple[Array, Array], piece: tuple[Array, Array, Array], first: int) -> Costates:
        """The gradients at the start of the piece from interval `first` on."""
        loop, hold = backward_loop(self.method, self.equations, lanes_for(end[0])), self.schedule.steps
        count = len(piece[0]) // hold
        inputs = {name: v[..., first : first + count, :] for name, v in self.values.items()}
        return carried_back(loop, self.equations, end, piece, inputs, self.constants, (self.schedule.h, hold))

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
