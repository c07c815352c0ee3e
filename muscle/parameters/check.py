"""Checks of many values of parameters at once.

A model's checks are bounds on single numbers. A sample that breaks one therefore has a neighbour at the end of a column
that breaks it too. Only the samples with the least and the greatest value of each parameter go through the
constructors. Inertias and unit quaternions, whose entries hang together, are checked in every sample. So are bounds
between two parameters of one part of the model (`myoquat.muscle.parameters.pairs`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.evaluation import system_of
from myoquat.joints.multibody.body import INERTIA_TOLERANCE
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import UNIT_TOLERANCE
from myoquat.joints.vectors import full
from myoquat.muscle.model import Model
from myoquat.muscle.parameters.bind import with_values
from myoquat.muscle.parameters.names import Location
from myoquat.muscle.parameters.pairs import check_pairs

__all__ = ["check_rows"]

Bind = Callable[[Array], Model | ArticulatedSystem]  # the model with the numbers of one row, or what its checks raise


def check_rows(
    model: Model | ArticulatedSystem, names: Sequence[str], locations: Sequence[Location], rows: Array, bind: Bind
) -> None:
    """ValueError or ModelError for the first of the rows (samples, n) of parameter values that the model refuses."""
    if not rows.size:
        return
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"sample {i}: parameter {names[j]!r} is {rows[i, j]}; finite numbers are needed")
    _check_groups(model, locations, rows, bind)
    first = _check_row(rows, 0, bind)

    def near(row: Array) -> Model | ArticulatedSystem:
        """The model of a row, from that of the first row: only what differs is made again."""
        changed = {locations[k].steps: float(row[k]) for k in np.flatnonzero(row != rows[0]).tolist()}
        found: Model | ArticulatedSystem = with_values(first, changed) if changed else first
        return found

    for i in sorted({*rows.argmin(axis=0).tolist(), *rows.argmax(axis=0).tolist()}):
        _check_row(rows, i, near)
    check_pairs(model, locations, rows, near)


def _check_row(rows: Array, i: int, bind: Bind) -> Model | ArticulatedSystem:
    try:
        return bind(rows[i])
    except ValueError as error:
        raise ValueError(f"sample {i}: {error}") from error


def _check_groups(model: Model | ArticulatedSystem, locations: Sequence[Location], rows: Array, bind: Bind) -> None:
    """Whole inertias and quaternions of every sample; a wrong one is bound, which raises the error."""
    for steps, numbers in _groups(locations).items():
        whole = _completed(model, steps, numbers, rows)
        for i in np.flatnonzero(~_REGULAR[str(steps[-1])](system_of(model), whole))[:1]:
            _check_row(rows, int(i), bind)


def _groups(locations: Sequence[Location]) -> dict[tuple[str | int, ...], list[tuple[int, int]]]:
    """The vectors whose entries depend on each other: where they stand -> (which entry, which parameter)."""
    groups: dict[tuple[str | int, ...], list[tuple[int, int]]] = {}
    for k, location in enumerate(locations):
        if len(location.steps) > 1 and location.steps[-2] in _REGULAR:
            groups.setdefault(location.steps[:-1], []).append((int(location.steps[-1]), k))
    return groups


def _completed(
    model: Model | ArticulatedSystem, steps: tuple[str | int, ...], numbers: list[tuple[int, int]], rows: Array
) -> Array:
    """(samples, size) the vector at `steps` in every sample."""
    vector: Any = model
    for step in steps:
        vector = getattr(vector, step) if isinstance(step, str) else vector[step]
    vector = system_of(model).neutral() if vector is None else np.array(vector, dtype=float)
    whole = np.tile(vector, (len(rows), 1))
    for entry, k in numbers:
        whole[:, entry] = rows[:, k]
    return whole


def _possible(system: ArticulatedSystem, inertia: Array) -> Array:
    """Where principal moments are not negative and satisfy the triangle inequality, as `check_inertia` asks."""
    a, b, c = np.linalg.eigvalsh(full(inertia)).T
    possible: Array = (a >= -INERTIA_TOLERANCE * np.maximum(c, 0.0)) & (c - b - a <= INERTIA_TOLERANCE * c)
    return possible


def _unit(system: ArticulatedSystem, Q: Array) -> Array:
    unit: Array = np.abs(np.sqrt(np.sum(Q * Q, axis=-1)) - 1) <= UNIT_TOLERANCE
    return unit


def _unit_parts(system: ArticulatedSystem, q: Array) -> Array:
    slices = system.quaternion_slices()
    return np.all([_unit(system, q[:, s]) for s in slices], axis=0) if slices else np.ones(len(q), dtype=bool)


_REGULAR = {"inertia": _possible, "orientation": _unit, "start_q": _unit_parts}
