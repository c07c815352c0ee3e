"""Functions of one formula: polynomials of one and of several arguments, sines, and multiples of other functions."""

from abc import abstractmethod
from dataclasses import replace
from functools import cache
from math import comb
from typing import Any

import numpy as np

from myoquat.core import Array, Record, check_types, frozen, unchecked
from myoquat.joints.ranges import check_ranges

from .base import AxisFunction

# ---- Polynomials of a coordinate, constant and linear ones among them ---------------------------------------------


class OfCoefficients(AxisFunction):
    """A function by its coefficients as a polynomial."""

    @property
    @abstractmethod
    def as_polynomial(self) -> tuple[float, ...]: ...

    def value(self, x: Array) -> Array:
        return _horner(self.as_polynomial, x)

    def slope(self, x: Array) -> Array:
        return _horner(_derivative(self.as_polynomial), x)

    def curvature(self, x: Array) -> Array:
        return _horner(_derivative(_derivative(self.as_polynomial)), x)

    def integral(self, x: Array) -> Array:
        return _horner((0.0, *(c / k for k, c in enumerate(self.as_polynomial, start=1))), x)


@frozen
class Polynomial(OfCoefficients):
    """f(x) = c0 + c1 x + c2 x^2 + ...: coefficients with the constant first.

    >>> from myoquat.joints.functions import Polynomial
    >>> square = Polynomial((1.0, 0.0, 2.0))  # 1 + 2 x^2
    >>> square.value(3.0), square.slope(3.0), square.curvature(3.0)
    (19.0, 12.0, 4.0)
    """

    coefficients: tuple[float, ...]

    @property
    def as_polynomial(self) -> tuple[float, ...]:
        return self.coefficients


@frozen
class Linear(OfCoefficients):
    """f(x) = factor x + offset.

    >>> from myoquat.joints.functions import Linear
    >>> line = Linear(factor=2.0, offset=1.0)
    >>> line.value(3.0), line.slope(3.0)
    (7.0, 2.0)
    """

    factor: float = 1.0
    offset: float = 0.0

    @property
    def as_polynomial(self) -> tuple[float, ...]:
        return (self.offset, self.factor)


@frozen
class Constant(OfCoefficients):
    """f(x) = constant.

    >>> from myoquat.joints.functions import Constant
    >>> Constant(0.05).value(3.0), Constant(0.05).slope(3.0)
    (0.05, 0.0)
    """

    constant: float = 0.0

    @property
    def as_polynomial(self) -> tuple[float, ...]:
        return (self.constant,)


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    if len(coefficients) < 2:
        return sum(coefficients) + 0.0 * x
    *others, result = coefficients
    for c in reversed(others):
        result = result * x + c  # type: ignore[assignment]
    return result  # type: ignore[return-value]


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


# ---- Polynomials of several coordinates ---------------------------------------------------------------------------


@frozen
class MultivariatePolynomial(Record):
    """f(x) = sum of c x1^i x2^j ... over all powers whose sum is at most `order`, as OpenSim's
    MultivariatePolynomialFunction.

    The coefficients are in ascending order of the powers (i, j, ...), the last counting fastest. For two coordinates
    and order 2 they are those of 1, x2, x2^2, x1, x1 x2, x1^2. ValueError unless there are as many as powers.

    >>> import numpy as np
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> f = MultivariatePolynomial(dimension=2, order=1, coefficients=(0.3, 0.02, -0.05))  # 0.3 + 0.02 x2 - 0.05 x1
    >>> float(f.value(np.array([1.0, 2.0])).round(12)), f.partial(0).coefficients
    (0.29, (-0.05,))
    """

    dimension: int
    order: int
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, None, f"{type(self).__name__}: ")
        if self.dimension < 1 or self.order < 0:
            raise ValueError(f"a polynomial of {self.dimension} coordinates and order {self.order} does not exist")
        given = len(self.coefficients)
        if self.order > given or given != comb(self.dimension + self.order, self.order):
            raise ValueError(
                f"a polynomial of {self.dimension} coordinates and order {self.order} has as many coefficients as "
                f"powers whose sum is at most {self.order}, not {given}"
            )

    @property
    def as_constant(self) -> float | None:
        """The value of a function that does not vary; None for another one."""
        return None if any(self.coefficients[1:]) else self.coefficients[0]

    @property
    def powers(self) -> tuple[tuple[int, ...], ...]:
        """(k, dimension) the powers of the terms, in the order of their coefficients."""
        return _powers(self.dimension, self.order)

    def partial(self, k: int) -> "MultivariatePolynomial":
        """df/dx_k, a polynomial of the same coordinates."""
        if not self.order:
            return replace(self, coefficients=(0.0,))
        terms = dict(zip(self.powers, self.coefficients, strict=True))
        raised = [(*row[:k], row[k] + 1, *row[k + 1 :]) for row in _powers(self.dimension, self.order - 1)]
        coefficients = tuple(power[k] * terms[power] for power in raised)
        return unchecked(self, {"order": self.order - 1, "coefficients": coefficients})

    def value(self, x: Array) -> Array:
        """(...) f(x), of x (..., dimension), floats or symbols."""
        terms: dict[tuple[int, ...], Any] = dict(zip(self.powers, self.coefficients, strict=True))
        for k in reversed(range(self.dimension)):  # Horner's rule in the last coordinate, then in the one before, ...
            found: dict[tuple[int, ...], Any] = {}
            for power in sorted(terms, reverse=True):
                rest = power[:k]
                found[rest] = found.get(rest, 0.0 * x[..., k]) * x[..., k] + terms[power]
            terms = found
        return terms[()]


