"""In which order a path comes to several surfaces, as numbers.

Of two surfaces the path comes first to the one whose number is less, or to the first of the list where both are equal.
The numbers are data, for each state of a batch its own, so that one kernel serves every order.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array
from myoquat.kernels import choose

__all__ = ["after", "before", "in_order"]

Swaps = list[tuple[int, Array]]  # pairs of neighbours, (i, i + 1), that are exchanged where the condition holds
Record = TypeVar("Record")


def before(order: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], start: Array) -> Array:
    """(..., n) the x of the last touched surface before the surface of this number, or `start` where there is none.

    on  (...) each, whether a surface is touched
    x   (..., n) of all surfaces
    """
    latest = -np.inf + 0.0 * order[number]
    for i, own in enumerate(order):
        if i != number:
            ahead = own <= order[number] if i < number else own < order[number]
            later = on[i] & ahead & (own >= latest)
            latest, start = np.where(later, own, latest), np.where(later[..., None], x[i], start)
    return start


def after(order: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], end: Array) -> Array:
    """(..., n) of all surfaces' x (..., n) that of the first one that is touched after the surface of this number, or
    `end` where none is."""
    turned = [-own for own in reversed(order)]
    return before(turned, on[::-1], len(order) - 1 - number, x[::-1], end)


def in_order(order: Sequence[Array], x: Sequence[Record]) -> tuple[list[Record], Callable[[Sequence[Any]], list[Any]]]:
    """The records of all surfaces in the order of the path, and a function that puts others back."""
    order, swaps = list(order), []
    for last in range(len(order) - 1, 0, -1):
        for i in range(last):
            swap = (i, order[i] > order[i + 1])
            swaps.append(swap)
            order = _swapped(order, [swap])
    return _swapped(x, swaps), lambda x: _swapped(x, swaps[::-1])


def _swapped(x: Sequence[Record], swaps: Swaps) -> list[Record]:
    x = list(x)
    for i, condition in swaps:
        x[i], x[i + 1] = choose(condition, x[i + 1], x[i]), choose(condition, x[i], x[i + 1])
    return x
