"""In which order a path comes to several surfaces: places along it, as numbers.

Of two surfaces the path comes first to the one whose place is less, or to the first of the list where both are equal.
Places are data, for each state of a batch its own, so that one kernel serves every order.
"""

from collections.abc import Callable, Sequence

import numpy as np

from myoquat.core.typing import Array

__all__ = ["after", "before", "in_order"]

Swaps = list[tuple[int, Array]]  # pairs of neighbours, (i, i + 1), that change places where the condition holds


def before(places: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], start: Array) -> Array:
    """(..., n) of all surfaces' x (..., n) that of the last one that is touched, `on` (...), before the surface of this
    number, or `start` where none is."""
    latest = -np.inf + 0.0 * places[number]
    for i, place in enumerate(places):
        if i != number:
            ahead = place <= places[number] if i < number else place < places[number]
            later = on[i] & ahead & (place >= latest)
            latest, start = np.where(later, place, latest), np.where(later[..., None], x[i], start)
    return start


def after(places: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], end: Array) -> Array:
    """(..., n) of all surfaces' x (..., n) that of the first one that is touched after the surface of this number, or
    `end` where none is."""
    turned = [-place for place in reversed(places)]
    return before(turned, on[::-1], len(places) - 1 - number, x[::-1], end)


def in_order(
    places: Sequence[Array], x: Sequence[Array]
) -> tuple[list[Array], Callable[[Sequence[Array]], list[Array]]]:
    """The numbers (..., n) of all surfaces in the order of the path, and a function that puts others back."""
    places, swaps = list(places), []
    for last in range(len(places) - 1, 0, -1):
        for i in range(last):
            swap = (i, places[i] > places[i + 1])
            swaps.append(swap)
            places = [place[..., 0] for place in _swapped([place[..., None] for place in places], [swap])]
    return _swapped(x, swaps), lambda x: _swapped(x, swaps[::-1])


def _swapped(x: Sequence[Array], swaps: Swaps) -> list[Array]:
    x = list(x)
    for i, condition in swaps:
        turned = condition[..., None]
        x[i], x[i + 1] = np.where(turned, x[i + 1], x[i]), np.where(turned, x[i], x[i + 1])
    return x
