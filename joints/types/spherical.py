"""The spherical (ball-and-socket) joint, described by a unit quaternion."""

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    random_quaternions,
    rotation_matrix,
)
from myoquat.joints.rates import G, G_parent
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.base import Joint, JointFacts
from myoquat.joints.vectors import components, transpose, vector

__all__ = ["FramedJoint", "SphericalJoint", "shorter"]


class FramedJoint(Joint):
    """A joint with a quaternion, whose u is in components of the child or of the parent, as `velocity_frame` says."""

    by_sequence: ClassVar[bool] = True
    velocity_frame: str

    @property
    def in_child(self) -> bool:
        """True if u is in child-frame components."""
        return self.velocity_frame == "child"

    def in_velocity_frame(self, frame: str) -> Self:
        return self if frame == self.velocity_frame else replace(self, velocity_frame=frame)  # type: ignore[type-var]


@dataclass(frozen=True)
class SphericalJoint(FramedJoint):
    """q = Q (4), u = omega (3) [rad/s] of the child relative to the parent.

    velocity_frame  'child' or 'parent' (the joint frame): the components of omega. The system sets it for all joints
    sequence        the Euler sequence in which the joint is shown and compared, where angles are needed
    extension       how R(Q) continues off the unit sphere (`myoquat.joints.rotation_matrix`)
    angles          the coordinates that a model file had in the quaternion's place; None without any

    >>> import numpy as np
    >>> from myoquat.joints import SphericalJoint
    >>> joint = SphericalJoint()
    >>> Q = joint.integrate(joint.neutral(), np.array([0.0, 0.0, np.pi / 2]))  # a quarter turn about z
    >>> Q.round(4), joint.difference(joint.neutral(), Q).round(4)
    (array([0.7071, 0.    , 0.    , 0.7071]), array([0.    , 0.    , 1.5708]))
    """

    facts: ClassVar[JointFacts] = JointFacts(
        "spherical", ("Q0", "Q1", "Q2", "Q3"), ("1", "1", "1", "1"), "child to joint",
        ("omega_x", "omega_y", "omega_z"), ("rad/s", "rad/s", "rad/s"),
        "child or parent (the model's velocity frame)", quaternion=0
    )  # fmt: skip
    span: ClassVar[str] = "rotations"
    sequence: str = "YZY"
    extension: str = "polynomial"
    velocity_frame: str = "child"
    angles: Angles | None = None

    @property
    def pattern(self) -> Hashable:
        return type(self), self.extension, self.velocity_frame

    def quaternion(self, q: Array) -> Array:
        """(..., 4) q itself."""
        return q

    def transform(self, q: Array) -> Pair:
        return rotation_matrix(q, self.extension), np.zeros(3)

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> Pair:
        return R_frame @ rotation_matrix(q, self.extension), p_frame

    def displaced(self, q: Array, motion: Array) -> Array:
        x, y, z = components(motion)
        return self._composed(q, vector([1.0 + 0.0 * x, x / 2, y / 2, z / 2]))

    def _composed(self, Q: Array, step: Array) -> Array:
        """Q followed by the rotation `step` (..., 4) about axes of the velocity frame."""
        return quaternion_multiply(Q, step) if self.in_child else quaternion_multiply(step, Q)

    def subspace(self, q: Array) -> Pair:
        """S_omega = 1, or R^T for a parent-frame u; its drift is zero either way: Rdot^T u = -omega x omega."""
        return np.eye(3) if self.in_child else transpose(rotation_matrix(q, self.extension)), np.zeros((3, 3))

    def subspace_inverse(self, q: Array) -> Array:
        """1, or R for a parent-frame u."""
        return np.eye(3) if self.in_child else rotation_matrix(q, self.extension)

    def rate_matrix(self, q: Array) -> Array:
        """N = G^T / 2 for |Q| = 1."""
        return transpose(G(q) if self.in_child else G_parent(q)) / 2

    def rate_inverse(self, q: Array) -> Array:
        """N^+ = 2 G for |Q| = 1."""
        return 2 * (G(q) if self.in_child else G_parent(q))

    def integrate(self, q: Array, v: Array) -> Array:
        """Q exp(v), or exp(v) Q: |Q| is kept to round-off."""
        return self._composed(q, quaternion_exp(v))

    def difference(self, q0: Array, q1: Array) -> Array:
        """Rotation vector of length at most pi; Q and -Q are the same pose."""
        back = quaternion_conjugate(q0)
        step = quaternion_multiply(back, q1) if self.in_child else quaternion_multiply(q1, back)
        return quaternion_log(shorter(step))

    def neutral(self) -> Array:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        return random_quaternions(n, rng)


def shorter(Q: Array) -> Array:
    """(..., 4) Q or -Q, whichever has Q0 >= 0: the same rotation by at most pi."""
    return np.where(Q[..., :1] < 0, -Q, Q)
