"""Polynomials in pieces: the coefficients of the piece that holds x, chosen without a branch."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.kernels.control_flow.table_lookup import table_lookup
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic

__all__ = ["chosen", "increasing", "integrated"]

MAX_COMPARED_KNOTS = 32  # up to which each is compared; beyond, a kernel looks its entries up


def chosen(x: Array, knots: ArrayLike, *columns: ArrayLike) -> tuple[Array, ...]:
    """Of each column, the entry k with knots[k] <= x < knots[k + 1]; the first below, the last above.

    A derivative with respect to x sees constants.
    """
    marks, table = as_array(knots), np.stack([as_array(column) for column in columns], axis=-1)
    rows = _rows(x, marks, table)
    return tuple(rows[..., k][()] for k in range(len(columns)))


def _rows(x: Array, knots: Array, table: Array) -> Array:
    """(..., m) the row of a table (k, m) for every x.

    Numbers are found by a search. Symbols are compared with each knot, unless a kernel looks them up.
    """
    fixed = not is_symbolic(knots) and not is_symbolic(table)
    if fixed and not is_symbolic(x):
        found: Array = table[np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)]
        return found
    if fixed and len(knots) > MAX_COMPARED_KNOTS and (entries := table_lookup(x, knots, table.T)) is not None:
        return entries
    place = as_array(x)[..., None]
    result: Array = table[0] + 0.0 * place
    for knot, row in zip(knots[1:], table[1:], strict=True):
        result = np.where(place >= knot, row, result)
    return result


def integrated(x: Array, knots: Sequence[Any] | Array, origins: Sequence[Any] | Array, *coefficients: Any) -> Array:
    """(...) the integral from 0 to x of the function that is c0 + c1 (x - o) + ... in each piece, with the origin o.

    knots (k,), origins (k,) and every column of coefficients (k,), the constants first, as `chosen` takes them."""
    begin: list[Any] = list(knots)
    origin, rows = list(origins), list(zip(*coefficients, strict=True))
    constants: list[Any] = [0.0]  # which join the pieces
    for k in range(1, len(begin)):
        before = _power_sum(begin[k] - origin[k - 1], rows[k - 1])
        constants.append(constants[-1] + before - _power_sum(begin[k] - origin[k], rows[k]))

    def at(place: Array) -> Array:
        start, constant, *c = chosen(place, knots, origins, constants, *coefficients)
        result: Array = constant + _power_sum(place - start, c)
        return result

    return at(x) - at(np.zeros(()))


def _power_sum(dx: Any, coefficients: Sequence[Any]) -> Any:
    """c0 dx + c1 dx^2 / 2 + ..."""
    total = 0.0 * dx
    for power in range(len(coefficients), 0, -1):
        total = (total + coefficients[power - 1] / power) * dx
    return total


def increasing(name: str, x: Sequence[float], y: Sequence[float], least: int) -> None:
    """ValueError unless there are as many x as y, at least `least`, finite, and x increases."""
    if len(x) != len(y) or len(x) < least:
        raise ValueError(f"a {name} needs as many x as y, at least {least}, not {len(x)} and {len(y)}")
    if not np.isfinite([*x, *y]).all():
        raise ValueError(f"the points of a {name} must be finite")
    if any(b <= a for a, b in pairwise(x)):
        raise ValueError(f"the x of a {name} must increase, not {tuple(x)}")
