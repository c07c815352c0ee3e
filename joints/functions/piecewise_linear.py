"""Straight lines between given points."""

from functools import cached_property

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.pieces import chosen, increasing, integrated

__all__ = ["PiecewiseLinear"]


@dataclass(frozen=True)
class PiecewiseLinear(AxisFunction):
    """f through the points (x, y), straight in between and, with the first and the last slope, outside.

    At a point the slope is that of the piece after it; the curvature is zero. Raises ValueError for fewer than two
    points, x that do not increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import PiecewiseLinear
    >>> table = PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 10.0, 10.0))
    >>> table.value(np.array([0.5, 1.5, 3.0])), table.slope(np.array([0.5, 1.5]))
    (array([ 5., 10., 10.]), array([10.,  0.]))
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        increasing("piecewise linear function", self.x, self.y, 2)

    def __repr__(self) -> str:
        return f"<PiecewiseLinear through {len(self.x)} points, x from {self.x[0]:g} to {self.x[-1]:g}>"

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x[1:-1]

    @cached_property
    def _slopes(self) -> list[float]:
        slopes: list[float] = (np.diff(self.y) / np.diff(self.x)).tolist()  # or symbols, in a study
        return slopes

    @property
    def as_constant(self) -> float | None:
        return self.y[0] if len(set(self.y)) == 1 else None

    def value(self, x: Array) -> Array:
        x0, y0, slope = chosen(x, self.x[:-1], self.x[:-1], self.y[:-1], self._slopes)
        result: Array = y0 + slope * (x - x0)
        return result

    def integral(self, x: Array) -> Array:
        return integrated(x, self.x[:-1], self.x[:-1], self.y[:-1], self._slopes)

    def slope(self, x: Array) -> Array:
        return chosen(x, self.x[:-1], self._slopes)[0]

    def curvature(self, x: Array) -> Array:
        return 0.0 * x
