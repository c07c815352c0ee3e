"""Vectors and matrices of mechanics on their last axes: the few operations of which the recursions are made.

Arrays with leading batch axes, floats or symbols. A symmetric matrix is kept as its six entries (..., 6) in the order
xx, yy, zz, xy, xz, yz. A trace of symbols therefore computes each entry once.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from myoquat.core import Array, ArrayLike
from myoquat.kernels import Argument, as_array

ROWS = [0, 1, 2, 0, 0, 1]  # of the six entries
COLUMNS = [0, 1, 2, 1, 2, 2]
_FULL = [0, 3, 4, 3, 1, 5, 4, 5, 2]  # which of the six each of the nine is
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


def axial(R: Array) -> Array:
    """(..., 3) the axial vector of R (..., 3, 3): the axis of a rotation times the sine of its angle."""
    return np.stack([(R[..., k, j] - R[..., j, k]) / 2 for j, k in ((1, 2), (2, 0), (0, 1))], axis=-1)


def matvec(A: Array, x: Array) -> Array:
    """(..., m) matrices A (..., m, n) times vectors x (..., n), batch axes broadcast."""
    return np.sum(A * x[..., None, :], axis=-1)


def vecmat(x: Array, A: Array) -> Array:
    """(..., n) row vectors x (..., m) times matrices A (..., m, n): A^T x, batch axes broadcast."""
    return np.sum(A * x[..., :, None], axis=-2)


def dot(a: Array, b: Array) -> Array:
    """(...) a . b."""
    return np.sum(a * b, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """(..., 3) a x b."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def row_cross(a: Array, M: Array) -> Array:
    """(..., 3, n) [a x] M: a crossed with every column of M (..., 3, n)."""
    return a[..., _NEXT, None] * M[..., _LAST, :] - a[..., _LAST, None] * M[..., _NEXT, :]


def skew(a: Array) -> Array:
    """(..., 3, 3) [a x], so that [a x] b = a x b."""
    return row_cross(a, np.eye(3))


def full(S: Array) -> Array:
    """(..., 3, 3) symmetric matrix of its six entries (..., 6)."""
    return S[..., _FULL].reshape((*S.shape[:-1], 3, 3))


def upper(M: Array) -> Array:
    """(..., 6) the six entries of a symmetric M (..., 3, 3)."""
    return M[..., ROWS, COLUMNS]


def mirrored(M: Array) -> Array:
    """(..., n, n) M with its upper triangle below the diagonal too: symmetric to the last bit."""
    i, j = np.indices(M.shape[-2:])
    return M[..., np.minimum(i, j), np.maximum(i, j)]


def symmetric_times(S: Array, v: Array) -> Array:
    """(..., 3) S v for S (..., 6)."""
    return matvec(full(S), v)


def product_upper(A: Array, B: Array) -> Array:
    """(..., 6) A B^T for A, B (..., 3, n) whose product is symmetric."""
    return np.sum(A[..., ROWS, :] * B[..., COLUMNS, :], axis=-1)


def congruent(R: Array, S: Array) -> Array:
    """(..., 6) R S R^T."""
    return product_upper(R @ full(S), R)


def steiner(c: Array, m: ArrayLike) -> Array:
    """(..., 6) m (|c|^2 1 - c c^T): the inertia of a point mass m at c about the origin."""
    squares = c * c
    diagonal = squares[..., _NEXT] + squares[..., _LAST]
    mixed = -c[..., [0, 0, 1]] * c[..., [1, 2, 2]]
    return np.concatenate([diagonal, mixed], axis=-1) * as_array(m)[..., None]


def axis_angle_matrix(axis: ArrayLike, angle: Array, frame: Array | None = None) -> Array:
    """(..., 3, 3) F R: R a rotation by angle (...) [rad] about a unit axis (3,), F = `frame` or the identity.

    F R = F a a^T + cos F (1 - a a^T) + sin F [a x]: three constant matrices, whatever the axis and F.
    """
    a = as_array(axis)
    F = np.eye(3) if frame is None else frame
    along = a[:, None] * a
    c, s = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    return F @ along + c * (F @ (np.eye(3) - along)) + s * (F @ skew(a))


# ---- Taking arrays apart and putting them together along their last axes ------------------------------------------


QUATERNION = Argument((4,), nonzero=True)
VECTOR3 = Argument((3,))
MATRIX3 = Argument((3, 3))


def prescaled(array: Array) -> Array:
    """Float vectors (..., n) times a power of two, exactly, so that no square overflows or vanishes; symbols as is."""
    if array.dtype != np.float64:
        return array
    return array / np.exp2(np.floor(np.log2(np.abs(array).max(axis=-1, keepdims=True))))


def components(array: ArrayLike) -> tuple[Array, ...]:
    """The components along the last axis, each with the batch shape."""
    return tuple(np.moveaxis(as_array(array), -1, 0))


def vector(entries: Iterable[ArrayLike]) -> Array:
    """(..., n) from n components of one batch shape or numbers."""
    entries = tuple(entries)
    if len({np.shape(entry) for entry in entries}) == 1:  # NumPy's broadcasting costs several times the stacking
        return np.stack(entries, axis=-1)
    return np.stack(np.broadcast_arrays(*entries, subok=True), axis=-1)


def rows_of(rows: Iterable[Array]) -> Array:
    """(..., k, n) k rows (..., n) of possibly different batch shapes."""
    return np.stack(np.broadcast_arrays(*rows, subok=True), axis=-2)


def spread(*arrays: Array, axes: int = 1) -> list[Array]:
    """The arrays over their common batch axes; the last `axes` of each are its own."""
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - axes] for x in arrays))
    return [np.broadcast_to(x, (*batch, *x.shape[x.ndim - axes :]), subok=True) for x in arrays]


def joined(parts: Sequence[Array]) -> Array:
    """(..., n) parts of possibly different batch shapes, one after the other along the last axis."""
    same = len({part.shape[:-1] for part in parts}) == 1
    return np.concatenate(parts if same else spread(*parts), axis=-1)


def joined_matrices(parts: Sequence[Array], axis: int = -1) -> Array:
    """Matrices (..., m, k) of possibly different batch shapes side by side, or with axis -2 below each other."""
    return np.concatenate(spread(*parts, axes=2), axis=axis)


def block_diagonal(blocks: Sequence[Array]) -> Array:
    """Matrices (..., m, k) along the diagonal of one, zero elsewhere."""
    width, start, rows = sum(block.shape[-1] for block in blocks), 0, []
    for block in blocks:
        m, k = block.shape[-2:]
        rows.append(joined_matrices([np.zeros((m, start)), block, np.zeros((m, width - start - k))]))
        start += k
    return joined_matrices(rows, -2)


def matrix(rows: Sequence[Sequence[ArrayLike]]) -> Array:
    """(..., m, n) from rows of components of one batch shape or numbers."""
    width = len(rows[0])
    flat = vector([entry for row in rows for entry in row])
    return flat.reshape((*flat.shape[:-1], len(rows), width))


def transpose(array: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(array, -1, -2)


def inverse_columns(B: Array) -> Array:
    """(..., 3, 3) B^-1: its rows are the cross products of the columns of B over the determinant."""
    b1, b2, b3 = components(B)
    rows = np.stack([np.cross(b2, b3), np.cross(b3, b1), np.cross(b1, b2)], axis=-2)
    return rows / np.sum(b1 * np.cross(b2, b3), axis=-1)[..., None, None]
