"""Joints of successive rotations about fixed axes: Euler sequences, named angles, and the universal joint."""

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.sequences import axes, child_axes, euler_from_quaternion, euler_rate_inverse
from myoquat.joints.vectors import components, matvec, vecmat

from .angles import Angles, Vector3, angular_drift, inverse_rate_matrix, successive_rotations
from .base import AxesJoint, CoordinateJoint, JointFacts, unit_axis
from .spherical import SphericalJoint

# ---- Three rotations about fixed axes: by an Euler sequence, or by coordinates with a file's names ----------------


class TurnsJoint(CoordinateJoint):
    """q = x (3) [rad], the coordinates of `own_angles`, u = xdot [rad/s]: three rotations about fixed axes."""

    span: ClassVar[str] = "rotations"

    angles: Angles | None

    @property
    @abstractmethod
    def own_angles(self) -> Angles:
        """The angles that are the joint's coordinates."""

    @property
    def ball_joint(self) -> SphericalJoint:
        return SphericalJoint(angles=self.angles)

    def transform(self, q: Array) -> Pair:
        return successive_rotations(self.own_angles.axes, components(self.own_angles.rotations(q))), np.zeros(3)

    def subspace(self, q: Array) -> Pair:
        """S_omega = B(x)."""
        return self.own_angles.rate_matrix(q), np.zeros((3, 3))

    def subspace_inverse(self, q: Array) -> Array:
        """(..., 3, 3) B(x)^-1, infinite in the lock."""
        return inverse_rate_matrix(self.own_angles, q)

    def drift(self, q: Array, u: Array) -> Pair:
        axes = child_axes(self.own_angles.axes, components(self.own_angles.rotations(q)))
        return angular_drift(axes, components(matvec(self.own_angles.matrix, u))), np.zeros(3)

    def damped(self, q: Array, u: Array) -> Array:
        """B^T B xdot: a damper acts on the relative angular velocity, whatever angles describe the joint."""
        S_omega, _ = self.subspace(q)
        return vecmat(matvec(S_omega, u), S_omega)

    def quaternion(self, q: Array) -> Array:
        """(..., 4) Q at q (..., 3)."""
        return self.own_angles.quaternion(q)

    def to_ball(self, q: Array) -> Array:
        return self.quaternion(q)

    def from_ball(self, q: Array, named: Angles | None = None) -> Array:
        return self.own_angles.values(q)

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Uniform over the rotations that the axes reach, not over the angles."""
        return self.from_ball(random_quaternions(n, rng))


@frozen
class EulerJoint(TurnsJoint):
    """q = phi (3) [rad] of an intrinsic Euler sequence, u = phidot [rad/s].

    The joint locks at sin(phi_2) = 0 if the first and last axis are alike, else at cos(phi_2) = 0. `angles` are the
    coordinates that a model file had in place of the sequence. They are None if there are none, or if they are phi.

    >>> import numpy as np
    >>> from myoquat.joints import EulerJoint
    >>> joint = EulerJoint("ZYX")
    >>> joint.coordinate_suffixes, joint.velocity_suffixes
    (('p1', 'p2', 'p3'), ('p1_dot', 'p2_dot', 'p3_dot'))
    """

    facts: ClassVar[JointFacts] = JointFacts(
        "euler", ("p1", "p2", "p3"), ("rad",) * 3, "successive axes of the sequence"
    )
    by_sequence: ClassVar[bool] = True
    sequence: str = "YZY"
    angles: Angles | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        axes(self.sequence)

    @property
    def pattern(self) -> Hashable:
        return type(self), self.sequence

    @cached_property
    def own_angles(self) -> Angles:
        x, y, z = (tuple(np.eye(3)[i].tolist()) for i in axes(self.sequence))
        return Angles(self.facts.coordinates, (x, y, z))  # type: ignore[arg-type]

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        return self.own_angles.axes

    def subspace_inverse(self, q: Array) -> Array:
        """B(phi)^-1; ValueError past a condition number of 1e12."""
        return euler_rate_inverse(q, self.sequence)

    def from_ball(self, q: Array, named: Angles | None = None) -> Array:
        return euler_from_quaternion(q, self.sequence)


GIMBAL = JointFacts(
    "gimbal", ("x1", "x2", "x3"), ("rad",) * 3, "given axes (names of your own)", velocity_frame="given axes"
)


@frozen
class GimbalJoint(TurnsJoint):
    """q = x (3) [rad], the coordinates of `angles`, u = xdot [rad/s]: three rotations about fixed axes.

    The axes need not be orthogonal. Each rotation is a linear function of the coordinates. The joint locks at two
    values of the second rotation, where the three axes lie in a plane.

    >>> import numpy as np
    >>> from myoquat.joints import Angles, GimbalJoint
    >>> axes = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    >>> joint = GimbalJoint(Angles(("plane", "elevation", "rotation"), axes))
    >>> R, p = joint.transform(np.array([0.0, np.pi / 2, 0.0]))
    >>> R.round(3) + 0.0
    array([[ 1.,  0.,  0.],
           [ 0.,  0.,  1.],
           [ 0., -1.,  0.]])
    """

    kind: ClassVar[str] = "gimbal"
    angles: Angles

    @property
    def facts(self) -> JointFacts:
        return replace(GIMBAL, coordinate_units=self.angles.units, velocity_units=())

    @property
    def pattern(self) -> Hashable:
        return type(self), self.angles

    @property
    def own_angles(self) -> Angles:
        return self.angles


# ---- The universal (Cardan) joint: two successive rotations -------------------------------------------------------


@frozen
class UniversalJoint(AxesJoint):
    """q = two angles (2) [rad]: a rotation about `first`, then one about `second`; u = their rates [rad/s].

    Axes are normalized; one of length zero, or two parallel ones, raise ValueError.

    >>> import numpy as np
    >>> from myoquat.joints import UniversalJoint
    >>> R, p = UniversalJoint((1, 0, 0), (0, 1, 0)).transform(np.array([np.pi / 2, np.pi / 2]))
    >>> R.round(3) + 0.0
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """

    facts: ClassVar[JointFacts] = JointFacts(
        "universal", ("angle1", "angle2"), ("rad", "rad"),
        "first axis in the joint frame, second after the first rotation", ("speed1", "speed2")
    )  # fmt: skip
    constants: ClassVar[tuple[str, ...]] = ("first", "second")
    first: Vector3 = (1.0, 0.0, 0.0)
    second: Vector3 = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "first", unit_axis(self.first))
        object.__setattr__(self, "second", unit_axis(self.second))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-9:
            raise ValueError(f"a universal joint needs two different axes, not {self.first} twice")

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        return self.first, self.second
