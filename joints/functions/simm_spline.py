"""The cubic spline of SIMM and OpenSim."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.pieces import chosen, increasing, integrated
from myoquat.kernels.tracing.context import memoize

__all__ = ["SimmSpline"]

STRAIGHTNESS_TOLERANCE = 1e-12  # distance of a point from the line through the ends, relative to the largest value


@dataclass(frozen=True)
class SimmSpline(AxisFunction):
    """The twice differentiable cubic spline through the points (x, y), straight outside with the slopes at its ends.

    In the first piece the third derivative is that of the cubic through the first four points. In the last piece it is
    that of the cubic through the last four. Source: Forsythe, Malcolm, Moler, Computer Methods for Mathematical
    Computations, 1977, ch. 4. With three points the third derivative is zero, with two the spline is a straight line.
    Raises ValueError for fewer than two points, x that do not increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import SimmSpline
    >>> knots = np.linspace(0.0, 3.0, 7)
    >>> spline = SimmSpline(tuple(knots), tuple(np.sin(knots)))
    >>> float(spline.value(1.2).round(2)), float(np.sin(1.2).round(2))
    (0.93, 0.93)
    """

    constants: ClassVar[tuple[str, ...]] = ("x", "y")
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        increasing("spline", self.x, self.y, 2)

    def __repr__(self) -> str:
        return f"<SimmSpline through {len(self.x)} points, x from {self.x[0]:g} to {self.x[-1]:g}>"

    @cached_property
    def _pieces(self) -> tuple[Array, ...]:
        """Knots, origins and the coefficients y, b, c, d of y + dx (b + dx (c + dx d)), the two ends among them."""
        x, y = np.array(self.x), np.array(self.y)
        h = np.diff(x)
        rise = np.diff(y) / h
        sigma = _sigma(x, h, rise)  # a sixth of the second derivative at the points
        b = rise - h * (sigma[1:] + 2 * sigma[:-1])
        d = np.diff(sigma) / h
        last = rise[-1] + h[-1] * (sigma[-2] + 2 * sigma[-1])
        columns = [-np.inf, *x], [x[0], *x], [y[0], *y], [b[0], *b, last], [0.0, *(3 * sigma[:-1]), 0.0], [0.0, *d, 0.0]
        return tuple(map(np.array, columns))

    @memoize
    def _at(self, x: Array) -> tuple[Array, ...]:
        knots, *columns = self._pieces
        start, y, b, c, d = chosen(x, knots, *columns)
        return x - start, y, b, c, d

    @property
    def as_line(self) -> tuple[float, float] | None:
        x, y = np.array(self.x), np.array(self.y)
        factor = (y[-1] - y[0]) / (x[-1] - x[0])
        offset = y[0] - factor * x[0]
        off = np.abs(factor * x + offset - y).max()
        return (float(factor), float(offset)) if off <= STRAIGHTNESS_TOLERANCE * np.abs(y).max() else None

    @property
    def as_constant(self) -> float | None:
        return self.y[0] if len(set(self.y)) == 1 else None

    def value(self, x: Array) -> Array:
        dx, y, b, c, d = self._at(x)
        result: Array = y + dx * (b + dx * (c + dx * d))
        return result

    def integral(self, x: Array) -> Array:
        knots, origins, *coefficients = self._pieces
        return integrated(x, knots, origins, *coefficients)

    def slope(self, x: Array) -> Array:
        dx, _, b, c, d = self._at(x)
        result: Array = b + dx * (2 * c + dx * 3 * d)
        return result

    def curvature(self, x: Array) -> Array:
        dx, _, _, c, d = self._at(x)
        result: Array = 2 * c + 6 * d * dx
        return result


def _sigma(x: Array, h: Array, rise: Array) -> Array:
    """The slopes are continuous inside, the third derivatives given at the ends."""
    n = len(x)
    if n == 2:
        return np.zeros(2)
    A, right = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        right[i] = rise[i] - rise[i - 1]
    A[0, :2], A[-1, -2:] = (-h[0], h[0]), (h[-1], -h[-1])
    if n > 3:
        right[0] = h[0] ** 2 * _third(x[:4], rise[:3])
        right[-1] = -(h[-1] ** 2) * _third(x[-4:], rise[-3:])
    return np.linalg.solve(A, right)


def _third(x: Array, rise: Array) -> float:
    """The third divided difference of four points."""
    second = np.diff(rise) / (x[2:] - x[:-2])
    return float((second[1] - second[0]) / (x[3] - x[0]))
