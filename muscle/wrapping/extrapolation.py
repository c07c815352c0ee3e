"""Extrapolation to steps of length zero."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["extrapolated"]


def extrapolated(rule: Callable[[int], Any], last: int) -> Any:
    """The limit of rule(1), ..., rule(last), results of 1, ..., last steps whose error holds even powers of the step
    only: sum_j rule(j) prod_i j^2 / (j^2 - i^2) [E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
    Equations I, II.9]."""
    counts = range(1, last + 1)
    total: Any = 0.0
    for count in counts:
        weight = np.prod([count**2 / (count**2 - other**2) for other in counts if other != count])
        total = total + weight * rule(count)
    return total
