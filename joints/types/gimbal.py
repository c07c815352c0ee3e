"""The gimbal joint: the three rotations of a file about fixed axes, by coordinates with the file's names."""

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.stacking import components
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.base import CoordinateJoint, JointFacts
from myoquat.joints.types.successive import angular_drift, child_axes, successive_rotations
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["FACTS", "GimbalJoint"]

FACTS = JointFacts(
    "gimbal",
    ("x1", "x2", "x3"),
    ("rad", "rad", "rad"),
    "given axes (names of your own)",
    ("x1_dot", "x2_dot", "x3_dot"),
    ("rad/s", "rad/s", "rad/s"),
    "given axes",
)


@dataclass(frozen=True)
class GimbalJoint(CoordinateJoint):
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
    span: ClassVar[str] = "rotations"
    angles: Angles

    @property
    def facts(self) -> JointFacts:
        units = self.angles.units
        return replace(FACTS, coordinate_units=units, velocity_units=tuple(f"{unit}/s" for unit in units))

    @property
    def pattern(self) -> Hashable:
        return type(self), self.angles

    def _turns(self, q: Array) -> tuple[Array, ...]:
        return components(self.angles.rotations(q))

    def transform(self, q: Array) -> tuple[Array, Array]:
        return successive_rotations(self.angles.axes, self._turns(q)), np.zeros(3)

    def subspace(self, q: Array) -> tuple[Array, Array]:
        """S_omega = B(x)."""
        return self.angles.rate_matrix(q), np.zeros((3, 3))

    def subspace_inverse(self, q: Array) -> Array:
        """(..., 3, 3) B(x)^-1, infinite in the lock."""
        return inverse_rate_matrix(self.angles, q)

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        axes = child_axes(self.angles.axes, self._turns(q))
        return angular_drift(axes, components(matvec(self.angles.matrix, u))), np.zeros(3)

    def damped(self, q: Array, u: Array) -> Array:
        """B^T B xdot: a damper acts on the relative angular velocity, whatever angles describe the joint."""
        S_omega, _ = self.subspace(q)
        return vecmat(matvec(S_omega, u), S_omega)

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Uniform over the rotations that the axes reach, not over the angles."""
        return self.angles.values(random_quaternions(n, rng))


def inverse_rate_matrix(angles: Angles, x: Array) -> Array:
    """(..., 3, 3) B^-1, xdot = B^-1 omega: rows are the cross products of the columns of B over its determinant."""
    B = angles.rate_matrix(x)
    b1, b2, b3 = components(B)
    rows = np.stack([np.cross(b2, b3), np.cross(b3, b1), np.cross(b1, b2)], axis=-2)
    result: Array = rows / np.sum(b1 * np.cross(b2, b3), axis=-1)[..., None, None]
    return result
