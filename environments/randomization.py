"""Numbers of a model that are drawn anew at every reset."""

from collections.abc import Mapping, Sequence

import numpy as np

from myoquat.core.arguments import check_type, real_array
from myoquat.core.typing import Array
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters

__all__ = ["Randomization"]


class Randomization:
    """Uniform ranges of numbers of a model, by the names or patterns that studies use.

    ranges: name -> (low, high). ValueError for an unknown name, for one with two ranges, and for a range that is not
    two finite numbers in order.
    """

    def __init__(self, model: Model, ranges: Mapping[str, Sequence[float]]) -> None:
        bounds: dict[str, Array] = {}
        for pattern, pair in ranges.items():
            check_type("randomize: a name", pattern, str)
            checked = real_array(f"randomize: {pattern}", pair)
            if checked.shape != (2,) or not np.isfinite(checked).all() or checked[0] > checked[1]:
                raise ValueError(f"randomize: {pattern!r} needs a range (low, high) with low <= high, not {pair!r}")
            for name in Parameters.of(model, pattern).names:
                if name in bounds:
                    raise ValueError(f"randomize: {name!r} has two ranges, the second by {pattern!r}")
                bounds[name] = checked
        self.names = tuple(bounds)
        self.bounds = np.array(list(bounds.values())).reshape(-1, 2)

    def values(self, shares: Array) -> Array:
        """(n, k) numbers from shares (n, k), uniform in [0, 1)."""
        low, high = self.bounds.T
        found: Array = low + (high - low) * shares
        return found
