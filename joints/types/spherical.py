"""The spherical (ball-and-socket) joint, described by a unit quaternion."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joints._layout import components, matrix, vector
from joints.quaternion import quaternion_multiply, random_quaternions, rotation_matrix
from joints.types.base import Joint

__all__ = ["SphericalJoint"]


@dataclass(frozen=True)
class SphericalJoint(Joint):
    """q = Q (4), u = omega (3) [rad/s] of the child relative to the parent, in child-frame components.

    `sequence` is the Euler sequence in which the joint is shown and compared, where somebody asks for angles;
    `extension` is how R(Q) continues off the unit sphere (see `joints.rotation_matrix`).
    """

    kind: ClassVar[str] = "spherical"
    nq: ClassVar[int] = 4
    nu: ClassVar[int] = 3
    coordinate_suffixes: ClassVar[tuple[str, ...]] = ("Q0", "Q1", "Q2", "Q3")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("omega_x", "omega_y", "omega_z")
    sequence: str = "YZY"
    extension: str = "polynomial"

    def transform(self, q: Any) -> tuple[Any, Any]:
        return rotation_matrix(q, self.extension), np.zeros(3)

    def displaced(self, q: Any, motion: Any) -> Any:
        x, y, z = components(motion)
        return quaternion_multiply(q, vector([1.0 + 0.0 * x, x / 2, y / 2, z / 2]))

    def moved(self, R_frame: Any, q: Any, motion: Any) -> tuple[Any, Any]:
        """R(Q) (I + [motion x]): the derivative does not pass through Q."""
        R, p = self.transform(q)
        x, y, z = components(motion)
        return (R_frame @ R) @ matrix([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]]), R_frame @ p

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return random_quaternions(n, rng)
