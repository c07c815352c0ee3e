"""Polynomials of a coordinate, constant and linear ones among them."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction

__all__ = ["Constant", "Linear", "Polynomial"]


@dataclass(frozen=True)
class Polynomial(AxisFunction):
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

    def value(self, x: Array) -> Array:
        return _horner(self.coefficients, x)

    def slope(self, x: Array) -> Array:
        return _horner(_derivative(self.coefficients), x)

    def curvature(self, x: Array) -> Array:
        return _horner(_derivative(_derivative(self.coefficients)), x)

    def integral(self, x: Array) -> Array:
        return _horner((0.0, *(c / k for k, c in enumerate(self.coefficients, start=1))), x)


@dataclass(frozen=True)
class Linear(AxisFunction):
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

    def value(self, x: Array) -> Array:
        return self.factor * x + self.offset

    def integral(self, x: Array) -> Array:
        return (self.factor / 2 * x + self.offset) * x

    def slope(self, x: Array) -> Array:
        return self.factor + 0.0 * x

    def curvature(self, x: Array) -> Array:
        return 0.0 * x


@dataclass(frozen=True)
class Constant(AxisFunction):
    """f(x) = constant.

    >>> from myoquat.joints.functions import Constant
    >>> Constant(0.05).value(3.0), Constant(0.05).slope(3.0)
    (0.05, 0.0)
    """

    constant: float = 0.0

    @property
    def as_polynomial(self) -> tuple[float, ...]:
        return (self.constant,)

    def value(self, x: Array) -> Array:
        return self.constant + 0.0 * x

    def integral(self, x: Array) -> Array:
        return self.constant * x

    def slope(self, x: Array) -> Array:
        return 0.0 * x

    def curvature(self, x: Array) -> Array:
        return 0.0 * x


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    result = 0.0 * x
    for c in reversed(coefficients):
        result = result * x + c
    return result


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]
