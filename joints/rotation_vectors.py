"""Rates of rotation vectors: the inverse of the derivative of the exponential map of rotations."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.vectors import cross

__all__ = ["rotation_vector_rate"]


def rotation_vector_rate(v: Array, omega: Array, in_child: bool = True) -> Array:
    """(..., 3) vdot of a rotation vector v (..., 3) [rad] at the angular velocity omega (..., 3) [rad/s] of the child.

    The components of omega are those of the child, with Q = Q0 exp(v), or of the parent, with Q = exp(v) Q0:

        vdot = omega +- v x omega / 2 + (1 - (a/2) cot(a/2)) / a^2 v x (v x omega),  a = |v| < 2 pi,

    with + for the child and - for the parent [A. Iserles et al., Lie-group methods, Acta Numerica 9, 2000, eq. 2.46].
    Smooth through v = 0, derivatives included; singular at a = 2 pi.
    """
    square = np.sum(v * v, axis=-1)[..., None]
    small = square < 0.01
    a = np.sqrt(np.where(small, 1.0, square))
    series = (1 + square / 60 * (1 + square / 42 * (1 + square / 40))) / 12
    ratio = (1 - a / 2 * np.cos(a / 2) / np.sin(a / 2)) / np.where(small, 1.0, square)
    turned = cross(v, omega)
    half = turned / 2 if in_child else -turned / 2
    result: Array = omega + half + np.where(small, series, ratio) * cross(v, turned)
    return result
