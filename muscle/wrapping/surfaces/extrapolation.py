"""Extrapolation to steps of length zero."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np

from myoquat.core.typing import Array

__all__ = ["extrapolated"]


def extrapolated(rule: Callable[[int], Array], counts: tuple[int, ...]) -> Array:
    """The limit of rule(n) for steps of length zero, from the numbers of steps n = `counts`.

    The error of rule(n) must hold even powers of the step only. The limit is sum_j rule(n_j) prod_i n_j^2 / (n_j^2 -
    n_i^2). Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.9.

    Rounding errors of the results grow with the sum of the weights' magnitudes.
    """
    total: Array = sum((_weight(n, counts) * rule(n) for n in counts), start=np.zeros(()))
    return total


@cache
def _weight(count: int, counts: tuple[int, ...]) -> float:
    return float(prod(Fraction(count**2, count**2 - other**2) for other in counts if other != count))
