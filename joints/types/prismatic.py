"""The prismatic (sliding) joint."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.types.base import DirectedJoint, JointFacts, Vector3
from myoquat.kernels import as_array

__all__ = ["PrismaticJoint"]


@dataclass(frozen=True)
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
