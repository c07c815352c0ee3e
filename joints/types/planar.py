"""The planar joint: translation in a plane and rotation about its normal."""

from typing import ClassVar

from myoquat.core.records import dataclass
from myoquat.joints.types.base import AxesJoint, AxisJoint, JointFacts, Vector3, perpendiculars

__all__ = ["PlanarJoint"]


@dataclass(frozen=True)
class PlanarJoint(AxesJoint, AxisJoint):
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

    facts: ClassVar[JointFacts] = JointFacts(
        "planar", ("x", "y", "angle"), ("m", "m", "rad"), "joint", ("v_x", "v_y", "speed")
    )

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        return (self.axis,)

    @property
    def slides_along(self) -> tuple[Vector3, ...]:
        x, y = (tuple(e.tolist()) for e in perpendiculars(self.axis))
        return x, y
