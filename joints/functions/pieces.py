"""Polynomials in pieces: the coefficients of the piece that holds x, chosen without a branch."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from myoquat.kernels.arrays import as_array, is_symbolic
from myoquat.kernels.lookup import looked_up
from myoquat.kernels.typing import Array, ArrayLike

__all__ = ["chosen", "increasing"]

FEW = 32  # knots up to which a comparison for each is written, beyond which a kernel looks its entries up


def chosen(x: Array, knots: ArrayLike, *columns: ArrayLike) -> tuple[Array, ...]:
    """Of each column, the entry k with knots[k] <= x < knots[k + 1]; the first below, the last above.

    A derivative with respect to x sees constants.
    """
    marks, table = as_array(knots), np.stack([as_array(column) for column in columns], axis=-1)
    rows = _rows(x, marks, table)
    return tuple(rows[..., k][()] for k in range(len(columns)))


def _rows(x: Array, knots: Array, table: Array) -> Array:
    """(..., m) the row of a table (k, m) for every x: of numbers by a search, of symbols by a comparison with each knot
    unless a kernel looks it up."""
    fixed = not is_symbolic(knots) and not is_symbolic(table)
    if fixed and not is_symbolic(x):
        found: Array = table[np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)]
        return found
    if fixed and len(knots) > FEW and (entries := looked_up(x, knots, table.T)) is not None:
        return entries
    place = as_array(x)[..., None]
    result: Array = table[0] + 0.0 * place
    for knot, row in zip(knots[1:], table[1:], strict=True):
        result = np.where(place >= knot, row, result)
    return result


def increasing(name: str, x: Sequence[float], y: Sequence[float], least: int) -> None:
    """ValueError unless there are as many x as y, at least `least`, finite, and x increases."""
    if len(x) != len(y) or len(x) < least:
        raise ValueError(f"a {name} needs as many x as y, at least {least}, not {len(x)} and {len(y)}")
    if not np.isfinite([*x, *y]).all():
        raise ValueError(f"the points of a {name} must be finite")
    if any(b <= a for a, b in pairwise(x)):
        raise ValueError(f"the x of a {name} must increase, not {tuple(x)}")
