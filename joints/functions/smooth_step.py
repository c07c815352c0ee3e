"""A smooth step from one value to another."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction

__all__ = ["SmoothStep"]


@dataclass(frozen=True)
class SmoothStep(AxisFunction):
    """f(x) = first + (last - first) S(s), constant before `start` and after `end`: OpenSim's StepFunction.

    S(s) = 10 s^3 - 15 s^4 + 6 s^5 with s = (x - start) / (end - start).

    Slope and curvature are continuous, and zero at both ends. With `end` before `start` the step is taken backwards.
    Raises ValueError for an end at the start.

    >>> import numpy as np
    >>> from myoquat.joints.functions import SmoothStep
    >>> SmoothStep(1.0, 3.0, first=0.0, last=4.0).value(np.array([0.0, 2.0, 5.0]))
    array([0., 2., 4.])
    """

    start: float
    end: float
    first: float = 0.0
    last: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start == self.end:
            raise ValueError(f"a step needs an end that is not its start, {self.start:g}")

    def _share(self, x: Array) -> Array:
        return np.minimum(np.maximum((x - self.start) / (self.end - self.start), 0.0), 1.0)

    def value(self, x: Array) -> Array:
        s = self._share(x)
        result: Array = self.first + (self.last - self.first) * s * s * s * (10.0 + s * (6.0 * s - 15.0))
        return result

    def integral(self, x: Array) -> Array:
        rise = self.last - self.first
        return self.first * x + rise * (self._step_integral(x) - self._step_integral(np.zeros(())))

    def _step_integral(self, x: Array) -> Array:
        """(...) the integral of S from `start` to x."""
        s, width = self._share(x), self.end - self.start
        beyond = np.maximum((x - self.start) / width - 1.0, 0.0)
        result: Array = width * (s * s * s * s * (2.5 + s * (s - 3.0)) + beyond)
        return result

    def slope(self, x: Array) -> Array:
        s, width = self._share(x), self.end - self.start
        result: Array = (self.last - self.first) / width * 30.0 * s * s * (1.0 - s) * (1.0 - s)
        return result

    def curvature(self, x: Array) -> Array:
        s, width = self._share(x), self.end - self.start
        result: Array = (self.last - self.first) / (width * width) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        return result
