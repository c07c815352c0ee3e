"""Joints of one axis, or none: welds, hinges, slides, and the planar joint."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.joints.vectors import axis_angle_matrix
from myoquat.kernels import as_array

from .angles import Vector3
from .base import AxesJoint, AxisJoint, DirectedJoint, JointFacts, perpendiculars


@frozen
class FixedJoint(AxesJoint):
    """Welds the child to the parent: nq = nu = 0.

    >>> import myoquat as mq
    >>> hand = mq.Body("hand", "ground", mq.joints.FixedJoint(), position=(0, 0, -0.3))
    >>> mq.ArticulatedSystem((hand,)).nq
    0
    """

    facts: ClassVar[JointFacts] = JointFacts("fixed", (), (), "")
    is_weld: ClassVar[bool] = True

    def opposite(self) -> "FixedJoint":
        return self


@frozen
class RevoluteJoint(DirectedJoint):
    """q = the angle (1) [rad] about `axis` (unit vector, the same in joint and child frame), u = its rate [rad/s].

    A longer or shorter axis is normalized; one of length zero or with NaN raises ValueError.

    >>> import numpy as np
    >>> from myoquat.joints import RevoluteJoint
    >>> R, p = RevoluteJoint((0, 0, 1)).transform(np.array([np.pi / 2]))
    >>> R.round(3) @ [1.0, 0, 0]  # x turns to y
    array([0., 1., 0.])
    """

    facts: ClassVar[JointFacts] = JointFacts("revolute", ("angle",), ("rad",), "joint axis", ("speed",))

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        return (self.axis,)

    def transform(self, q: Array) -> Pair:
        return axis_angle_matrix(self.axis, q[..., 0]), np.zeros(3)

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> Pair:
        return axis_angle_matrix(self.axis, q[..., 0], R_frame), p_frame

    def subspace(self, q: Array) -> Pair:
        return as_array(self.axis)[:, None], np.zeros((3, 1))


@frozen
class PrismaticJoint(DirectedJoint):
    """q = the displacement (1) [m] along `axis` (unit vector, the same in joint and child frame), u = its rate [m/s].

    A longer or shorter axis is normalized; one of length zero or with NaN raises ValueError.

    >>> import numpy as np
    >>> from myoquat.joints import PrismaticJoint
    >>> R, p = PrismaticJoint((0, 0, 1)).transform(np.array([0.25]))
    >>> p
    array([0.  , 0.  , 0.25])
    """

    facts: ClassVar[JointFacts] = JointFacts("prismatic", ("position",), ("m",), "joint axis", ("speed",))

    @property
    def slides_along(self) -> tuple[Vector3, ...]:
        return (self.axis,)

    def transform(self, q: Array) -> Pair:
        return np.eye(3), q * as_array(self.axis)

    def subspace(self, q: Array) -> Pair:
        return np.zeros((3, 1)), as_array(self.axis)[:, None]


@frozen
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
