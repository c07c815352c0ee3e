"""The named angles of a ball joint: what a model file called its rotations before they became a quaternion."""

from dataclasses import dataclass

import numpy as np

from myoquat.joints.euler import euler_from_quaternion, quaternion_from_euler
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_from_matrix, quaternion_multiply
from myoquat.kernels.records import Record
from myoquat.kernels.typing import Array

__all__ = ["Angles"]

ORTHOGONAL = 1e-9  # cosine between two axes
Vector3 = tuple[float, float, float]


@dataclass(frozen=True)
class Angles(Record):
    """R = R(a1, f1) R(a2, f2) R(a3, f3), f_k = factor_k x_k + offset_k: rotations about orthogonal unit axes a_k of the
    joint frame, each after the ones before, by coordinates x = (x1, x2, x3) with `names`.

    With A = [a1 a2 a3], right-handed, A^T R A is the Euler sequence XYZ; a left-handed triple counts its third rotation
    backwards. Raises ValueError for axes that are not orthogonal unit vectors, or a factor of zero.
    """

    names: tuple[str, str, str]
    axes: tuple[Vector3, Vector3, Vector3]
    factors: Vector3 = (1.0, 1.0, 1.0)
    offsets: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        A = np.array(self.axes, dtype=float)
        if A.shape != (3, 3) or np.abs(A @ A.T - np.eye(3)).max() > ORTHOGONAL:
            raise ValueError(f"the axes of a ball joint's angles must be orthogonal unit vectors, not {self.axes}")
        if not all(self.factors):
            raise ValueError(f"the factors of a ball joint's angles must not be zero: {self.factors}")

    @property
    def _signs(self) -> Array:
        """(3,) the third rotation counts backwards in a left-handed triple."""
        return np.array([1.0, 1.0, np.sign(np.linalg.det(np.array(self.axes)))])

    @property
    def _frame(self) -> Array:
        """(3, 3) A, the right-handed frame along the axes as columns."""
        return np.array(self.axes).T * self._signs

    def quaternion(self, x: Array) -> Array:
        """(..., 4) Q of the coordinates x (..., 3) [rad]."""
        phi = self._signs * (x * np.array(self.factors) + np.array(self.offsets))
        frame = quaternion_from_matrix(self._frame)
        return quaternion_multiply(
            quaternion_multiply(frame, quaternion_from_euler(phi, "XYZ")), quaternion_conjugate(frame)
        )

    def are_of(self, sequence: str) -> bool:
        """Whether x is phi of an Euler sequence itself: the same axes in order, factors one and offsets zero."""
        plain = self.factors == (1.0, 1.0, 1.0) and self.offsets == (0.0, 0.0, 0.0)
        return plain and self.axes == tuple(tuple(np.eye(3)["XYZ".index(letter)].tolist()) for letter in sequence)

    def values(self, Q: Array) -> Array:
        """(..., 3) coordinates x [rad] of Q: angles f1, f3 in (-pi, pi], f2 in [-pi/2, pi/2]; only the sum or the
        difference of the outer ones is determined at the lock, f2 = +-pi/2, and one is then taken as zero."""
        frame = quaternion_from_matrix(self._frame)
        aligned = quaternion_multiply(quaternion_multiply(quaternion_conjugate(frame), Q), frame)
        phi = self._signs * euler_from_quaternion(aligned, "XYZ")
        result: Array = (phi - np.array(self.offsets)) / np.array(self.factors)
        return result
