"""Adaptive simulation of a batch: one state after the other, since each takes its own steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.adaptive import AdaptiveRun, solve
from myoquat.dynamics.simulation.controls import Control
from myoquat.dynamics.simulation.events import Event
from myoquat.dynamics.simulation.simulator import Run

__all__ = ["solve_batch"]


class _Element:
    """A control as one element of the batch sees it."""

    def __init__(self, control: Control, where: tuple[int, ...]) -> None:
        self._control, self._where, self.knots = control, where, control.knots

    def at(self, times: np.ndarray) -> np.ndarray:
        values = self._control.at(times)
        axes = values.ndim - 2
        index = self._where[len(self._where) - axes :] if axes else ()
        return values[tuple(i if n > 1 else 0 for i, n in zip(index, values.shape, strict=False))]


def solve_batch(
    model: Any,
    equations: StateEquations,
    start: Sequence[np.ndarray],
    duration: float,
    controls: dict[str, Control],
    *,
    output: np.ndarray | None,
    events: Sequence[Event],
    **options: Any,
) -> tuple[Run, Any, Any]:
    """(run, steps (...,), occurrences (...,)); the start, (q (..., nq), u (..., nu)) and, if there are any, the
    muscles' states, and the controls broadcast.

    Raises ValueError for a batch without `output`: its states take different steps.
    """
    heads = [control.at(np.zeros(1)).shape[:-2] for control in controls.values()]
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in start), *heads)
    if batch and output is None:
        raise ValueError("a batch of adaptive simulations needs output_step: every state takes steps of its own")
    x = np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in start], axis=-1)
    runs: dict[tuple[int, ...], AdaptiveRun] = {}
    for where in np.ndindex(batch):
        seen: dict[str, Any] = {name: _Element(control, where) for name, control in controls.items()}
        runs[where] = solve(
            model, equations, x[where], duration, controls=seen, output=output, events=events, **options
        )
    return _gathered(equations, runs, batch, output)


def _gathered(
    equations: StateEquations, runs: dict[tuple[int, ...], AdaptiveRun], batch: tuple[int, ...], output: Any
) -> tuple[Run, Any, Any]:
    times = np.array(runs[()].times) if output is None else np.concatenate([[0.0], output])
    rows = np.full((*batch, len(times), equations.size), np.nan)
    final, stopped = np.empty((*batch, equations.size)), np.empty(batch)
    reason, steps = np.empty(batch, dtype=int), np.empty(batch, dtype=int)
    happened: Any = np.empty(batch, dtype=object)
    for where, run in runs.items():
        rows[where][: len(run.rows)] = run.rows
        final[where], stopped[where], reason[where], steps[where] = run.rows[-1], run.stopped, run.reason, run.steps
        happened[where] = tuple(run.occurrences)
    own = (equations.rest(rows), equations.rest(final))
    whole = Run(times, *equations.split(rows), *equations.split(final), stopped, reason, *own)
    return whole, steps[()], happened[()]
