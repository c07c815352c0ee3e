"""Adaptive steps: solvers on the compiled equations, with the constraint |Q| = 1 kept between the steps.

The explicit solvers, their error control and dense output are SciPy's [E. Hairer, S. P. Norsett, G. Wanner, Solving
Ordinary Differential Equations I: Nonstiff Problems, 2nd ed., Springer 1993, sections II.4 to II.6 (dop853, rk45)]; the
implicit one is `myoquat.dynamics.integrators.Radau`. After every accepted step the state is projected and the slope
computed anew; the next step starts there. At the kinks of an input given as a table the solver starts anew, with the
step that it would have taken next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

from myoquat.core import Array, frozen, scipy
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.dynamics.integrators import Radau, StateEquations
from myoquat.joints.evaluation import SystemLike, compiled
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel, Outcome

from .controls import Control
from .events import Event, Occurrence
from .methods import BAUMGARTE_STEPS, BY_SCIPY, MethodChoice, Run, Timing

MIN_RELATIVE_STEP = 1e-13  # a step below this part of the duration is no progress
MIN_UNCHECKED_STEP = (
    1e-7  # as a part of the duration: before a shorter step, constraints are checked for contradictions
)

Slope = Callable[[float, Array], Array]
Slopes = Callable[[Array, Array], Array]
Solver: TypeAlias = "Radau | scipy.integrate.OdeSolver"


@dataclass
class AdaptiveRun:
    """The motion of one state: rows (t, x), steps taken, how and when it ended early, and the events on the way."""

    times: list[float] = field(default_factory=list)
    rows: list[Array] = field(default_factory=list)
    steps: int = 0
    outcome: Outcome = Outcome.COMPLETED
    stopped: float = np.nan
    occurrences: list[Occurrence] = field(default_factory=list)


@frozen
class AdaptiveProblem:
    """The equations of one state with its inputs, and what to do at every step.

    numbers  (n,) the numbers of the model that vary, (..., n) for a batch; None without
    """

    equations: StateEquations
    controls: dict[str, Control]
    choice: MethodChoice
    timing: Timing
    events: Sequence[Event] = ()
    numbers: Array | None = None

    @cached_property
    def constants(self) -> tuple[Any, ...]:
        """The values of the equations' parameters: the time constant of Baumgarte's stabilization, if it is used, and
        the numbers of the model."""
        constant = (BAUMGARTE_STEPS * self.timing.h,) if self.equations.baumgarte else ()
        return constant if self.numbers is None else (*constant, self.numbers)

    @cached_property
    def model(self) -> SystemLike:
        """The model that moves, with its numbers."""
        return self.equations.bound(self.numbers)

    @cached_property
    def kinks(self) -> Array:
        """Times at which the solver starts anew, the end of the simulation last."""
        start, end = self.timing.start, self.timing.end
        times = np.unique(np.concatenate([[end], *(control.knots for control in self.controls.values())]))
        return times[(times > start) & (times <= end)]

    # ---- the manifold ----------------------------------------------------------------------------------------

    def projected(self, t: float, x: Array) -> Array:
        """The state x (n,) moved onto |Q| = 1 and the constraints."""
        equations = self.equations
        if not equations.constraints:
            return equations.stabilized(x, "projection")
        formula = lambda x, t, *p: equations.fixed(p[0] if p else None).stabilized(x, "projection", t)  # noqa: E731
        p = () if self.numbers is None else (self.numbers,)
        sizes: dict[str, Any] = {"x": equations.size, "t": (), **({"p": p[0].shape} if p else {})}
        kernel = compiled(("projected", equations.key), formula, sizes, ["x"], name="projected", lanes=1)
        return np.asarray(kernel(x, np.float64(t), *p))

    def kept(self, t: float, x: Array) -> Array:
        """The state as it is stored: on the manifold, if it is to be kept there."""
        return self.projected(t, x) if self.choice.projects else x.copy()

    def contradicts(self, t: float, x: Array) -> bool:
        """Whether no acceleration satisfies all constraints at a state (n,)."""
        if not self.equations.redundant:
            return False
        q, u = self.equations.split(x)
        return self._constraint_arrays.contradiction(q, u, t) is not None

    @cached_property
    def _constraint_arrays(self) -> ConstraintArrays:
        own = self.equations.fixed(self.numbers)
        return ConstraintArrays(Constraints(own.system, own.constraints))

    # ---- slopes ----------------------------------------------------------------------------------------------

    def slope(self) -> Slope:
        """xdot(t, x)."""
        single = self._kernel(lanes=1).single()
        return lambda t, x: np.asarray(single(t, x, *self._given(t)))

    def slopes(self) -> Slopes:
        """xdot (k, n) at times (k,) and states (k, n), side by side in the lanes of a kernel."""
        kernel = self._kernel(lanes=None)
        return lambda t, x: np.asarray(kernel(t, x, *self._given(t)))

    def values(self, t: float, x: Array) -> list[float]:
        """The values of the events."""
        if not self.events:
            return []
        q, u = self.equations.split(self.projected(t, x))
        return [event.at(self.model, t, q, u) for event in self.events]

    def _given(self, t: float | Array) -> list[Any]:
        """The inputs, (n,) at a time or (k, n) at times (k,), and the parameters."""
        if self._steady is not None:
            return self._steady
        found = [control.at(np.atleast_1d(t)) for control in self.controls.values()]
        return [*(values if np.ndim(t) else values[..., 0, :] for values in found), *self.constants]

    @cached_property
    def _steady(self) -> list[Any] | None:
        """Inputs (n,) that do not change with time, and the parameters; None where one changes."""
        if not all(control.constant for control in self.controls.values()):
            return None
        return [*(control.at(np.zeros(1))[..., 0, :] for control in self.controls.values()), *self.constants]

    def _kernel(self, lanes: int | None) -> Kernel:
        """The rates of one state (lanes = 1), or of as many as the machine has lanes for (None)."""
        sizes: dict[str, Any] = {
            "t": (), "x": self.equations.size, **self.equations.inputs, **self.equations.parameters
        }  # fmt: skip

        def rate(t: Array, x: Array, *values: Array) -> Array:
            own, others = self.equations.at(values)
            return own.rate(t, x, *others)

        key = "rate", lanes, self.equations.key
        return compiled(key, rate, sizes, ["rate"], name="state_rate", lanes=lanes)


def solve(problem: AdaptiveProblem, x: Array) -> AdaptiveRun:
    """Move one state x (n,) over the duration with error per step below rtol (1 + |x|). What was computed before a stop
    is kept."""
    start, step = problem.timing.start, problem.timing.step
    run = AdaptiveRun([start], [x])
    if problem.contradicts(start, x):
        run.outcome, run.stopped = Outcome.CONTRADICTION, start
        return run
    for end in problem.kinks:
        x, step = _between_kinks(problem, run, (start, x), float(end), step)
        start = float(end)
        if run.outcome != Outcome.COMPLETED:
            break
    return run


def _between_kinks(
    problem: AdaptiveProblem, run: AdaptiveRun, begin: tuple[float, Array], end: float, step: float | None
) -> tuple[Array, float]:
    """Steps from one kink of the inputs to the next, the first as long as `step` if it is given. The state at the end
    of it, or where it stopped, and how long the next step may be. The end of the last one does not shorten it."""
    slope, (start, x), output = _before(end, problem.slope()), begin, problem.timing.output
    with np.errstate(all="ignore"):
        first = None if step is None else min(step, end - start)
        if (choice := problem.choice).name == "radau":
            solver: Any = Radau(slope, _before(end, problem.slopes()), begin, end, choice.rtol or 0.0, first)
        else:
            method, rtol = getattr(scipy.integrate, BY_SCIPY[choice.name]), choice.rtol
            solver = method(slope, start, x, end, rtol=rtol, atol=rtol, first_step=first)
        values = problem.values(start, x)
        while solver.status == "running":
            before, ahead = solver.t, solver.h_abs
            solver.step()
            failure = _failure(problem, solver, (before, x), end)
            if failure is not None:
                run.outcome, run.stopped = failure, before
                break
            run.steps += 1
            dense = _dense(solver)
            following = problem.values(solver.t, solver.y)
            halt = _record_events(problem, run, (dense, before, solver.t), values, following)
            now = solver.t if halt is None else halt
            rows = [now] if output is None else output[(output > before) & (output <= now)].tolist()
            run.times += rows
            run.rows += [problem.kept(t, dense(t)) for t in rows]
            if halt is not None:
                run.outcome, run.stopped = Outcome.EVENT, halt
                x = problem.kept(halt, dense(halt))
                break
            values = following
            x = problem.kept(solver.t, solver.y)
            if problem.choice.projects:
                solver.y, solver.f = x, slope(solver.t, x)
    return x, max(ahead, solver.h_abs)


def _before(end: float, slope: Any) -> Any:
    """The slope, or slopes, up to a kink, where inputs that jump have the values from before it."""
    last = np.nextafter(end, -np.inf)
    return lambda t, x: slope(np.minimum(t, last), x)


def _dense(solver: Solver) -> Callable[[float], Array]:
    """The state within the step that a solver has taken. What lies inside costs slopes, and only if it is asked for."""
    end, last, between = solver.t, solver.y, cache(solver.dense_output)
    return lambda t: last if t == end else between()(t)


def _failure(problem: AdaptiveProblem, solver: Solver, start: tuple[float, Array], end: float) -> Outcome | None:
    """Why the step from `start` cannot be accepted; None if it can."""
    length, duration = solver.t - start[0], problem.timing.duration
    if length < MIN_UNCHECKED_STEP * duration and solver.t < end and problem.contradicts(*start):
        return Outcome.CONTRADICTION
    if solver.status == "failed":
        return Outcome.STUCK
    if not np.isfinite(solver.y).all():
        return Outcome.NOT_FINITE
    if problem.equations.beyond(np.asarray(solver.t), solver.y) > 0:
        return Outcome.BOUND
    if length < MIN_RELATIVE_STEP * duration and solver.t < end:
        return Outcome.STUCK
    return None


Step = tuple[Callable[[float], Array], float, float]  # dense output, and the times at which a step begins and ends


def _record_events(
    problem: AdaptiveProblem, run: AdaptiveRun, step: Step, old: list[float], new: list[float]
) -> float | None:
    """Add the events of a step in their order; the time at which one of them ends the simulation, if one does."""
    dense, before, now = step
    found = []
    for k, event in enumerate(problem.events):
        if event.crossed(old[k], new[k]):
            time = scipy.optimize.brentq(
                lambda t, k=k: problem.values(t, dense(t))[k], before, now, xtol=1e-14, rtol=1e-14
            )
            found.append((float(time), event))
    for time, event in sorted(found, key=lambda pair: pair[0]):
        q, u = problem.equations.split(problem.kept(time, dense(time)))
        run.occurrences.append(Occurrence(event.name, time, q, u))
        if event.terminal:
            return time
    return None


# ---- Adaptive simulation of a batch: one state after the other, since each takes its own steps --------------------


def solve_batch(problem: AdaptiveProblem, start: Sequence[Array]) -> tuple[Run, Any, Any]:
    """(run, steps (...,), occurrences (...,)); the start, (q (..., nq), u (..., nu)) and, if there are any, the
    muscles' states, and the problem's controls broadcast.

    Raises ValueError for a batch without times of output: its states take different steps.
    """
    numbers, heads = problem.numbers, [control.at(np.zeros(1)).shape[:-2] for control in problem.controls.values()]
    heads += [] if numbers is None else [numbers.shape[:-1]]
    x = joined([*start, np.zeros((*np.broadcast_shapes(*heads), 0))])
    batch = x.shape[:-1]
    if batch and problem.timing.output is None:
        raise ValueError("a batch of adaptive simulations needs output_step: every state takes steps of its own")
    runs: dict[tuple[int, ...], AdaptiveRun] = {}
    for where in np.ndindex(batch):
        controls = {name: control.of_element(where) for name, control in problem.controls.items()}
        own = None if numbers is None else np.broadcast_to(numbers, (*batch, numbers.shape[-1]))[where]
        runs[where] = solve(replace(problem, controls=controls, numbers=own), x[where])
    return _gathered(problem, runs, batch)


def _gathered(
    problem: AdaptiveProblem, runs: dict[tuple[int, ...], AdaptiveRun], batch: tuple[int, ...]
) -> tuple[Run, Any, Any]:
    equations, output = problem.equations, problem.timing.output
    times = np.array(runs[()].times) if output is None else np.concatenate([[problem.timing.start], output])
    rows = np.full((*batch, len(times), equations.size), np.nan)
    final = np.empty((*batch, equations.size))
    stopped, reason, steps, happened = (np.empty(batch, dtype=entry) for entry in (float, int, int, object))
    for where, run in runs.items():
        rows[where][: len(run.rows)] = run.rows
        final[where], stopped[where], reason[where], steps[where] = run.rows[-1], run.stopped, run.outcome, run.steps
        happened[where] = tuple(run.occurrences)
    (q, u), (final_q, final_u) = equations.split(rows), equations.split(final)
    whole = Run(times, q, u, final_q, final_u, stopped, reason, equations.rest(rows), equations.rest(final))
    return whole, steps[()], happened[()]
