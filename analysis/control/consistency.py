"""Constraints of a model at the start that other conditions imply already: fixed poses, and periodicity."""

import numpy as np

from myoquat.analysis.control.discretization import Discretization
from myoquat.core.typing import Array

__all__ = ["independent_limits"]

START_TOLERANCE = 1e-6  # [m, rad, m/s, rad/s] by which a fixed start may miss the constraints
INDEPENDENT_PART = 1e-8  # of a row, relative to its norm, that no row before it has


def independent_limits(discretization: Discretization, x: Array, bounds: Array, limits: Array) -> Array:
    """The limits (m, 2) of the constraints, with rows of the start relaxed where they repeat others.

    A fixed start satisfies the constraints by itself. A start that equals the end of the motion satisfies them by the
    rows of the end. Rows that repeat others would make the multipliers undetermined. Raises ValueError, with the name
    of the constraint, where the start is fixed off it by more than 1e-6.
    """
    rows = discretization.start_rows
    if not len(rows):
        return limits
    free = bounds[:, 0] < bounds[:, 1]
    others = _other_rows(discretization)
    J = _dense(discretization, x, np.concatenate([others, rows]))
    own = J[len(others) :]
    ends = _end_unknowns(discretization, free)
    repeated = _repeated(J[: len(others), ends], own[:, ends])
    fixed = np.all(own[:, free] == 0, axis=1)
    _check(discretization, x, rows[repeated & fixed])
    relaxed = limits.copy()
    relaxed[rows[repeated]] = -np.inf, np.inf
    return relaxed


def _dense(discretization: Discretization, x: Array, rows: Array) -> Array:
    """(k, size) rows of the Jacobian of the constraints."""
    program, pattern = discretization.program, discretization.program.jacobian_pattern
    values = np.zeros(len(pattern.rows))
    program.jacobian(x, values)
    columns = np.repeat(np.arange(program.size), np.diff(pattern.columns))
    order = np.full(program.rows, -1)
    order[rows] = np.arange(len(rows))
    found, there = np.zeros((len(rows), program.size)), order[pattern.rows] >= 0
    found[order[pattern.rows[there]], columns[there]] = values[there]
    return found


def _other_rows(discretization: Discretization) -> Array:
    """The rows that may imply those of the start: constraints of the model at the end, and of the boundary."""
    names = np.array(discretization.rows.names, dtype=object)
    fractions = np.array(discretization.rows.fractions)
    held = set(discretization.statement.plant.state_row_names)
    of_end = np.array([name in held for name in names])
    of_end[discretization.start_rows] = False
    last = of_end & (fractions == np.max(fractions[of_end]))
    return np.flatnonzero(last | np.isnan(fractions))


def _end_unknowns(discretization: Discretization, free: Array) -> Array:
    """The free unknowns of pose and velocity at both ends."""
    ends = np.unique(np.concatenate([discretization.index[f][[0, -1]].ravel() for f in ("z", "u")]))
    found: Array = ends[free[ends]]
    return found


def _repeated(others: Array, own: Array) -> Array:
    """Which rows of `own` those of `others` and the rows before them imply."""
    _, size, directions = np.linalg.svd(others, full_matrices=False)
    known = directions[size > INDEPENDENT_PART * max(1.0, float(size.max(initial=0.0)))]
    repeated = np.zeros(len(own), dtype=bool)
    for k, row in enumerate(own):
        left = row - known.T @ (known @ row)
        left -= known.T @ (known @ left)
        repeated[k] = np.linalg.norm(left) <= INDEPENDENT_PART * max(float(np.linalg.norm(row)), 1.0)
        if not repeated[k]:
            known = np.vstack([known, left / np.linalg.norm(left)])
    return repeated


def _check(discretization: Discretization, x: Array, rows: Array) -> None:
    missed = np.abs(discretization.program.constraints(x)[rows])
    if len(missed) and not missed.max() <= START_TOLERANCE:
        k = int(np.argmax(missed))
        raise ValueError(
            f"initial: the start misses the {discretization.rows.names[rows[k]]} by {missed[k]:.3g}; "
            "dynamics.constraints.assemble moves a pose onto the constraints"
        )
