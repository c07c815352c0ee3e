"""Polynomials of several coordinates."""

from functools import cache
from math import comb
from typing import Any

from myoquat.core.arguments import check_unmasked
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array

__all__ = ["MultivariatePolynomial"]


@dataclass(frozen=True)
class MultivariatePolynomial(Record):
    """f(x) = sum of c x1^i x2^j ... over all powers whose sum is at most `order`, as OpenSim's
    MultivariatePolynomialFunction.

    The coefficients are in ascending order of the powers (i, j, ...), the last counting fastest. For two coordinates
    and order 2 they are those of 1, x2, x2^2, x1, x1 x2, x1^2. ValueError unless there are as many as powers.

    >>> import numpy as np
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> f = MultivariatePolynomial(dimension=2, order=1, coefficients=(0.3, 0.02, -0.05))  # 0.3 + 0.02 x2 - 0.05 x1
    >>> float(f.value(np.array([1.0, 2.0])).round(12))
    0.29
    """

    dimension: int
    order: int
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_unmasked("coefficients", self.coefficients)
        if self.dimension < 1 or self.order < 0:
            raise ValueError(f"a polynomial of {self.dimension} coordinates and order {self.order} does not exist")
        given = len(self.coefficients)
        if self.order > given or given != comb(self.dimension + self.order, self.order):
            raise ValueError(
                f"a polynomial of {self.dimension} coordinates and order {self.order} has as many coefficients as "
                f"powers whose sum is at most {self.order}, not {given}"
            )

    def value(self, x: Array) -> Array:
        """(...) f(x), of x (..., dimension), floats or symbols."""
        terms: dict[tuple[int, ...], Any] = dict(
            zip(_powers(self.dimension, self.order), self.coefficients, strict=True)
        )
        for k in reversed(range(self.dimension)):  # Horner's rule in the last coordinate, then in the one before, ...
            found: dict[tuple[int, ...], Any] = {}
            for power in sorted(terms, reverse=True):
                rest = power[:k]
                found[rest] = found.get(rest, 0.0 * x[..., k]) * x[..., k] + terms[power]
            terms = found
        result: Array = terms[()]
        return result


@cache
def _powers(dimension: int, order: int) -> tuple[tuple[int, ...], ...]:
    """All powers whose sum is at most `order`, ascending."""
    if dimension == 0:
        return ((),)
    return tuple((i, *rest) for i in range(order + 1) for rest in _powers(dimension - 1, order - i))
