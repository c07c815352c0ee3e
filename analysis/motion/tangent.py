"""Steps of least squares along constraints, as formulas without branches.

With constraints phi(q) = 0 and A = d phi / dv, a step solves

    minimise  v^T N v / 2 - f^T v   subject to   A v = -phi

by its range-space equations [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., Springer 2006, eq. 16.17], with
S = A N^-1 A^T. Its rows are scaled to a unit diagonal and factored without pivoting. Rows that those before them imply
have a pivot of round-off and are left out, and so are rows of zeros.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.factor import Factors, ascended, descended, factor
from myoquat.joints.vectors import dot, matvec, vecmat

__all__ = ["Step", "constrained_step", "least_pivot", "multipliers", "solve_implied"]

REDUNDANT_PIVOT = 1e-12  # pivot of a row, of its diagonal entry, below which the rows before it imply it
NO_ROW = 1e-24  # of the greatest diagonal entry, below which a row is zero
VIOLATION_WEIGHT = 100.0  # of phi^T S^-1 phi in the merit of a pose, so that poses off the constraints are rejected


class Step(NamedTuple):
    """A step along the constraints and across them.

    v       (..., n) the step
    force   (..., n) the force that remains along the constraints
    change  (...) of the cost, as expected from the part of the step across the constraints
    pivot   (...) the least one of the step's matrix, which is positive definite if it is above zero
    """

    v: Array
    force: Array
    change: Array
    pivot: Array


def solve_implied(S: Array, B: Array) -> Array:
    """(..., k, m) S^-1 B of a symmetric positive semi-definite S (..., k, k), zero in rows that those before them
    imply."""
    k = S.shape[-1]
    diagonal = [S[..., i, i] for i in range(k)]
    least = NO_ROW * reduce(np.maximum, diagonal)
    scale = [np.where(d > least, 1.0 / np.sqrt(np.where(d > least, d, 1.0)), 0.0) for d in diagonal]
    lower = [[(S[..., i, j] * (scale[i] * scale[j]))[..., None] for j in range(i + 1)] for i in range(k)]
    found = Factors(lower, REDUNDANT_PIVOT).solve([B[..., i, :] * scale[i][..., None] for i in range(k)])
    return np.stack([row * s[..., None] for row, s in zip(found, scale, strict=True)], axis=-2)


def least_pivot(F: Array) -> Array:
    """(...) the least 1/D of a factor F (..., n, n) of `myoquat.dynamics.factor`; it has the sign of the least D."""
    least: Array = reduce(np.minimum, [F[..., k, k] for k in range(F.shape[-1])])
    return least


def multipliers(A: Array, f: Array, open_: Array) -> Array:
    """(..., k) the lambda for which f - A^T lambda (..., n) is least in the squares of the entries whose open_ is 1."""
    masked = A * open_[..., None, :]
    found: Array = solve_implied(masked @ np.swapaxes(A, -1, -2), matvec(masked, f)[..., None])[..., 0]
    return found


def constrained_step(order: list[tuple[int, list[int]]], N: Array, f: Array, A: Array, phi: Array) -> Step:
    """The step under linearised constraints A v = -phi.

    N (..., n, n) is the normal matrix, already damped, f (..., n) the force, A (..., k, n) and phi (..., k) those of
    the constraints.

    The part of v across the constraints is v_n = -N^-1 A^T S^-1 phi. The cost is expected to change by -2 f . v_n +
    v_n^T N v_n along it.
    """
    F = factor(order, N)
    half = descended(order, F, np.concatenate([f[..., None], np.swapaxes(A, -1, -2)], axis=-1))
    inverse = np.stack([F[..., k, k] for k in range(f.shape[-1])], axis=-1)
    Y = np.swapaxes(half[..., 1:], -1, -2)
    weighted = Y * inverse[..., None, :]
    S, free = weighted @ np.swapaxes(Y, -1, -2), matvec(weighted, half[..., 0])
    found = solve_implied(S, np.stack([free + phi, phi], axis=-1))
    v = ascended(order, F, (half[..., 0] - vecmat(found[..., 0], Y))[..., None])[..., 0]
    across = found[..., 1]
    return Step(v, f, dot(2 * free + VIOLATION_WEIGHT * phi, across), least_pivot(F))
