"""Joints with a unit quaternion: the spherical (ball-and-socket) joint, and the floating one, which also translates."""

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.joints.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    random_quaternions,
    rotation_matrix,
    rotation_vector_rate,
)
from myoquat.joints.rates import G, G_parent
from myoquat.joints.vectors import block_diagonal, components, cross, dot, joined, matvec, transpose, vecmat, vector

from .angles import Angles
from .base import Joint, JointFacts


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


@frozen
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


# ---- The floating joint: a body free to move ----------------------------------------------------------------------


@frozen
class FloatingJoint(FramedJoint):
    """q = (p (3) [m], Q (4)), u = (v (3) [m/s], omega (3) [rad/s]).

    velocity_frame    'child', v = R^T pdot, or 'parent', v = pdot: the components of u. The system sets it for all
                      joints
    sequence, angles  as for a spherical joint

    >>> from myoquat.joints import FloatingJoint
    >>> joint = FloatingJoint()
    >>> joint.nq, joint.nu, joint.coordinate_suffixes
    (7, 6, ('x', 'y', 'z', 'Q0', 'Q1', 'Q2', 'Q3'))
    """

    facts: ClassVar[JointFacts] = JointFacts(
        "floating", ("x", "y", "z", "Q0", "Q1", "Q2", "Q3"), ("m", "m", "m", "1", "1", "1", "1"),
        "position in the joint frame; Q child to joint", ("v_x", "v_y", "v_z", "omega_x", "omega_y", "omega_z"),
        ("m/s", "m/s", "m/s", "rad/s", "rad/s", "rad/s"),
        "child or parent (the model's velocity frame), linear and angular", quaternion=3
    )  # fmt: skip
    span: ClassVar[str] = "all"
    sequence: str = "YZY"
    velocity_frame: str = "child"
    angles: Angles | None = None

    @property
    def pattern(self) -> Hashable:
        return type(self), self.velocity_frame

    @property
    def _ball(self) -> SphericalJoint:
        return SphericalJoint(self.sequence, velocity_frame=self.velocity_frame)

    def quaternion(self, q: Array) -> Array:
        """(..., 4) Q of q (..., 7)."""
        return q[..., 3:]

    def transform(self, q: Array) -> Pair:
        return rotation_matrix(q[..., 3:]), q[..., :3]

    def displaced(self, q: Array, motion: Array) -> Array:
        v = motion[..., :3]
        step = matvec(rotation_matrix(q[..., 3:]), v) if self.in_child else v
        return joined([q[..., :3] + step, self._ball.displaced(q[..., 3:], motion[..., 3:])])

    def subspace(self, q: Array) -> Pair:
        """The identity, or R^T in both blocks for a parent-frame u."""
        block = np.eye(3) if self.in_child else transpose(rotation_matrix(q[..., 3:]))
        zero = np.zeros(block.shape)
        return np.concatenate([zero, block], axis=-1), np.concatenate([block, zero], axis=-1)

    def drift(self, q: Array, u: Array) -> Pair:
        """Zero, or for a parent-frame u the rate of R^T pdot at constant pdot: -omega x v."""
        if self.in_child:
            return np.zeros(3), np.zeros(3)
        R = rotation_matrix(q[..., 3:])
        return np.zeros(3), vecmat(cross(u[..., :3], u[..., 3:]), R)

    def rotor_drift(self, u: Array) -> Array | None:
        """omega x v: with it, R vdot is the acceleration of the point in the parent's axes; none for a parent-frame
        u."""
        if not self.in_child:
            return None
        return joined([cross(u[..., 3:], u[..., :3]), 0.0 * u[..., 3:]])

    def rate_matrix(self, q: Array) -> Array:
        block = rotation_matrix(q[..., 3:]) if self.in_child else np.eye(3)
        return block_diagonal([block, self._ball.rate_matrix(q[..., 3:])])

    def rate_inverse(self, q: Array) -> Array:
        block = transpose(rotation_matrix(q[..., 3:])) if self.in_child else np.eye(3)
        return block_diagonal([block, self._ball.rate_inverse(q[..., 3:])])

    def integrate(self, q: Array, v: Array) -> Array:
        """The screw motion of a constant child-frame twist, or straight, at a constant rate, for a parent-frame u."""
        step = v[..., :3]
        if self.in_child:
            step = matvec(rotation_matrix(q[..., 3:]), _screw(v[..., 3:], step))
        return joined([q[..., :3] + step, self._ball.integrate(q[..., 3:], v[..., 3:])])

    def difference(self, q0: Array, q1: Array) -> Array:
        omega = self._ball.difference(q0[..., 3:], q1[..., 3:])
        step = q1[..., :3] - q0[..., :3]
        if self.in_child:
            step = rotation_vector_rate(omega, vecmat(step, rotation_matrix(q0[..., 3:])), in_child=False)
        return joined([step, omega])

    def deviation(self, q: Array, mount: Array) -> Array:
        """Translation and rotation apart, so that the energy is k/2 (|p - p0|^2 + angle^2)."""
        step = q[..., :3] - mount[..., :3]
        if self.in_child:
            step = vecmat(step, rotation_matrix(q[..., 3:]))
        return joined([step, self._ball.difference(mount[..., 3:], q[..., 3:])])

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Within one metre of neutral on each axis, uniform over the rotations."""
        return joined([rng.uniform(-1.0, 1.0, (n, 3)), random_quaternions(n, rng)])


def _screw(omega: Array, v: Array) -> Array:
    """V(omega) v, V = 1 + (1 - cos a)/a^2 [omega x] + (a - sin a)/a^3 [omega x]^2, a = |omega|: the displacement."""
    square = dot(omega, omega)[..., None]
    small = square < 0.01
    a = np.sqrt(np.where(small, 1.0, square))
    half = np.sin(a / 2) / a
    first = np.where(small, (1 - square / 12 * (1 - square / 30 * (1 - square / 56))) / 2, 2 * half * half)
    series = (1 - square / 20 * (1 - square / 42 * (1 - square / 72))) / 6
    second = np.where(small, series, (1 - np.sin(a) / a) / np.where(small, 1.0, square))
    swept = cross(omega, v)
    return v + first * swept + second * cross(omega, swept)
