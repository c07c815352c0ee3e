"""Force law B, of the muscle Jacobian study's two-link simulation."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["LawB"]


@dataclass(frozen=True)
class LawB(ForceLaw):
    """F = (exp(-(x - 1)^2 / 0.25) a + (exp(5 (x - 1) / 0.6) - 1) / (exp(5) - 1)) Fmax, x = l / lopt."""

    kind: ClassVar[str] = "B"
    optimal_length: Positive  # lopt [m]
    max_isometric_force: NotNegative | None = None  # Fmax [N]

    def force(self, length: Any, speed: Any, activation: Any, state: Any = None) -> Any:
        strain = length / self.optimal_length - 1
        active = np.exp(-(strain**2) / 0.25) * activation
        passive = (np.exp(5 * strain / 0.6) - 1) / (math.exp(5) - 1)
        return (active + passive) * self.max_isometric_force
