"""Three rotations in an Euler sequence."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.euler import (
    axes,
    euler_from_quaternion,
    euler_rate_inverse,
    euler_rate_matrix,
    rotation_matrix_from_euler,
)
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.stacking import components
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.base import CoordinateJoint, JointFacts
from myoquat.joints.types.successive import angular_drift
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["EulerJoint"]

FACTS = JointFacts(
    "euler",
    ("p1", "p2", "p3"),
    ("rad", "rad", "rad"),
    "successive axes of the sequence",
    ("p1_dot", "p2_dot", "p3_dot"),
    ("rad/s", "rad/s", "rad/s"),
    "successive axes of the sequence",
)


@dataclass(frozen=True)
class EulerJoint(CoordinateJoint):
    """q = phi (3) [rad] of an intrinsic Euler sequence, u = phidot [rad/s].

    The joint locks at sin(phi_2) = 0 if the first and last axis are alike, else at cos(phi_2) = 0. `angles` are the
    coordinates that a model file had in place of the sequence. They are None if there are none, or if they are phi.

    >>> import numpy as np
    >>> from myoquat.joints import EulerJoint
    >>> joint = EulerJoint("ZYX")
    >>> joint.coordinate_suffixes, joint.velocity_suffixes
    (('p1', 'p2', 'p3'), ('p1_dot', 'p2_dot', 'p3_dot'))
    """

    kind: ClassVar[str] = "euler"
    span: ClassVar[str] = "rotations"
    sequence: str = "YZY"
    angles: Angles | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        axes(self.sequence)

    @property
    def facts(self) -> JointFacts:
        return FACTS

    @property
    def pattern(self) -> Hashable:
        return type(self), self.sequence

    def transform(self, q: Array) -> tuple[Array, Array]:
        return rotation_matrix_from_euler(q, self.sequence), np.zeros(3)

    def subspace(self, q: Array) -> tuple[Array, Array]:
        """S_omega = B(phi)."""
        return euler_rate_matrix(q, self.sequence), np.zeros((3, 3))

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        B = euler_rate_matrix(q, self.sequence)
        return angular_drift([B[..., :, k] for k in range(3)], components(u)), np.zeros(3)

    def subspace_inverse(self, q: Array) -> Array:
        """B(phi)^-1; ValueError past a condition number of 1e12."""
        return euler_rate_inverse(q, self.sequence)

    def damped(self, q: Array, u: Array) -> Array:
        """B^T B phidot: a damper acts on the relative angular velocity, whatever angles describe the joint."""
        S_omega, _ = self.subspace(q)
        return vecmat(matvec(S_omega, u), S_omega)

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Uniform over the rotations, not over the angles."""
        return euler_from_quaternion(random_quaternions(n, rng), self.sequence)
