"""The fixed joint (weld): no motion."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.types.base import CoordinateJoint, JointFacts

__all__ = ["FixedJoint"]

FACTS = JointFacts("fixed", (), (), "")


@dataclass(frozen=True)
class FixedJoint(CoordinateJoint):
    """Welds the child to the parent: nq = nu = 0.

    >>> import myoquat as mq
    >>> hand = mq.Body("hand", "ground", mq.joints.FixedJoint(), position=(0, 0, -0.3))
    >>> mq.ArticulatedSystem((hand,)).nq
    0
    """

    kind: ClassVar[str] = "fixed"
    facts: ClassVar[JointFacts] = FACTS
    is_weld: ClassVar[bool] = True

    def opposite(self) -> "FixedJoint":
        return self

    def transform(self, q: Array) -> tuple[Array, Array]:
        return np.eye(3), np.zeros(3)

    def displaced(self, q: Array, motion: Array) -> Array:
        return q

    def subspace(self, q: Array) -> tuple[Array, Array]:
        return np.zeros((3, 0)), np.zeros((3, 0))
