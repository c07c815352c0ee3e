"""Functions made of pieces: steps, straight lines, cubic splines, and a smooth step."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import factorial
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, scipy
from myoquat.kernels import as_array, is_symbolic
from myoquat.kernels.control_flow.table_lookup import table_lookup
from myoquat.kernels.symbolic.complex_step import real_part
from myoquat.kernels.tracing.context import memoize

from .base import AxisFunction, engaged

# ---- Polynomials in pieces: the coefficients of the piece that holds x, chosen without a branch -------------------


MAX_COMPARED_KNOTS = 32  # up to which each is compared; beyond, a kernel looks its entries up


def chosen(x: Array, knots: ArrayLike, *columns: ArrayLike) -> tuple[Array, ...]:
    """Of each column, the entry k with knots[k] <= x < knots[k + 1]; the first below, the last above.

    A derivative with respect to x sees constants.
    """
    marks, table = as_array(knots), np.stack([as_array(column) for column in columns], axis=-1)
    rows = _rows(x, marks, table)
    return tuple(rows[..., k][()] for k in range(len(columns)))


def _rows(x: Array, knots: Array, table: Array) -> Array:
    """(..., m) the row of a table (k, m) for every x.

    Numbers are found by a search. Symbols are compared with each knot, unless a kernel looks them up.
    """
    fixed = not is_symbolic(knots) and not is_symbolic(table)
    if fixed and not is_symbolic(x):
        return table[np.maximum(np.searchsorted(knots, real_part(x), side="right") - 1, 0)]
    if fixed and len(knots) > MAX_COMPARED_KNOTS and (entries := table_lookup(x, knots, table.T)) is not None:
        return entries
    place = as_array(x)[..., None]
    result: Array = table[0] + 0.0 * place
    for knot, row in zip(knots[1:], table[1:], strict=True):
        result = np.where(place >= knot, row, result)
    return result


def integrated(x: Array, knots: Sequence[Any] | Array, origins: Sequence[Any] | Array, *coefficients: Any) -> Array:
    """(...) the integral from 0 to x of the function that is c0 + c1 (x - o) + ... in each piece, with the origin o.

    knots (k,), origins (k,) and every column of coefficients (k,), the constants first, as `chosen` takes them."""
    begin: list[Any] = list(knots)
    origin, rows = list(origins), list(zip(*coefficients, strict=True))
    constants: list[Any] = [0.0]  # which join the pieces
    for k in range(1, len(begin)):
        before = _power_sum(begin[k] - origin[k - 1], rows[k - 1])
        constants.append(constants[-1] + before - _power_sum(begin[k] - origin[k], rows[k]))

    def at(place: Array) -> Array:
        start, constant, *c = chosen(place, knots, origins, constants, *coefficients)
        return constant + _power_sum(place - start, c)

    return at(x) - at(np.zeros(()))


def _power_sum(dx: Any, coefficients: Sequence[Any]) -> Any:
    """c0 dx + c1 dx^2 / 2 + ..."""
    total = 0.0 * dx
    for power in range(len(coefficients), 0, -1):
        total = (total + coefficients[power - 1] / power) * dx
    return total


@frozen(repr=False)
class InPieces(AxisFunction):
    """A function that is a polynomial in each of its pieces, through points (x, y)."""

    _label: ClassVar[str]  # what messages call it
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        x, y, least = self.x, self.y, self._least
        if len(x) != len(y) or len(x) < least:
            raise ValueError(f"a {self._label} needs as many x as y, at least {least}, not {len(x)} and {len(y)}")
        if any(b <= a for a, b in pairwise(x)):
            raise ValueError(f"the x of a {self._label} must increase, not {tuple(x)}")

    @property
    def _least(self) -> int:
        """The number of points that it needs."""
        return 2

    @property
    @abstractmethod
    def _pieces(self) -> tuple[Any, Any, Any]:
        """Where the pieces begin (k,), their origins (k,), and their coefficients (powers, k), the constants first."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} through {len(self.x)} points, x from {self.x[0]:g} to {self.x[-1]:g}>"

    @property
    def as_constant(self) -> float | None:
        return self.y[0] if len(set(self.y)) == 1 else None

    @memoize
    def _at(self, x: Array) -> tuple[Array, ...]:
        """Distance from the origin, and the coefficients."""
        knots, origins, coefficients = self._pieces
        start, *c = chosen(x, knots, origins, *coefficients)
        return x - start, *c

    def _derivative(self, x: Array, order: int) -> Array:
        dx, *c = self._at(x)
        c = c[order:]
        if not c:
            return 0.0 * x
        factors = [factorial(power + order) // factorial(power) for power in range(len(c))]
        result = c[-1] * factors[-1]
        for power in reversed(range(len(c) - 1)):
            result = result * dx + c[power] * factors[power]
        return result

    def value(self, x: Array) -> Array:
        return self._derivative(x, 0)

    def slope(self, x: Array) -> Array:
        return self._derivative(x, 1)

    def curvature(self, x: Array) -> Array:
        return self._derivative(x, 2)

    def integral(self, x: Array) -> Array:
        knots, origins, coefficients = self._pieces
        return integrated(x, knots, origins, *coefficients)


# ---- Staircases and straight lines through given points -----------------------------------------------------------


@frozen(repr=False)
class PiecewiseConstant(InPieces):
    """f(x) = y[k] from x[k] on until x[k + 1], y[0] before x[0]: OpenSim's PiecewiseConstantFunction.

    Slope and curvature are zero, also where the function jumps. Raises ValueError for no points, x that do not
    increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import PiecewiseConstant
    >>> PiecewiseConstant((0.0, 1.0, 2.0), (5.0, 7.0, 6.0)).value(np.array([-1.0, 0.5, 1.0, 9.0]))
    array([5., 5., 7., 6.])
    """

    _label: ClassVar[str] = "piecewise constant function"

    @property
    def _least(self) -> int:
        return 1

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x[1:]

    @property
    def _pieces(self) -> tuple[Any, Any, Any]:
        return self.x, self.x, (self.y,)


@frozen(repr=False)
class PiecewiseLinear(InPieces):
    """f through the points (x, y), straight in between and, with the first and the last slope, outside.

    At a point the slope is that of the piece after it; the curvature is zero. Raises ValueError for fewer than two
    points, x that do not increase, or numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.joints.functions import PiecewiseLinear
    >>> table = PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 10.0, 10.0))
    >>> table.value(np.array([0.5, 1.5, 3.0])), table.slope(np.array([0.5, 1.5]))
    (array([ 5., 10., 10.]), array([10.,  0.]))
    """

    _label: ClassVar[str] = "piecewise linear function"

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x[1:-1]

    @cached_property
    def _pieces(self) -> tuple[Any, Any, Any]:
        slopes = (np.diff(self.y) / np.diff(self.x)).tolist()  # or symbols, in a study
        return self.x[:-1], self.x[:-1], (self.y[:-1], slopes)


# ---- Natural splines: the smoothest functions through given points ------------------------------------------------


DEGREES = (1, 3, 5, 7)


@frozen
class NaturalSpline(InPieces):
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
    degree: int = 3

    def __post_init__(self) -> None:
        if self.degree not in DEGREES:
            raise ValueError(f"a natural spline has a degree among {DEGREES}, not {self.degree!r}")
        super().__post_init__()

    @property
    def _label(self) -> str:  # type: ignore[override]
        return f"natural spline of degree {self.degree}"

    @property
    def _least(self) -> int:
        return self.degree + 1

    def __repr__(self) -> str:
        span = f"x from {self.x[0]:g} to {self.x[-1]:g}"
        return f"<NaturalSpline of degree {self.degree} through {len(self.x)} points, {span}>"

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.x if self.degree == 1 else ()

    @cached_property
    def _pieces(self) -> tuple[Array, Array, Array]:
        """Where the pieces begin (k,), their origins (k,), and their coefficients (powers, k), the constants first; the
        two ends among them. Outside it has the first m coefficients of its ends."""
        if self.degree == 3:
            return _cubic(self, _curvatures(self))
        m = (self.degree + 1) // 2
        free = [(order, 0.0) for order in range(m, 2 * m - 1)]
        ends = [free, free] if free else None
        spline = scipy.interpolate.make_interp_spline(self.x, self.y, k=self.degree, bc_type=ends)
        coefficients = []
        for order in range(self.degree + 1):
            taylor = spline(self.x, nu=order) / factorial(order) if order else self.y  # exactly
            left, right = (taylor[0], taylor[-1]) if order < m else (0.0, 0.0)
            coefficients.append([left, *taylor[:-1], right])
        return np.array([-np.inf, *self.x]), np.array([self.x[0], *self.x]), np.array(coefficients)


def _curvatures(points: InPieces, thirds: Sequence[float] | None = None) -> list[float]:
    """The second derivatives at the points of the cubic spline through them. They vanish at the ends, unless the third
    derivatives in the first and in the last piece are given.

    These M obey h M0 + 2 (h + k) M1 + k M2 = 6 (change of the slopes), with h and k the lengths of two pieces.
    Importing SciPy's splines takes longer than all splines of a model.
    """
    h = np.diff(points.x)
    slopes, beside = np.diff(points.y) / h, 0.0 if thirds is None else -1.0
    first, last = (0.0, 0.0) if thirds is None else (-h[0] * thirds[0], h[-1] * thirds[1])
    below, above = [*h[:-1], beside], [beside, *h[1:]]
    diagonal, right = [1.0, *2.0 * (h[:-1] + h[1:]), 1.0], [first, *6.0 * np.diff(slopes), last]
    for k, number in enumerate(below):
        factor = number / diagonal[k]
        diagonal[k + 1] -= factor * above[k]
        right[k + 1] -= factor * right[k]
    M = [right[-1] / diagonal[-1]]
    for k in reversed(range(len(above))):
        M.insert(0, (right[k] - above[k] * M[0]) / diagonal[k])
    return M


def _cubic(points: InPieces, M: Sequence[float]) -> tuple[Array, Array, Array]:
    """`_pieces` of the cubic spline through points, with the second derivatives M there, straight outside."""
    h, y = np.diff(points.x), np.array(points.y)
    slopes, before, after = np.diff(y) / h, np.array(M[:-1]), np.array(M[1:])
    begin, end = slopes - h * (2.0 * before + after) / 6.0, slopes[-1] + h[-1] * (M[-2] + 2.0 * M[-1]) / 6.0
    bent = [[0.0, *row, 0.0] for row in (before / 2.0, (after - before) / (6.0 * h))]
    coefficients = [[y[0], *y], [begin[0], *begin, end], *bent]
    return np.array([-np.inf, *points.x]), np.array([points.x[0], *points.x]), np.array(coefficients)


# ---- The cubic spline of SIMM and OpenSim -------------------------------------------------------------------------


STRAIGHTNESS_TOLERANCE = 1e-12  # distance of a point from the line through the ends, relative to the largest value


@frozen(repr=False)
class SimmSpline(InPieces):
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
    _label: ClassVar[str] = "spline"

    @cached_property
    def _pieces(self) -> tuple[Array, Array, Array]:
        """As of a natural spline."""
        x, y = np.array(self.x), np.array(self.y)
        if len(x) < 4:
            return _cubic(self, [_highest_derivative(x, y) if len(x) == 3 else 0.0] * len(x))
        return _cubic(self, _curvatures(self, [_highest_derivative(x[k], y[k]) for k in (slice(4), slice(-4, None))]))

    @property
    def as_line(self) -> tuple[float, float] | None:
        x, y = np.array(self.x), np.array(self.y)
        factor = (y[-1] - y[0]) / (x[-1] - x[0])
        offset = y[0] - factor * x[0]
        off = np.abs(factor * x + offset - y).max()
        return (float(factor), float(offset)) if off <= STRAIGHTNESS_TOLERANCE * np.abs(y).max() else None


def _highest_derivative(x: Array, y: Array) -> float:
    """The derivative of order n - 1 of the polynomial through n points."""
    for k in range(1, len(x)):
        y = np.diff(y) / (x[k:] - x[:-k])
    return float(factorial(len(x) - 1) * y[0])


# ---- A smooth step from one value to another ----------------------------------------------------------------------


@frozen
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

    def _share(self, x: Array) -> tuple[Array, float]:
        """s, and the width of the step."""
        width = self.end - self.start
        return np.minimum(np.maximum((x - self.start) / width, 0.0), 1.0), width

    def value(self, x: Array) -> Array:
        return self.first + (self.last - self.first) * engaged(x - self.start, self.end - self.start)

    def integral(self, x: Array) -> Array:
        rise = self.last - self.first
        return self.first * x + rise * (self._step_integral(x) - self._step_integral(np.zeros(())))

    def _step_integral(self, x: Array) -> Array:
        """(...) the integral of S from `start` to x."""
        s, width = self._share(x)
        beyond = np.maximum((x - self.start) / width - 1.0, 0.0)
        return width * (s * s * s * s * (2.5 + s * (s - 3.0)) + beyond)

    def slope(self, x: Array) -> Array:
        s, width = self._share(x)
        return (self.last - self.first) / width * 30.0 * s * s * (1.0 - s) * (1.0 - s)

    def curvature(self, x: Array) -> Array:
        s, width = self._share(x)
        return (self.last - self.first) / (width * width) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
