"""Vectors and matrices of mechanics on their last axes: the few operations of which the recursions are made.

Arrays with leading batch axes, floats or symbols. A symmetric matrix is kept as its six entries (..., 6) in the order
xx, yy, zz, xy, xz, yz, so that a symbol's trace computes each entry once.
"""

from typing import Any

import numpy as np

from myoquat.kernels.arrays import as_array

__all__ = [
    "axis_turn",
    "congruent",
    "cross",
    "dot",
    "full",
    "mirrored",
    "product_upper",
    "row_cross",
    "skew",
    "steiner",
    "symmetric_times",
    "turn",
    "turn_back",
    "upper",
]

ROWS = [0, 1, 2, 0, 0, 1]  # of the six entries
COLUMNS = [0, 1, 2, 1, 2, 2]
_FULL = [0, 3, 4, 3, 1, 5, 4, 5, 2]  # which of the six each of the nine is
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


def turn(R: Any, v: Any) -> Any:
    """(..., 3) R v."""
    return np.sum(R * v[..., None, :], axis=-1)


def turn_back(R: Any, v: Any) -> Any:
    """(..., 3) R^T v."""
    return np.sum(R * v[..., :, None], axis=-2)


def dot(a: Any, b: Any) -> Any:
    """(...) a . b."""
    return np.sum(a * b, axis=-1)


def cross(a: Any, b: Any) -> Any:
    """(..., 3) a x b."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def row_cross(a: Any, M: Any) -> Any:
    """(..., 3, n) [a x] M: a crossed with every column of M (..., 3, n)."""
    return a[..., _NEXT, None] * M[..., _LAST, :] - a[..., _LAST, None] * M[..., _NEXT, :]


def skew(a: Any) -> Any:
    """(..., 3, 3) [a x], so that [a x] b = a x b."""
    return row_cross(a, np.eye(3))


def full(S: Any) -> Any:
    """(..., 3, 3) symmetric matrix of its six entries (..., 6)."""
    return S[..., _FULL].reshape((*S.shape[:-1], 3, 3))


def upper(M: Any) -> Any:
    """(..., 6) the six entries of a symmetric M (..., 3, 3)."""
    return M[..., ROWS, COLUMNS]


def mirrored(M: Any) -> Any:
    """(..., n, n) M with its upper triangle below the diagonal too: symmetric to the last bit."""
    i, j = np.indices(M.shape[-2:])
    return M[..., np.minimum(i, j), np.maximum(i, j)]


def symmetric_times(S: Any, v: Any) -> Any:
    """(..., 3) S v for S (..., 6)."""
    return turn(full(S), v)


def product_upper(A: Any, B: Any) -> Any:
    """(..., 6) A B^T for A, B (..., 3, n) whose product is symmetric."""
    return np.sum(A[..., ROWS, :] * B[..., COLUMNS, :], axis=-1)


def congruent(R: Any, S: Any) -> Any:
    """(..., 6) R S R^T."""
    return product_upper(R @ full(S), R)


def steiner(c: Any, m: Any) -> Any:
    """(..., 6) m (|c|^2 1 - c c^T): the inertia of a point mass m at c about the origin."""
    squares = c * c
    diagonal = squares[..., _NEXT] + squares[..., _LAST]
    mixed = -c[..., [0, 0, 1]] * c[..., [1, 2, 2]]
    return np.concatenate([diagonal, mixed], axis=-1) * as_array(m)[..., None]


def axis_turn(axis: Any, angle: Any, frame: Any = None) -> Any:
    """(..., 3, 3) F R: R a turn by angle (...) [rad] about a constant unit axis (3,), F = `frame` or the identity.

    F R = F a a^T + cos F (1 - a a^T) + sin F [a x]: three constant matrices, whatever the axis and F.
    """
    a = np.asarray(axis, dtype=float)
    F = np.eye(3) if frame is None else frame
    along = np.outer(a, a)
    c, s = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    return F @ along + c * (F @ (np.eye(3) - along)) + s * (F @ skew(a))
