"""Axes of joints, checked and brought to unit length, and what joints with one axis share."""

import math
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass, unchecked
from myoquat.core.typing import Array
from myoquat.joints.types.base import CoordinateJoint

__all__ = ["AxisJoint", "DirectedJoint", "perpendiculars", "unit_axis"]


@dataclass(frozen=True)
class AxisJoint(CoordinateJoint):
    """A joint with one `axis`, the same in joint and child frame, kept at unit length; ValueError for a bad one."""

    constants: ClassVar[tuple[str, ...]] = ("axis",)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", unit_axis(self.axis))


class DirectedJoint(AxisJoint):
    """An AxisJoint whose formulas take any axis, symbols among them."""

    @property
    def pattern(self) -> Hashable:
        """The type, and which components of the axis are zero: along an axis of the frame formulas are shorter."""
        return type(self), tuple(x == 0.0 for x in self.axis)

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.axis

    def with_numbers(self, numbers: Array) -> "DirectedJoint":
        joint: DirectedJoint = unchecked(self, {"axis": numbers})
        return joint


def unit_axis(axis: Sequence[float]) -> tuple[float, float, float]:
    """The axis at length 1, unchanged if it already is; ValueError for zero length, NaN or a wrong size."""
    values = tuple(float(x) for x in axis)
    if len(values) != 3 or not all(math.isfinite(x) for x in values):
        raise ValueError(f"an axis must be three finite numbers, not {tuple(axis)}")
    length = math.hypot(*values)
    if length == 0.0:
        raise ValueError("an axis must not have length zero")
    x, y, z = values if abs(length - 1.0) < 1e-15 else (v / length for v in values)
    return x, y, z


def perpendiculars(axis: Sequence[float]) -> tuple[Array, Array]:
    """(3,), (3,) unit vectors e1, e2 that make (e1, e2, axis) right-handed; x and y for the z axis."""
    a = np.asarray(axis, dtype=float)
    start = (0.0, 1.0, 0.0) if abs(a[1]) < 0.9 else (0.0, 0.0, 1.0)
    e1 = np.cross(start, a)
    e1 = e1 / np.linalg.norm(e1)
    return e1 + 0.0, np.cross(a, e1) + 0.0