@cache
def _powers(dimension: int, order: int) -> tuple[tuple[int, ...], ...]:
    """All powers whose sum is at most `order`, ascending."""
    if dimension == 0:
        return ((),)
    return tuple((i, *rest) for i in range(order + 1) for rest in _powers(dimension - 1, order - i))


# ---- A sine wave --------------------------------------------------------------------------------------------------


@frozen
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
        return self.amplitude * np.sin(self.omega * x + self.phase) + self.offset

    def integral(self, x: Array) -> Array:
        h = self.omega * x / 2  # (cos(p) - cos(2 h + p)) / omega = x sin(h) sin(h + p) / h, also for omega = 0
        turning = np.abs(h) > 0
        share = np.where(turning, np.sin(h) / np.where(turning, h, 1.0), 1.0)
        return x * (self.amplitude * share * np.sin(h + self.phase) + self.offset)

    def slope(self, x: Array) -> Array:
        return self.amplitude * self.omega * np.cos(self.omega * x + self.phase)

    def curvature(self, x: Array) -> Array:
        return -self.amplitude * self.omega * self.omega * np.sin(self.omega * x + self.phase)


# ---- A multiple of another function -------------------------------------------------------------------------------


@frozen
class Multiplier(AxisFunction):
    """f(x) = scale function(x): how scaled models keep the functions of the generic one.

    >>> from myoquat.joints.functions import Linear, Multiplier
    >>> Multiplier(Linear(2.0), scale=10.0).value(3.0)
    60.0
    """

    function: AxisFunction
    scale: float = 1.0

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.function.kinks

    @property
    def as_polynomial(self) -> tuple[float, ...] | None:
        found = self.function.as_polynomial
        return None if found is None else tuple(self.scale * c for c in found)

    @property
    def as_line(self) -> tuple[float, float] | None:
        found = self.function.as_line
        return found and (self.scale * found[0], self.scale * found[1])

    @property
    def as_constant(self) -> float | None:
        found = self.function.as_constant
        return None if found is None else self.scale * found

    def value(self, x: Array) -> Array:
        return self.scale * self.function.value(x)

    def slope(self, x: Array) -> Array:
        return self.scale * self.function.slope(x)

    def curvature(self, x: Array) -> Array:
        return self.scale * self.function.curvature(x)

    def integral(self, x: Array) -> Array:
        return self.scale * self.function.integral(x)


# ---- Which functions are polynomials, and which -------------------------------------------------------------------


def coefficients_of(function: AxisFunction) -> tuple[float, ...] | None:
    """Coefficients of a polynomial, the constant first; None for a function that is none.

    >>> from myoquat.joints.functions import Linear, Multiplier, coefficients_of
    >>> coefficients_of(Multiplier(Linear(2.0, offset=1.0), scale=3.0))
    (3.0, 6.0)
    """
    check_types(function=(function, AxisFunction))
    return function.as_polynomial


def straight_line(function: AxisFunction) -> tuple[float, float] | None:
    """(factor, offset) of a function f(x) = factor x + offset, also of a SIMM spline through points of a line; None for
    another one.

    >>> from myoquat.joints.functions import SimmSpline, straight_line
    >>> straight_line(SimmSpline((0.0, 2.0), (1.0, 5.0)))
    (2.0, 1.0)
    """
    check_types(function=(function, AxisFunction))
    return function.as_line
