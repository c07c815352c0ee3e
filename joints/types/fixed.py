"""The fixed joint (weld): no motion."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joints.types.base import Joint

__all__ = ["FixedJoint"]


@dataclass(frozen=True)
class FixedJoint(Joint):
    """Welds the child to the parent: nq = nu = 0."""

    kind: ClassVar[str] = "fixed"

    def transform(self, q: Any) -> tuple[Any, Any]:
        return np.eye(3), np.zeros(3)

    def displaced(self, q: Any, motion: Any) -> Any:
        return q

    def neutral(self) -> np.ndarray:
        return np.zeros(0)

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.zeros((n, 0))
