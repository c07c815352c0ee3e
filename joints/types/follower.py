"""Joints made of others: frames that follow the rotations of a ball joint, and joints with their bodies exchanged."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.core import Array, Pair, Record, frozen
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.ranges import check_ranges
from myoquat.joints.sequences import child_axes
from myoquat.joints.vectors import components, cross, matvec, row_cross, transpose, vecmat, vector

from .angles import Angles, Vector3, angular_drift, inverse_rate_matrix, successive_rotations
from .base import CoordinateJoint, Joint, JointFacts


def named_coordinates(joint: Any, q: Array) -> Array:
    """(..., 3) coordinates x of the named angles of a ball joint (`angles_of`) at its q (..., nq)."""
    angles = angles_of(joint)
    return q if angles is joint.own_angles else angles.values(joint.quaternion(q))


def angles_of(joint: Joint) -> Angles:
    """The named angles of a ball joint. Those of an Euler joint without are its coordinates. ValueError for another
    joint without."""
    angles: Angles | None = None if joint.span == "some" else joint.named or joint.own_angles
    if angles is None:
        raise ValueError(f"a frame cannot follow a {joint.kind} joint without named angles")
    return angles


@frozen
class Turn(Record):
    """A rotation [rad] about a unit axis by row . x + offset, of the three coordinates x of a ball joint's angles.

    >>> from myoquat.joints import Turn
    >>> Turn(axis=(0.0, 1.0, 0.0), row=(1.0, 0.0, -1.0))  # about y, by the difference of the outer coordinates
    Turn(axis=(0.0, 1.0, 0.0), row=(1.0, 0.0, -1.0), offset=0.0)
    """

    axis: Vector3
    row: Vector3
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, None, "turn: ")


@frozen
class FollowerJoint(CoordinateJoint):
    """R = R(a1, f1) ... R(am, fm) F about one point, with f_k = row_k . x + offset_k; no coordinates of its own.

    x are the named angles of the `ball` joint that carries the body `leader`. F is the constant rotation `frame`.

    If a chain of bodies on successive rotations becomes one ball joint, the bodies between its ends get such joints.
    The formulas are of the ball joint's q and u. Therefore the subspace has that joint's columns, although nq = nu = 0.
    In the lock of the angles they have no derivative. Elsewhere they are as smooth as the chain was. Raises ValueError
    for a ball joint without named angles.

    >>> import numpy as np
    >>> from myoquat.joints import Angles, FollowerJoint, SphericalJoint, Turn
    >>> axes = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    >>> shoulder = SphericalJoint(angles=Angles(("plane", "elevation", "rotation"), axes))
    >>> joint = FollowerJoint("arm", shoulder, (Turn((0.0, 1.0, 0.0), row=(1.0, 0.0, 0.0)),))
    >>> Q = shoulder.angles.quaternion(np.array([np.pi / 2, 0.75, -0.5]))
    >>> R, p = joint.transform(Q)  # the plane of elevation alone: a quarter turn about y
    >>> R.round(12) + 0.0
    array([[ 0.,  0.,  1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  0.]])
    """

    facts: ClassVar[JointFacts] = JointFacts("follower", (), (), "")
    constants: ClassVar[tuple[str, ...]] = ("ball", "turns", "frame")
    leader: str
    ball: Joint
    turns: tuple[Turn, ...]
    frame: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        angles_of(self.ball)

    @property
    def follows(self) -> str:
        return self.leader

    def behind(self, leader: Joint) -> "FollowerJoint":
        return self if leader is self.ball else replace(self, ball=leader)

    @property
    def angles(self) -> Angles:
        """The named angles of the ball joint."""
        return angles_of(self.ball)

    def in_velocity_frame(self, frame: str) -> "FollowerJoint":
        ball = self.ball.in_velocity_frame(frame)
        return self if ball is self.ball else replace(self, ball=ball)

    @property
    def _axes(self) -> list[Vector3]:
        return [turn.axis for turn in self.turns]

    @property
    def _rows(self) -> Array:
        return np.array([turn.row for turn in self.turns])

    def _rotations(self, x: Array) -> tuple[Array, ...]:
        return components(matvec(self._rows, x) + np.array([turn.offset for turn in self.turns]))

    @property
    def _last(self) -> Array:
        return np.asarray(rotation_matrix(np.array(self.frame)))

    def transform(self, q: Array) -> Pair:
        return successive_rotations(
            self._axes, self._rotations(named_coordinates(self.ball, q))
        ) @ self._last, np.zeros(3)

    def displaced(self, q: Array, motion: Array) -> Array:
        return q

    def _seen(self, x: Array) -> list[Array]:
        """The axes of the turns (..., 3) in child components."""
        return [matvec(self._last.T, axis) for axis in child_axes(self._axes, self._rotations(x))]

    def subspace(self, q: Array) -> Pair:
        """S_omega = [b1 ... bm] rows B^-1 S of the ball joint, with omega = B xdot: infinite in the lock."""
        x = named_coordinates(self.ball, q)
        S_ball, _ = self.ball.subspace(q)
        axes = vector(self._seen(x))
        return axes @ self._rows @ inverse_rate_matrix(self.angles, x) @ S_ball, np.zeros((3, 3))

    def drift(self, q: Array, u: Array) -> Pair:
        """The drift of the turns, and their accelerations B^-1 (c - c_B) at udot = 0: c is the ball joint's drift, c_B
        that of its angles."""
        angles, x = self.angles, named_coordinates(self.ball, q)
        inverse = inverse_rate_matrix(angles, x)
        xdot = matvec(inverse, matvec(self.ball.subspace(q)[0], u))
        own = child_axes(angles.axes, components(angles.rotations(x)))
        c_angles = angular_drift(own, components(matvec(angles.matrix, xdot)))
        xddot = matvec(inverse, self.ball.drift(q, u)[0] - c_angles)
        axes = self._seen(x)
        total = angular_drift(axes, components(matvec(self._rows, xdot)))
        for b, rate in zip(axes, components(matvec(self._rows, xddot)), strict=True):
            total = total + b * rate[..., None]
        return total, np.zeros(3)


# ---- A joint that carries the body which another joint type takes as its parent -------------------------------------


@frozen
class ReversedJoint(CoordinateJoint):
    """`joint` with its bodies exchanged: q and u are its own, its joint frame is carried and its child frame carries.

    If the joint has the transform (R, p), this one has (R^T, -R^T p). If the motion or drift of the joint is omega, v,
    that of this one is -R omega, (R omega) x p - R v. Raises ValueError for a joint whose velocities are not the rates
    of its coordinates, or one that is reversed itself.

    >>> import numpy as np
    >>> from myoquat.joints import PlanarJoint, ReversedJoint
    >>> R, p = ReversedJoint(PlanarJoint()).transform(np.array([0.3, 0.1, np.pi / 2]))
    >>> p.round(3)  # the parent's place, seen from the child
    array([-0.1,  0.3, -0. ])
    """

    kind: ClassVar[str] = "reversed"
    joint: CoordinateJoint

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.joint, CoordinateJoint) or self.joint.forward is not self.joint:
            raise ValueError(
                "a reversed joint needs one whose velocities are the rates of its coordinates, "
                f"not a {self.joint.kind} joint"
            )

    @property
    def forward(self) -> CoordinateJoint:
        return self.joint

    @property
    def facts(self) -> JointFacts:
        return replace(self.joint.facts, kind=self.kind)

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """With the joint on the child's factors."""
        return replace(self, joint=self.joint.scaled(child, parent))

    def transform(self, q: Array) -> Pair:
        R, p = self.joint.transform(q)
        return transpose(R), -vecmat(p, R)

    def subspace(self, q: Array) -> Pair:
        (R, p), (S_omega, S_v) = self.joint.transform(q), self.joint.subspace(q)
        turned = -(R @ S_omega)
        return turned, row_cross(p, turned) - R @ S_v

    def drift(self, q: Array, u: Array) -> Pair:
        (R, p), (c_omega, c_v) = self.joint.transform(q), self.joint.drift(q, u)
        turned = -matvec(R, c_omega)
        return turned, cross(p, turned) - matvec(R, c_v)

    def damped(self, q: Array, u: Array) -> Array:
        return self.joint.damped(q, u)

    def neutral(self) -> Array:
        return self.joint.neutral()

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        return self.joint.random(n, rng)
