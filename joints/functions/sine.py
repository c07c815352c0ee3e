"""A sine wave."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction

__all__ = ["Sine"]


@dataclass(frozen=True)
class Sine(AxisFunction):
    """f(x) = amplitude sin(omega x + phase) + offset.

    >>> from myoquat.joints.functions import Sine
    >>> wave = Sine(amplitude=2.0, omega=3.0, offset=1.0)
    >>> float(wave.value(0.0)), float(wave.slope(0.0))
    (1.0, 6.0)
    """

    amplitude: float = 1.0
    omega: float = 1.0
    phase: float = 0.0
    offset: float = 0.0

    def value(self, x: Array) -> Array:
        result: Array = self.amplitude * np.sin(self.omega * x + self.phase) + self.offset
        return result

    def integral(self, x: Array) -> Array:
        h = self.omega * x / 2  # (cos(p) - cos(2 h + p)) / omega = x sin(h) sin(h + p) / h, also for omega = 0
        turning = np.abs(h) > 0
        share = np.where(turning, np.sin(h) / np.where(turning, h, 1.0), 1.0)
        result: Array = x * (self.amplitude * share * np.sin(h + self.phase) + self.offset)
        return result

    def slope(self, x: Array) -> Array:
        result: Array = self.amplitude * self.omega * np.cos(self.omega * x + self.phase)
        return result

    def curvature(self, x: Array) -> Array:
        result: Array = -self.amplitude * self.omega * self.omega * np.sin(self.omega * x + self.phase)
        return result
