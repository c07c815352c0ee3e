"""Force law A, of the muscle Jacobian study's mapping analysis."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["CubicExponentialMuscle"]


@dataclass(frozen=True)
class CubicExponentialMuscle(ForceLaw):
    """F = (x^3 exp(8 x - 12.9) + exp(-(x - 1)^2 / 0.25) a) Fmax, x = l / l0.

    >>> from myoquat.muscle import CubicExponentialMuscle
    >>> law = CubicExponentialMuscle(optimal_length=0.3, max_isometric_force=100.0)
    >>> round(float(law.force(0.3, 0.0, 0.5)), 3)  # [N] half active, at the optimal length, at rest
    50.745
    """

    kind: ClassVar[str] = "A"
    optimal_length: Positive  # l0 [m]
    max_isometric_force: NotNegative | None = None  # Fmax [N]

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        if self.max_isometric_force is None:
            raise ValueError("law 'A' needs max_isometric_force")
        x = length / self.optimal_length
        passive = x * x * x * np.exp(8 * x - 12.9)
        active = np.exp(-((x - 1) ** 2) / 0.25) * activation
        result: Array = (passive + active) * self.max_isometric_force
        return result
