"""Products and planes of vectors (..., 3)."""

from functools import cache, reduce

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import cross, dot

gauss_nodes = cache(np.polynomial.legendre.leggauss)  # NumPy solves for them at every call


def pair(A: Array, B: Array) -> Array:
    """(..., 2, n) two vectors (..., n), with the batch axes of both."""
    return np.stack(np.broadcast_arrays(A, B, subok=True), axis=-2)


def with_batch(x: Array, batch: tuple[int, ...], axes: int = 1) -> Array:
    """An array with these batch axes; the last `axes` are its own."""
    return np.broadcast_to(x, (*batch, *x.shape[x.ndim - axes :]), subok=True)


def plane_of(A: Array, B: Array) -> Array:
    """(..., 2, 3) two orthonormal directions of the plane through A, B and the origin, the first along A.

    Where A and B lie on one line through the origin every plane would do, and one is taken.
    """
    n = cross(A, B)
    plane = dot(n, n) > 0
    A = np.where((dot(A, A) > 0)[..., None], A, np.array([1.0, 0.0, 0.0]))
    n = np.where(plane[..., None], n, cross(A, _least_along(A)))
    side = cross(n, A)
    return pair(unit(A), unit(side))


def _least_along(A: Array) -> Array:
    """(..., 3) the axis that is least along A, so that a plane through both exists."""
    x, y, z = (A[..., i, None] * A[..., i, None] for i in range(3))
    ex, ey, ez = np.eye(3)
    return np.where((x <= y) & (x <= z), ex, np.where(y <= z, ey, ez))


def size(v: Array) -> Array:
    """(...) the length of v (..., 3)."""
    result: Array = np.sqrt(dot(v, v))
    return result


def unit(v: Array) -> Array:
    """v as a unit vector."""
    result: Array = v / size(v)[..., None]
    return result


def direction(v: Array) -> Array:
    """v as a unit vector; zero stays zero."""
    square = dot(v, v)
    result: Array = v / np.sqrt(np.where(square > 0, square, 1.0))[..., None]
    return result


def always(like: Array) -> Array:
    """(...) a condition that holds, for all states of a batch that an array (...) has."""
    result: Array = np.ones(np.shape(like)) > 0
    return result


def differ(a: Array, b: Array) -> Array:
    """(...) whether one of two conditions holds without the other."""
    return (a & ~b) | (~a & b)


def any_exceeds(x: Array, limit: float) -> Array:
    """(...) whether one of the numbers x (..., n) exceeds a limit in magnitude; one that is NaN does not."""
    result: Array = reduce(np.logical_or, [np.abs(x[..., i]) > limit for i in range(x.shape[-1])])
    return result


def nearest(A: Array, B: Array) -> Array:
    """(..., 3) the point between A and B that is nearest to the origin."""
    d = B - A
    square = dot(d, d)
    share = np.minimum(np.maximum(-dot(A, d) / np.where(square > 0, square, 1.0), 0.0), 1.0)
    result: Array = A + share[..., None] * d
    return result
