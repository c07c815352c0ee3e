"""The fixed joint (weld): no motion."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from myoquat.joints.types.base import CoordinateJoint, JointFacts

__all__ = ["FixedJoint"]

FACTS = JointFacts("fixed", (), (), "", (), (), "")


@dataclass(frozen=True)
class FixedJoint(CoordinateJoint):
    """Welds the child to the parent: nq = nu = 0."""

    kind: ClassVar[str] = "fixed"

    @property
    def facts(self) -> JointFacts:
        return FACTS

    def transform(self, q: Any) -> tuple[Any, Any]:
        return np.eye(3), np.zeros(3)

    def displaced(self, q: Any, motion: Any) -> Any:
        return q

    def subspace(self, q: Any) -> tuple[Any, Any]:
        return np.zeros((3, 0)), np.zeros((3, 0))
