"""The revolute (hinge) joint."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.types.base import DirectedJoint, JointFacts, Vector3
from myoquat.joints.vectors import axis_angle_matrix
from myoquat.kernels import as_array

__all__ = ["RevoluteJoint"]


@dataclass(frozen=True)
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
