"""The planar joint: translation in a plane and rotation about its normal."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.types.base import AxisJoint, JointFacts, Vector3, perpendiculars
from myoquat.joints.vectors import axis_angle_matrix, cross, vecmat

__all__ = ["PlanarJoint"]

FACTS = JointFacts("planar", ("x", "y", "angle"), ("m", "m", "rad"), "joint", ("v_x", "v_y", "speed"))


@dataclass(frozen=True)
class PlanarJoint(AxisJoint):
    """q = (x [m], y [m], angle [rad]): a translation in the plane normal to `axis`, then a rotation about it; u = qdot.

    If the axis is z, x and y run along the joint frame's x and y. For other axes they run along e1 and e2 of
    `myoquat.joints.types.base.perpendiculars`. The axis is normalized. Raises ValueError for an axis of length
    zero.

    >>> import numpy as np
    >>> from myoquat.joints import PlanarJoint
    >>> R, p = PlanarJoint((0, 0, 1)).transform(np.array([0.3, 0.1, np.pi / 2]))
    >>> p, R.round(3)
    (array([0.3, 0.1, 0. ]), array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]]))
    """

    kind: ClassVar[str] = "planar"
    facts: ClassVar[JointFacts] = FACTS

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        return (self.axis,)

    @property
    def slides_along(self) -> tuple[Vector3, ...]:
        x, y = (tuple(e.tolist()) for e in perpendiculars(self.axis))
        return x, y

    def _in_plane(self, x: Array) -> Array:
        e1, e2 = perpendiculars(self.axis)
        return x[..., 0, None] * e1 + x[..., 1, None] * e2

    def transform(self, q: Array) -> tuple[Array, Array]:
        return axis_angle_matrix(self.axis, q[..., 2]), self._in_plane(q)

    def subspace(self, q: Array) -> tuple[Array, Array]:
        R = axis_angle_matrix(self.axis, q[..., 2])
        columns = [vecmat(e, R) for e in perpendiculars(self.axis)]
        S_v = np.stack([*columns, np.zeros(columns[0].shape)], axis=-1)
        S_omega = np.stack([np.zeros(3), np.zeros(3), np.array(self.axis)], axis=-1)
        return S_omega, S_v

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Rate of R^T pdot at constant pdot: -omega x v."""
        v = vecmat(self._in_plane(u), axis_angle_matrix(self.axis, q[..., 2]))
        return np.zeros(3), cross(v, u[..., 2, None] * np.array(self.axis))
