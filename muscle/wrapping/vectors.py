"""Products and planes of vectors (..., 3)."""

from typing import Any

import numpy as np

from myoquat.joints.vectors import cross, dot

__all__ = ["dot", "plane_of", "project", "scaled"]


def plane_of(A: Any, B: Any) -> tuple[Any, Any]:
    """(..., 3) two orthonormal directions of the plane through A, B and the origin, the first along A.

    Where A and B lie on one line through the origin every plane would do, and one is taken.
    """
    n = cross(A, B)
    plane = dot(n, n) > 0
    A = np.where((dot(A, A) > 0)[..., None], A, np.array([1.0, 0.0, 0.0]))
    n = np.where(plane[..., None], n, cross(A, _least_along(A)))
    side = cross(n, A)
    return scaled(A), scaled(side)


def _least_along(A: Any) -> Any:
    """(..., 3) the axis that is least along A, so that a plane through both exists."""
    x, y, z = (A[..., i, None] * A[..., i, None] for i in range(3))
    ex, ey, ez = np.eye(3)
    return np.where((x <= y) & (x <= z), ex, np.where(y <= z, ey, ez))


def scaled(v: Any) -> Any:
    """v as a unit vector."""
    return v / np.sqrt(np.sum(v * v, axis=-1))[..., None]


def project(x: Any, e1: Any, e2: Any) -> tuple[Any, Any]:
    """The components of x in the plane of two directions."""
    return dot(e1, x), dot(e2, x)
