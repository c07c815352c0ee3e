"""Turns about successive axes: what Euler, universal and custom joints share.

R = R(a1, t1) R(a2, t2) ...: each axis a_k (3,) is fixed in the frame that the turns before it have reached. In child
components the axes are b_k = (R(a_k+1) ... )^T a_k, and omega = sum b_k tdot_k.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.joints.vectors import axis_turn, cross, turn_back

__all__ = ["child_axes", "turned", "turning_drift"]


def turned(axes: Sequence[Any], angles: Sequence[Any], frame: Any = None) -> Any:
    """(..., 3, 3) frame R(a1, t1) R(a2, t2) ...; angles of shape (...) each."""
    R: Any = np.eye(3) if frame is None else frame
    for k, (axis, angle) in enumerate(zip(axes, angles, strict=True)):
        R = axis_turn(axis, angle, R) if k == 0 else R @ axis_turn(axis, angle)
    return R


def child_axes(axes: Sequence[Any], angles: Sequence[Any]) -> list[Any]:
    """The axes b_k (..., 3) in child components."""
    seen: list[Any] = []
    for axis, angle in zip(axes, angles, strict=True):
        R = axis_turn(axis, angle) if seen else None
        seen = [turn_back(R, b) for b in seen] + [np.asarray(axis, dtype=float)]
    return seen


def turning_drift(axes: Sequence[Any], rates: Sequence[Any]) -> Any:
    """(..., 3) rate of omega (child components) at constant tdot: sum over j < k of b_j tdot_j x b_k tdot_k.

    `axes` are the b_k, `rates` the tdot_k of shape (...).
    """
    omega, drift = np.zeros(3), np.zeros(3)
    for b, rate in zip(axes, rates, strict=True):
        step = b * rate[..., None]
        drift = drift + cross(omega, step)
        omega = omega + step
    return drift
