"""Extrapolation to steps of length zero."""

from collections.abc import Callable

import numpy as np

from myoquat.core.typing import Array

__all__ = ["extrapolated"]


def extrapolated(rule: Callable[[int], Array], last: int) -> Array:
    """The limit of rule(1), ..., rule(last), results of 1, ..., last steps whose error holds even powers of the step
    only: sum_j rule(j) prod_i j^2 / (j^2 - i^2) [E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
    Equations I, II.9]."""
    counts = range(1, last + 1)
    weights = [np.prod([count**2 / (count**2 - other**2) for other in counts if other != count]) for count in counts]
    total: Array = sum(
        (weight * rule(count) for count, weight in zip(counts, weights, strict=True)), start=np.zeros(())
    )
    return total
