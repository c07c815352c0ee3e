"""Bounds of a quantity by name."""

from typing import Any, NamedTuple

import numpy as np

from myoquat.core.arguments import check_unmasked

__all__ = ["Bound", "interval"]


class Bound(NamedTuple):
    """Lower and upper bound."""

    lower: float
    upper: float


def interval(name: str, value: Any) -> Bound:
    """The bounds that a number (fixed) or a pair (lower, upper) means; ValueError for others and contradicting ones."""
    check_unmasked(name, value)
    pair = (value, value) if np.ndim(value) == 0 else tuple(value)
    if len(pair) != 2 or not all(isinstance(x, (int, float, np.number)) for x in pair):
        raise ValueError(f"{name!r}: a number or a pair (lower, upper) is needed, not {value!r}")
    low, high = map(float, pair)
    if np.isnan(low) or np.isnan(high):
        raise ValueError(f"{name!r}: a bound is NaN")
    if low == high and np.isinf(low):
        raise ValueError(f"{name!r} is fixed at {low:g}; a finite number or a pair (lower, upper) is needed")
    if low > high:
        raise ValueError(f"{name!r}: the bounds contradict each other: lower {low:g} is above upper {high:g}")
    return Bound(low, high)
