"""Rotations about successive axes: what Euler, universal and custom joints share.

R = R(a1, t1) R(a2, t2) ...: each axis a_k (3,) is fixed in the frame that the rotations before it have reached. In
child components the axes are b_k = (R(a_k+1) ... )^T a_k, and omega = sum b_k tdot_k.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.vectors import axis_angle_matrix, cross, vecmat

__all__ = ["Vector3", "angular_drift", "child_axes", "successive_rotations"]

Vector3 = tuple[float, float, float]


def successive_rotations(axes: Sequence[Vector3], angles: Sequence[Array], frame: Array | None = None) -> Array:
    """(..., 3, 3) frame R(a1, t1) R(a2, t2) ...; angles of shape (...) each."""
    R: Array = np.eye(3) if frame is None else frame
    for k, (axis, angle) in enumerate(zip(axes, angles, strict=True)):
        R = axis_angle_matrix(axis, angle, R) if k == 0 else R @ axis_angle_matrix(axis, angle)
    return R


def child_axes(axes: Sequence[Vector3], angles: Sequence[Array]) -> list[Array]:
    """The axes b_k (..., 3) in child components."""
    seen: list[Array] = []
    for axis, angle in zip(axes, angles, strict=True):
        if seen:
            R = axis_angle_matrix(axis, angle)
            seen = [vecmat(b, R) for b in seen]
        seen.append(np.asarray(axis, dtype=float))
    return seen


def angular_drift(axes: Sequence[Array], rates: Sequence[Array]) -> Array:
    """(..., 3) rate of omega (child components) at constant tdot: sum over j < k of b_j tdot_j x b_k tdot_k.

    `axes` are the b_k, `rates` the tdot_k of shape (...).
    """
    omega, drift = np.zeros(3), np.zeros(3)
    for b, rate in zip(axes, rates, strict=True):
        step = b * rate[..., None]
        drift = drift + cross(omega, step)
        omega = omega + step
    return drift
