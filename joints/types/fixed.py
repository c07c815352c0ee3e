"""The fixed joint (weld): no motion."""

from typing import ClassVar

from myoquat.core.records import dataclass
from myoquat.joints.types.base import AxesJoint, JointFacts

__all__ = ["FixedJoint"]


@dataclass(frozen=True)
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
