"""Jumps of functions along lines: found by dividing steps whose change is not that of the steps beside them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MIN_JUMP_M = 1e-6  # of a jump
MEDIAN_WINDOW_STEPS = 5  # steps whose median change a step is held against
PARTS, TURNS = 4, 15  # into which a step is divided, and how often: until the sides of a jump are 1e-9 of it apart

Along = Callable[[np.ndarray, np.ndarray], np.ndarray]  # numbers of lines, shares of their way -> (N, m)


class Jumps(NamedTuple):
    """Jumps (k,): on which line, of which column of the function, and between which shares of the way."""

    line: np.ndarray
    column: np.ndarray
    before: np.ndarray
    after: np.ndarray


def jumps(along: Along, lines: int, steps: int) -> Jumps:
    """Jumps of more than MIN_JUMP_M of a function's columns along so many lines, at most one in each of the steps."""
    found = [_suspects(along, line, steps) for line in range(lines)]
    line = np.concatenate([np.full(len(step), i) for i, (step, _) in enumerate(found)])
    step, column = (np.concatenate(x) for x in zip(*found, strict=True))
    before, after = step / steps, (step + 1) / steps
    rows, change = np.arange(len(line)), np.zeros(len(line))
    for _ in range(TURNS if len(line) else 0):
        x = before + np.linspace(0.0, 1.0, PARTS + 1)[:, None] * (after - before)
        parts = np.diff([along(line, own)[rows, column] for own in x], axis=0)
        k = np.argmax(np.abs(parts - np.median(parts, axis=0)), axis=0)
        before, after, change = x[k, rows], x[k + 1, rows], parts[k, rows]
    there = np.abs(change) > MIN_JUMP_M
    return Jumps(line[there], column[there], before[there], after[there])


def _suspects(along: Along, line: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps of a line, and columns, whose change is far from the median of those around it."""
    share = np.arange(steps + 1) / steps
    change = np.diff(along(np.full(len(share), line), share), axis=0)
    padded = np.pad(change, ((MEDIAN_WINDOW_STEPS // 2, MEDIAN_WINDOW_STEPS // 2), (0, 0)), mode="edge")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, MEDIAN_WINDOW_STEPS, axis=0), axis=-1)
    return np.nonzero(np.abs(change - usual) > MIN_JUMP_M / 2)
