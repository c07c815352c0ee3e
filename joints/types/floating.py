"""The floating joint: a body free to move, its rotation described by a unit quaternion."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.quaternion import random_quaternions, rotation_matrix, rotation_vector_rate
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.base import JointFacts
from myoquat.joints.types.spherical import FramedJoint, SphericalJoint
from myoquat.joints.vectors import block_diagonal, cross, dot, joined, matvec, transpose, vecmat

__all__ = ["FloatingJoint"]


@dataclass(frozen=True)
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
