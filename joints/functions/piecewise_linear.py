"""Straight lines between given points."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.pieces import chosen, increasing

__all__ = ["PiecewiseLinear"]


@dataclass(frozen=True)
class PiecewiseLinear(AxisFunction):
    """f through the points (x, y), straight in between and, with the first and the last slope, outside.

    At a point the slope is that of the piece after it; the curvature is zero. Raises ValueError for fewer than two
    points, x that do not increase, or numbers that are not finite.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        increasing("piecewise linear function", self.x, self.y, 2)

    @cached_property
    def _slopes(self) -> list[float]:
        return (np.diff(self.y) / np.diff(self.x)).tolist()

    def value(self, x: Any) -> Any:
        x0, y0, slope = chosen(x, self.x[:-1], self.x[:-1], self.y[:-1], self._slopes)
        return y0 + slope * (x - x0)

    def slope(self, x: Any) -> Any:
        return chosen(x, self.x[:-1], self._slopes)[0]

    def curvature(self, x: Any) -> Any:
        return 0.0 * x
