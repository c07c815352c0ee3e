"""Adaptive steps: SciPy's solvers on the compiled equations, with the constraint |Q| = 1 kept between the steps.

The solvers, their error control and dense output are SciPy's [E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary
Differential Equations I and II]. After every accepted step the state is projected and the slope computed anew; the next
step starts there. An input given as a table starts the solver anew at each of its kinks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK45, Radau
from scipy.optimize import brentq

from myoquat import kernels
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.dynamics.equations import mass_matrix
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import Control
from myoquat.dynamics.simulation.events import Event, Occurrence
from myoquat.dynamics.udwadia_kalaba import working
from myoquat.joints.compiled import kernel_for
from myoquat.kernels import Kernel, Steps

__all__ = ["ADAPTIVE", "EVENT", "STUCK", "AdaptiveRun", "solve"]

ADAPTIVE: dict[str, Any] = {"dop853": DOP853, "rk45": RK45, "radau": Radau}
EVENT, STUCK = 3, 4  # reasons of a stop, beside those of step loops
TINY = 1e-13  # a step below this part of the duration is no progress


@dataclass
class AdaptiveRun:
    """One state's way: rows (t, x), the last good state, steps taken, why and when it stopped, and what happened."""

    times: list[float] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    steps: int = 0
    reason: int = Steps.RAN
    stopped: float = np.nan
    occurrences: list[Occurrence] = field(default_factory=list)


