"""Adaptive simulation of a batch: one state after the other, since each takes its own steps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.simulation.adaptive import AdaptiveProblem, AdaptiveRun, solve
from myoquat.dynamics.simulation.run import Run

__all__ = ["solve_batch"]


def solve_batch(problem: AdaptiveProblem, start: Sequence[Array]) -> tuple[Run, Any, Any]:
    """(run, steps (...,), occurrences (...,)); the start, (q (..., nq), u (..., nu)) and, if there are any, the
    muscles' states, and the problem's controls broadcast.

    Raises ValueError for a batch without times of output: its states take different steps.
    """
    heads = [control.at(np.zeros(1)).shape[:-2] for control in problem.controls.values()]
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in start), *heads)
    if batch and problem.timing.output is None:
        raise ValueError("a batch of adaptive simulations needs output_step: every state takes steps of its own")
    x = np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in start], axis=-1)
    runs: dict[tuple[int, ...], AdaptiveRun] = {}
    for where in np.ndindex(batch):
        controls = {name: control.of_element(where) for name, control in problem.controls.items()}
        runs[where] = solve(replace(problem, controls=controls), x[where])
    return _gathered(problem, runs, batch)


def _gathered(
    problem: AdaptiveProblem, runs: dict[tuple[int, ...], AdaptiveRun], batch: tuple[int, ...]
) -> tuple[Run, Any, Any]:
    equations, output = problem.equations, problem.timing.output
    times = np.array(runs[()].times) if output is None else np.concatenate([[problem.timing.start], output])
    rows = np.full((*batch, len(times), equations.size), np.nan)
    final, stopped = np.empty((*batch, equations.size)), np.empty(batch)
    reason, steps = np.empty(batch, dtype=int), np.empty(batch, dtype=int)
    happened: Any = np.empty(batch, dtype=object)
    for where, run in runs.items():
        rows[where][: len(run.rows)] = run.rows
        final[where], stopped[where], reason[where], steps[where] = run.rows[-1], run.stopped, run.outcome, run.steps
        happened[where] = tuple(run.occurrences)
    (q, u), (final_q, final_u) = equations.split(rows), equations.split(final)
    whole = Run(times, q, u, final_q, final_u, stopped, reason, equations.rest(rows), equations.rest(final))
    return whole, steps[()], happened[()]
