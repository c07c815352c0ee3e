"""Natural splines: the smoothest functions through given points."""

from functools import cached_property
from math import factorial
from typing import ClassVar

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.pieces import chosen, increasing, integrated

__all__ = ["NaturalSpline"]

DEGREES = (1, 3, 5, 7)


@dataclass(frozen=True)
class NaturalSpline(AxisFunction):
    """The spline through the points (x, y) whose m-th derivative is least: OpenSim's GCVSpline without smoothing.

    Its degree 2 m - 1 is odd, and it is 2 m - 2 times differentiable. The derivatives from m to 2 m - 2 vanish at its
    ends. Outside it is a polynomial of degree m - 1. Source: H. J. Woltring, A Fortran package for generalized,
    cross-validatory spline smoothing and differentiation, Advances in Engineering Software 8 (1986) 104-113. A spline
    of degree 1 is straight between the points and constant outside. Raises ValueError for another degree than 1, 3, 5
    and 7, fewer than 2 m points, x that do not increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import NaturalSpline
    >>> knots = np.linspace(0.0, 3.0, 12)
    >>> spline = NaturalSpline(tuple(knots), tuple(np.sin(knots)), degree=5)
    >>> float(spline.value(1.2).round(4)), float(spline.slope(1.2).round(4))
    (0.9321, 0.3624)
    """

    constants: ClassVar[tuple[str, ...]] = ("x", "y")
    x: tuple[float, ...]
    y: tuple[float, ...]
    degree: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree not in DEGREES:
            raise ValueError(f"a natural spline has a degree among {DEGREES}, not {self.degree!r}")
        increasing(f"natural spline of degree {self.degree}", self.x, self.y, self.degree + 1)

    def __repr__(self) -> str:
        span = f"x from {self.x[0]:g} to {self.x[-1]:g}"
        return f"<NaturalSpline of degree {self.degree} through {len(self.x)} points, {span}>"

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x if self.degree == 1 else ()

    @cached_property
    def _pieces(self) -> tuple[Array, Array, Array]:
        """Where the pieces begin (k,), their origins (k,), and their coefficients (powers, k), the constants first; the
        two ends among them."""
        m, k = (self.degree + 1) // 2, self.degree
        free = [(order, 0.0) for order in range(m, 2 * m - 1)]
        ends = (free, free) if free else None
        spline = scipy.interpolate.make_interp_spline(self.x, self.y, k=k, bc_type=ends)
        coefficients = []
        for order in range(k + 1):
            taylor = spline(np.array(self.x), nu=order) / factorial(order)
            left, right = taylor[[0, -1]] if order < m else (0.0, 0.0)
            coefficients.append([left, *taylor[:-1], right])
        return np.array([-np.inf, *self.x]), np.array([self.x[0], *self.x]), np.array(coefficients)

    def _derivative(self, x: Array, order: int) -> Array:
        knots, origins, coefficients = self._pieces
        start, *c = chosen(x, knots, origins, *coefficients[order:])
        result = 0.0 * x
        for power, factor in reversed(list(enumerate(c))):
            result = result * (x - start) + factor * (factorial(power + order) // factorial(power))
        return result

    @property
    def as_constant(self) -> float | None:
        return self.y[0] if len(set(self.y)) == 1 else None

    def value(self, x: Array) -> Array:
        return self._derivative(x, 0)

    def integral(self, x: Array) -> Array:
        knots, origins, coefficients = self._pieces
        return integrated(x, knots, origins, *coefficients)

    def slope(self, x: Array) -> Array:
        return self._derivative(x, 1)

    def curvature(self, x: Array) -> Array:
        return self._derivative(x, 2)