@dataclass(frozen=True)
class _Problem:
    """The equations of one state with its inputs, and what to do at every step."""

    model: Any
    equations: StateEquations
    controls: dict[str, Control]
    parameters: tuple[Any, ...]
    project: bool
    events: Sequence[Event]
    redundant: bool = False

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state on the manifold."""
        equations = self.equations
        if not equations.constraints:
            return equations.project(x)
        if self.redundant:
            q, u = equations.split(replace(equations, constraints=()).project(x))
            return np.concatenate([*self._held.nearest(q, u, t), equations.rest(x)])
        formula = lambda x, t: equations.project(x, t)  # noqa: E731
        sizes = {"x": equations.size, "t": ()}
        key = ("projected", equations.key)
        return kernel_for(key, lambda: kernels.compile(formula, sizes, ["x"], name="projected"))(x, np.float64(t))

    @property
    def _held(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.equations.system, self.equations.constraints))

    def _least_constraint(self, free: Callable[[float, np.ndarray], np.ndarray]) -> Callable[[float, Any], np.ndarray]:
        """The slope under redundant constraints, from arrays: `free` is the slope without them."""
        system, held = self.equations.system, self._held

        def slope(t: float, x: np.ndarray) -> np.ndarray:
            q, u = self.equations.split(self.projected(t, x) if self.project else x)
            rate = free(t, x)
            M = mass_matrix(system, q)
            b = held.bias(q, u, t)
            if self.equations.baumgarte:
                T = self.parameters[0]
                b = b - 2 / T * held.rate(q, u, t)
            udot = self.equations.split(rate)[1]
            a = working(M, M @ udot, held.jacobian(q, t), b).acceleration
            return np.concatenate([rate[: system.nq], a, self.equations.rest(rate)])

        return slope

    def kernel(self) -> Kernel:
        sizes = {"t": (), "x": self.equations.size, **self.equations.inputs, **self.equations.parameters}
        build = lambda: kernels.compile(self.equations.rate, sizes, ["rate"], name="state_rate")  # noqa: E731
        return kernel_for(("rate", self.equations.key), build)

    def given(self, t: float) -> list[Any]:
        times = np.array([t])
        return [*(control.at(times)[..., 0, :] for control in self.controls.values()), *self.parameters]

    def slope(self) -> Callable[[float, np.ndarray], np.ndarray]:
        if self.redundant:
            loose = replace(self, equations=replace(self.equations, constraints=()), redundant=False)
            return self._least_constraint(loose.slope())
        kernel = self.kernel()
        return lambda t, x: kernel(np.float64(t), x, *self.given(t), threads=1, check=False)

    def jacobian(self) -> Callable[[float, np.ndarray], np.ndarray]:
        kernel = kernel_for(("rate_jacobian", self.equations.key), lambda: self.kernel().jacobian("rate", "x"))
        return lambda t, x: kernel(np.float64(t), x, *self.given(t), threads=1, check=False)

    def values(self, t: float, x: np.ndarray) -> list[float]:
        q, u = self.equations.split(self.projected(t, x))
        return [float(event.value(self.model, t, q, u)) for event in self.events]


def solve(
    model: Any,
    equations: StateEquations,
    x: np.ndarray,
    duration: float,
    *,
    method: str,
    rtol: float,
    controls: dict[str, Control],
    parameters: tuple[Any, ...] = (),
    project: bool = True,
    output: np.ndarray | None = None,
    events: Sequence[Event] = (),
    first_step: float | None = None,
    redundant: bool = False,
) -> AdaptiveRun:
    """Move one state x (n,) over `duration` with error per step below rtol (1 + |x|).

    output: times of the rows, every step's end if None. redundant: the constraints depend on each other. What was
    computed before a stop is kept.
    """
    problem = _Problem(model, equations, controls, parameters, project, events, redundant)
    run = AdaptiveRun([0.0], [x], 0)
    kinks = np.unique(np.concatenate([[duration], *(control.knots for control in controls.values())]))
    start = 0.0
    for end in kinks[(kinks > 0) & (kinks <= duration)]:
        x = _segment(problem, run, x, start, float(end), duration, method, rtol, output, first_step)
        start = float(end)
        if run.reason != Steps.RAN:
            break
    return run


def _segment(
    problem: _Problem, run: AdaptiveRun, x: np.ndarray, start: float, end: float, duration: float, method: str,
    rtol: float, output: np.ndarray | None, first_step: float | None,
) -> np.ndarray:  # fmt: skip
    """Between two kinks of the inputs; the state at the end of it, or where it stopped."""
    options: dict[str, Any] = {"rtol": rtol, "atol": rtol, "first_step": first_step}
    slope = problem.slope()
    if method == "radau":
        options["jac"] = problem.jacobian()
    with np.errstate(all="ignore"):
        solver = ADAPTIVE[method](slope, start, x, end, **options)
        values = problem.values(start, x)
        while solver.status == "running":
            before = solver.t
            solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return _stop(run, Steps.NOT_FINITE if solver.status != "failed" else STUCK, before, x)
            if problem.equations.beyond(solver.t, solver.y) > 0:
                return _stop(run, Steps.BOUND, before, x)
            if solver.t - before < TINY * duration and solver.t < end:
                return _stop(run, STUCK, before, x)
            run.steps += 1
            dense = solver.dense_output()
            following = problem.values(solver.t, solver.y)
            halt = _events(problem, run, dense, before, solver.t, values, following)
            last = solver.t if halt is None else halt
            _rows(problem, run, dense, before, last, output)
            if halt is not None:
                return _stop(run, EVENT, halt, _kept(problem, halt, dense(halt)))
            values = following
            x = _kept(problem, solver.t, solver.y)
            if problem.project:
                solver.y, solver.f = x, slope(solver.t, x)
    return x


def _kept(problem: _Problem, t: float, x: np.ndarray) -> np.ndarray:
    """The state as it is stored: on the manifold, if it is to be kept there."""
    return problem.projected(t, x) if problem.project else x.copy()


def _stop(run: AdaptiveRun, reason: int, time: float, x: np.ndarray) -> np.ndarray:
    run.reason, run.stopped = reason, time
    return x


def _rows(
    problem: _Problem, run: AdaptiveRun, dense: Any, before: float, now: float, output: np.ndarray | None
) -> None:
    """The rows that fall into a step."""
    times = np.array([now]) if output is None else output[(output > before) & (output <= now)]
    run.times += [float(t) for t in times]
    run.rows += [_kept(problem, float(t), dense(t)) for t in times]


def _events(
    problem: _Problem, run: AdaptiveRun, dense: Any, before: float, now: float, old: list[float], new: list[float]
) -> float | None:
    """Record what happened in a step, in order; the time at which the simulation ends, if it does."""
    found = []
    for k, event in enumerate(problem.events):
        if event.crossed(old[k], new[k]):
            time = brentq(lambda t, k=k: problem.values(t, dense(t))[k], before, now, xtol=1e-14, rtol=1e-14)
            found.append((time, event))
    for time, event in sorted(found, key=lambda pair: pair[0]):
        q, u = problem.equations.split(_kept(problem, float(time), dense(time)))
        run.occurrences.append(Occurrence(event.name, float(time), q, u))
        if event.terminal:
            return float(time)
    return None
