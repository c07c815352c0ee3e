"""Polynomials in pieces: the coefficients of the piece that holds x, chosen without a branch."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from myoquat.kernels.arrays import is_symbolic
from myoquat.kernels.lookup import looked_up
from myoquat.kernels.typing import Array

__all__ = ["chosen", "increasing"]

FEW = 32  # knots up to which a comparison for each is written, beyond which a kernel looks its entries up


def chosen(x: Array, knots: Sequence[float], *columns: Sequence[float]) -> tuple[Array, ...]:
    """Of each column, the entry k with knots[k] <= x < knots[k + 1]; the first below, the last above.

    A derivative with respect to x sees constants.
    """
    fixed = all(isinstance(entry, float) for column in columns for entry in column)
    if fixed and not is_symbolic(x):  # the same entries without a comparison for every knot
        piece = np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)
        return tuple(np.asarray(column)[piece] for column in columns)
    if len(knots) > FEW and (found := looked_up(x, knots, columns)) is not None:
        return tuple(found[..., k] for k in range(len(columns)))
    if fixed:
        return _selected(x, knots, np.array(columns).T)
    result: list[Array] = [column[0] + 0.0 * x for column in columns]
    for k in range(1, len(knots)):
        after = x >= knots[k]
        result = [np.where(after, column[k], value) for column, value in zip(columns, result, strict=True)]
    return tuple(result)


def _selected(x: Array, knots: Sequence[float], table: Array) -> tuple[Array, ...]:
    """The same of symbols, all columns of a table (knots, columns) at once: symbols are slow one by one."""
    result = table[0] + 0.0 * x[..., None]
    for k in range(1, len(knots)):
        result = np.where((x >= knots[k])[..., None], table[k], result)
    return tuple(result[..., j] for j in range(table.shape[1]))


def increasing(name: str, x: Sequence[float], y: Sequence[float], least: int) -> None:
    """ValueError unless there are as many x as y, at least `least`, finite, and x increases."""
    if len(x) != len(y) or len(x) < least:
        raise ValueError(f"a {name} needs as many x as y, at least {least}, not {len(x)} and {len(y)}")
    if not np.isfinite([*x, *y]).all():
        raise ValueError(f"the points of a {name} must be finite")
    if any(b <= a for a, b in pairwise(x)):
        raise ValueError(f"the x of a {name} must increase, not {tuple(x)}")
