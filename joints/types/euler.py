"""The same three rotations in an Euler sequence."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joints.euler import axes, euler_from_quaternion, rotation_matrix_from_euler
from joints.quaternion import random_quaternions
from joints.types.base import Joint

__all__ = ["EulerJoint"]


@dataclass(frozen=True)
class EulerJoint(Joint):
    """q = phi (3) [rad] of an intrinsic Euler sequence, u = phidot [rad/s]. Locks where its second angle says."""

    kind: ClassVar[str] = "euler"
    nq: ClassVar[int] = 3
    nu: ClassVar[int] = 3
    coordinate_suffixes: ClassVar[tuple[str, ...]] = ("p1", "p2", "p3")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("p1_dot", "p2_dot", "p3_dot")
    sequence: str = "YZY"

    def __post_init__(self) -> None:
        axes(self.sequence)

    def transform(self, q: Any) -> tuple[Any, Any]:
        return rotation_matrix_from_euler(q, self.sequence), np.zeros(3)

    def displaced(self, q: Any, motion: Any) -> Any:
        return q + motion

    def neutral(self) -> np.ndarray:
        return np.zeros(3)

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Uniform over the rotations, not over the angles."""
        return euler_from_quaternion(random_quaternions(n, rng), self.sequence)
