"""Bounds between two parameters of one part of a model, such as pennation < maximum_pennation, in every sample.

Such a bound is monotonic in each of the two. So all samples in a box of values pass if the corners of the box do. A box
that does not pass is halved, until it does or holds one sample, which is tried itself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from itertools import combinations, product, zip_longest
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.model import Model
from myoquat.muscle.parameters.names import Location

__all__ = ["check_pairs"]

Pair = tuple[int, int]  # two columns
Bind = Callable[[Array], Model | ArticulatedSystem]  # the model with the numbers of one row, or what its checks raise
_WHOLE = ("inertia", "orientation", "start_q", "start_u")  # vectors that are checked as such, or not bounded


def check_pairs(model: Model | ArticulatedSystem, locations: Sequence[Location], rows: Array, bind: Bind) -> None:
    """ValueError for a row (samples, n) in which two parameters of one part of the model contradict each other."""
    pairs = _pairs(model, locations)
    if all(_corners_pass(rows, together, bind) for together in zip_longest(*pairs)):
        return
    for pair in (pair for part in pairs for pair in part):
        for i in _doubtful(rows, pair, bind):
            try:
                bind(rows[i])
            except ValueError as error:
                raise ValueError(f"sample {i}: {error}") from error


def _pairs(model: Model | ArticulatedSystem, locations: Sequence[Location]) -> list[list[Pair]]:
    """For each part of the model the pairs of columns that stand in it."""
    parts: dict[tuple[str | int, ...], list[int]] = {}
    for column, location in enumerate(locations):
        part = _part_of(model, location.steps)
        if len(part) > 1 and not set(_WHOLE) & set(location.steps[-2:]):
            parts.setdefault(part, []).append(column)
    return [list(combinations(columns, 2)) for columns in parts.values() if len(columns) > 1]


def _part_of(model: Model | ArticulatedSystem, steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The steps to the innermost dataclass above a number."""
    node: Any = model
    inner = 0
    for i, step in enumerate(steps[:-1]):
        node = getattr(node, step) if isinstance(step, str) else None if node is None else node[step]
        if is_dataclass(node):
            inner = i + 1
    return steps[:inner]


def _corners_pass(rows: Array, pairs: Iterable[Pair | None], bind: Bind) -> bool:
    """Whether the model takes the least and greatest values of each pair, all pairs at a time."""
    for ends in product((np.min, np.max), repeat=2):
        row = rows[0].copy()
        for pair in pairs:
            for column, end in zip(pair or (), ends, strict=False):
                row[column] = end(rows[:, column])
        if not _passes(row, bind):
            return False
    return True


def _doubtful(rows: Array, pair: Pair, bind: Bind) -> list[int]:
    """The rows whose values of a pair the model does not take, with the other numbers of the first row."""
    values, first = np.unique(rows[:, pair], axis=0, return_index=True)
    found: list[int] = []
    boxes = [np.arange(len(values))]
    while boxes:
        box = boxes.pop()
        whole = values[box]
        if _corners_pass(_replaced(rows[0], pair, whole), [pair], bind):
            continue
        if len(box) == 1:
            found.append(int(first[box[0]]))
            continue
        column = int(np.argmax(np.ptp(whole, axis=0) / np.maximum(np.ptp(values, axis=0), np.finfo(float).tiny)))
        order = box[np.argsort(whole[:, column], kind="stable")]
        boxes += [order[: len(order) // 2], order[len(order) // 2 :]]
    return sorted(found)


def _replaced(row: Array, pair: Pair, values: Array) -> Array:
    """(samples, n) one row with other values in two columns."""
    rows = np.tile(row, (len(values), 1))
    rows[:, pair] = values
    return rows


def _passes(row: Array, bind: Bind) -> bool:
    try:
        bind(row)
    except ValueError:
        return False
    return True
