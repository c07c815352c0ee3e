"""Checks of many values of parameters at once.

A model's checks are bounds on single numbers, so a sample that breaks one has a neighbour at the end of a column that
breaks it too: only the samples with the least and the greatest value of each parameter go through the constructors.
Inertias and unit quaternions, whose entries hang together, are checked in every sample, and bounds between two
parameters of one part of the model as well (`myoquat.muscle.parameters.pairs`).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.joints.body import INERTIA_TOLERANCE
from myoquat.joints.checks import UNIT_TOLERANCE
from myoquat.joints.vectors import full
from myoquat.muscle.parameters.pairs import check_pairs

if TYPE_CHECKING:
    from myoquat.muscle.parameters.parameters import Parameters

__all__ = ["check_rows"]


def check_rows(parameters: "Parameters", values: np.ndarray) -> None:
    """ValueError or ModelError for the first sample of values (..., n) that the model refuses."""
    rows = values.reshape(-1, len(parameters.names))
    if not rows.size:
        return
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"sample {i}: parameter {parameters.names[j]!r} is {rows[i, j]}; finite numbers are needed")
    _check_groups(parameters, rows)
    for i in sorted({*rows.argmin(axis=0).tolist(), *rows.argmax(axis=0).tolist()}):
        _check_row(parameters, rows, i)
    check_pairs(parameters.model, parameters.places, rows, parameters.bind)


def _check_row(parameters: "Parameters", rows: np.ndarray, i: int) -> None:
    try:
        parameters.bind(rows[i])
    except ValueError as error:
        raise ValueError(f"sample {i}: {error}") from error


def _check_groups(parameters: "Parameters", rows: np.ndarray) -> None:
    """Whole inertias and quaternions of every sample; the one found wanting is bound for its message."""
    for steps, numbers in _groups(parameters).items():
        whole = _completed(parameters, steps, numbers, rows)
        for i in np.flatnonzero(~_REGULAR[str(steps[-1])](parameters, whole))[:1]:
            _check_row(parameters, rows, int(i))


def _groups(parameters: "Parameters") -> dict[tuple[Any, ...], list[tuple[int, int]]]:
    """The vectors whose entries hang together: where they stand -> (which entry, which parameter)."""
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for k, place in enumerate(parameters.places):
        if len(place.steps) > 1 and place.steps[-2] in _REGULAR:
            groups.setdefault(place.steps[:-1], []).append((int(place.steps[-1]), k))
    return groups


def _completed(parameters: "Parameters", steps: Any, numbers: list[tuple[int, int]], rows: np.ndarray) -> np.ndarray:
    """(samples, size) the vector at `steps` in every sample."""
    vector: Any = parameters.model
    for step in steps:
        vector = getattr(vector, step) if isinstance(step, str) else vector[step]
    vector = parameters.system.neutral() if vector is None else np.array(vector, dtype=float)
    whole = np.tile(vector, (len(rows), 1))
    for entry, k in numbers:
        whole[:, entry] = rows[:, k]
    return whole


def _definite(parameters: "Parameters", inertia: np.ndarray) -> np.ndarray:
    principal = np.linalg.eigvalsh(full(inertia))
    return principal[:, 0] >= -INERTIA_TOLERANCE * np.maximum(principal[:, 2], 0.0)


def _unit(parameters: "Parameters", Q: np.ndarray) -> np.ndarray:
    return np.abs(np.sqrt(np.sum(Q * Q, axis=-1)) - 1) <= UNIT_TOLERANCE


def _unit_parts(parameters: "Parameters", q: np.ndarray) -> np.ndarray:
    slices = parameters.system.quaternion_slices()
    return np.all([_unit(parameters, q[:, s]) for s in slices], axis=0) if slices else np.ones(len(q), dtype=bool)


_REGULAR = {"inertia": _definite, "orientation": _unit, "start_q": _unit_parts}
