"""Steps of least squares along constraints, as formulas without branches.

With constraints phi(q) = 0 and A = d phi / dv, a step solves

    minimise  v^T N v / 2 - f^T v   subject to   A v = -phi

in the metric of N = L^T D L: with Z = D^-1/2 L^-T A^T and g = D^-1/2 L^-T f, the step is v = L^-1 D^-1/2 (g - x). Here
x is the least vector with Z^T x = Z^T g + phi [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., Springer
2006, eq. 16.4]. `myoquat.dynamics.rows` finds it, also where rows depend on each other.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.factor import ascended, descended, factor
from myoquat.dynamics.rows import Rows, pose_tolerance
from myoquat.joints.vectors import dot, vecmat

__all__ = ["Step", "constrained_step", "least_pivot", "multipliers"]

VIOLATION_WEIGHT = 100.0  # of the squared distance x^T x of phi in the merit of a pose, which rejects poses off phi = 0


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


def least_pivot(F: Array) -> Array:
    """(...) the least 1/D of a factor F (..., n, n) of `myoquat.dynamics.factor`; it has the sign of the least D."""
    return reduce(np.minimum, [F[..., k, k] for k in range(F.shape[-1])])


def multipliers(A: Array, f: Array, open_: Array) -> Array:
    """(..., k) the lambda for which f - A^T lambda (..., n) is least in the squares of the entries whose open_ is 1."""
    return Rows((A * open_[..., None, :]).mT).multipliers(f * open_)


def constrained_step(order: list[tuple[int, list[int]]], N: Array, f: Array, A: Array, phi: Array) -> Step:
    """The step under linearised constraints A v = -phi.

    N (..., n, n) is the normal matrix, already damped, f (..., n) the force, A (..., k, n) and phi (..., k) those of
    the constraints.

    The part of v across the constraints comes from the least x with Z^T x = phi. The cost is expected to change by
    2 g . x + x . x along it.
    """
    F = factor(order, N)
    half = descended(order, F, np.concatenate([f[..., None], A.mT], axis=-1))
    inverse = np.stack([F[..., k, k] for k in range(f.shape[-1])], axis=-1)
    positive = inverse > 0  # else the step is rejected
    root = np.sqrt(np.where(positive, inverse, 1.0))
    scaled = half * root[..., None]
    g, Z = scaled[..., 0], scaled[..., 1:]
    rows = Rows(Z, pose_tolerance(phi, A))
    across = rows.motion(phi)
    along = g - rows.motion(vecmat(g, Z) + phi)
    v = ascended(order, F, (along / root)[..., None])[..., 0]
    return Step(v, f, dot(2 * g + VIOLATION_WEIGHT * across, across), least_pivot(F))
