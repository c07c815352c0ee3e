"""Polynomials of a coordinate, constant and linear ones among them."""

from dataclasses import dataclass

from myoquat.joints.functions.base import AxisFunction
from myoquat.kernels.typing import Array

__all__ = ["Constant", "Linear", "Polynomial"]


@dataclass(frozen=True)
class Polynomial(AxisFunction):
    """f(x) = c0 + c1 x + c2 x^2 + ...: coefficients with the constant first."""

    coefficients: tuple[float, ...]

    def value(self, x: Array) -> Array:
        return _horner(self.coefficients, x)

    def slope(self, x: Array) -> Array:
        return _horner(_derivative(self.coefficients), x)

    def curvature(self, x: Array) -> Array:
        return _horner(_derivative(_derivative(self.coefficients)), x)


@dataclass(frozen=True)
class Linear(AxisFunction):
    """f(x) = factor x + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def value(self, x: Array) -> Array:
        return self.factor * x + self.offset

    def slope(self, x: Array) -> Array:
        return self.factor + 0.0 * x

    def curvature(self, x: Array) -> Array:
        return 0.0 * x


@dataclass(frozen=True)
class Constant(AxisFunction):
    """f(x) = constant."""

    constant: float = 0.0

    def value(self, x: Array) -> Array:
        return self.constant + 0.0 * x

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
