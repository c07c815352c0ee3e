"""Force law B, of the muscle Jacobian study's two-link simulation."""

import math
from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.ranges import NotNegative, Positive

from .base import ForceLaw


@frozen
class ExponentialMuscle(ForceLaw):
    """F = (exp(-(x - 1)^2 / 0.25) a + (exp(5 (x - 1) / 0.6) - 1) / (exp(5) - 1)) Fmax, x = l / lopt.

    A path shorter than lopt pushes at low activation, by at most 0.7 % of Fmax: the passive part goes on below zero.

    >>> from myoquat.muscle import ExponentialMuscle
    >>> law = ExponentialMuscle(optimal_length=0.3, max_isometric_force=100.0)
    >>> round(float(law.force(0.3, 0.0, 0.5)), 3)  # [N] half active, at the optimal length, at rest
    50.0
    """

    kind: ClassVar[str] = "B"
    optimal_length: Positive  # lopt [m]
    max_isometric_force: NotNegative | None = None  # Fmax [N]

    @property
    def can_push(self) -> bool:
        return True

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        if self.max_isometric_force is None:
            raise ValueError("law 'B' needs max_isometric_force")
        strain = length / self.optimal_length - 1
        active = np.exp(-(strain**2) / 0.25) * activation
        passive = (np.exp(5 * strain / 0.6) - 1) / (math.exp(5) - 1)
        return (active + passive) * self.max_isometric_force


# ---- Force law A, of the muscle Jacobian study's mapping analysis ---------------------------------------------------


@frozen
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
        return (passive + active) * self.max_isometric_force
