"""A staircase through given points."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.pieces import chosen, increasing, integrated

__all__ = ["PiecewiseConstant"]


@dataclass(frozen=True)
class PiecewiseConstant(AxisFunction):
    """f(x) = y[k] from x[k] on until x[k + 1], y[0] before x[0]: OpenSim's PiecewiseConstantFunction.

    Slope and curvature are zero, also where the function jumps. Raises ValueError for no points, x that do not
    increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import PiecewiseConstant
    >>> PiecewiseConstant((0.0, 1.0, 2.0), (5.0, 7.0, 6.0)).value(np.array([-1.0, 0.5, 1.0, 9.0]))
    array([5., 5., 7., 6.])
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        increasing("piecewise constant function", self.x, self.y, 1)

    def __repr__(self) -> str:
        return f"<PiecewiseConstant of {len(self.x)} points, x from {self.x[0]:g} to {self.x[-1]:g}>"

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x[1:]

    @property
    def as_constant(self) -> float | None:
        return self.y[0] if len(set(self.y)) == 1 else None

    def value(self, x: Array) -> Array:
        return chosen(x, self.x, self.y)[0]

    def integral(self, x: Array) -> Array:
        return integrated(x, self.x, self.x, self.y)

    def slope(self, x: Array) -> Array:
        return 0.0 * x

    def curvature(self, x: Array) -> Array:
        return 0.0 * x
