"""Lower bounds of functions of one variable on intervals, by branch and bound.

Between two neighbouring points a convex function is at or above the lines through the neighbours on either side. A
concave one is at or above the lesser of its ends. The lesser of these bounds also holds for a corner between convex
pieces. Cells with low bounds are divided until the bounds meet the values [R. Horst, H. Tuy, Global Optimization, 3rd
ed., 1996, chapter IV]."""

from collections.abc import Callable

import numpy as np

from myoquat.core.typing import Array

__all__ = ["lower_bounds"]

Functions = Callable[[Array, Array], Array]  # numbers of rows (r,) and points (r, m, p) to values (r, m, p)

MAX_DIVISIONS = 12
DIVIDED_CELLS = 4  # of each function in an iteration: those with the lowest bounds
KEPT_CELLS = 24  # of each function: others with low bounds, which may be divided later
PARTS = 8  # of a divided cell


def lower_bounds(functions: Functions, points: Array, tolerance: Array) -> Array:
    """(k, m) lower bounds of the functions on the intervals from the first to the last of their points.

    points (k, m, p) ascend, some may be equal. Cells are divided at most 12 times, until the bounds of a row's
    functions are together at most its `tolerance` (k,) below the least values found. Between any four neighbouring
    points a function must be convex, concave, or convex on either side of a single corner.
    """
    every = np.arange(len(points))
    cells = _Cells.of(points, functions(every, points))
    bound = np.empty(points.shape[:2])
    rest = np.full(points.shape[:2], np.inf)  # the least bound of cells that are not divided any more
    least = cells.least
    for division in range(MAX_DIVISIONS + 1):
        found, least = np.minimum(cells.bound.min(axis=-1), rest), np.minimum(least, cells.least)
        bound[every] = found
        open_ = (least - found).sum(axis=-1) > tolerance[every]
        if division == MAX_DIVISIONS or not open_.any():
            break
        every, rest, least = every[open_], rest[open_], least[open_]
        divided, kept, left = cells.subset(open_).lowest()
        cells, rest = divided.divided(functions, every, points[every]).beside(kept), np.minimum(rest, left)
    return bound


class _Cells:
    """Cells [x0, x1] (k, m, n) with the values f0, f1 at their ends, and the slopes of the lines beside them.

    The slope to the left of the first cell is inf, that to the right of the last cell -inf.
    """

    def __init__(self, x0: Array, x1: Array, f0: Array, f1: Array, before: Array, after: Array) -> None:
        self.fields = (x0, x1, f0, f1, before, after)
        fall, rise = np.minimum(before, 0.0) * (x1 - x0), np.maximum(after, 0.0) * (x1 - x0)
        self.bound = np.minimum(f0 + fall, f1 - rise)
        self.least = np.minimum(f0, f1).min(axis=-1)

    @classmethod
    def of(cls, x: Array, f: Array) -> "_Cells":
        """Between points (k, m, n + 1) and their values."""
        slope = _slopes(x, f)
        end = np.full((*x.shape[:-1], 1), np.inf)
        before = np.concatenate([end, slope[..., :-1]], axis=-1)
        after = np.concatenate([slope[..., 1:], -end], axis=-1)
        return cls(x[..., :-1], x[..., 1:], f[..., :-1], f[..., 1:], before, after)

    def subset(self, rows: Array) -> "_Cells":
        return _Cells(*(v[rows] for v in self.fields))

    def beside(self, others: "_Cells") -> "_Cells":
        return _Cells(*(np.concatenate(pair, axis=-1) for pair in zip(self.fields, others.fields, strict=True)))

    def lowest(self) -> tuple["_Cells", "_Cells", Array]:
        """The cells with the lowest bounds, some with the next lowest, and (k, m) the least bound of the others."""
        order = np.argsort(self.bound, axis=-1, kind="stable")
        first, kept, others = np.split(order, [DIVIDED_CELLS, DIVIDED_CELLS + KEPT_CELLS], axis=-1)
        left = np.take_along_axis(self.bound, others, axis=-1).min(axis=-1, initial=np.inf)
        parts = [_Cells(*(np.take_along_axis(v, own, axis=-1) for v in self.fields)) for own in (first, kept)]
        return parts[0], parts[1], left

    def divided(self, functions: Functions, rows: Array, points: Array) -> "_Cells":
        """Cells of an eighth of the width, on the intervals of `points`."""
        x0, x1, _, _, before, after = self.fields
        size = x0.shape
        part = np.arange(-1, PARTS + 2) / PARTS
        inner = (np.arange(PARTS + 3) > 0) & (np.arange(PARTS + 3) < PARTS + 2)
        first, last = np.isposinf(before)[..., None], np.isneginf(after)[..., None]
        x = x0[..., None] * (1 - part) + x1[..., None] * part
        x = np.where(first & (part < 0), x0[..., None], np.where(last & (part > 1), x1[..., None], x))
        x = np.clip(x, points[..., :1, None], points[..., -1:, None])
        f = functions(rows, x.reshape(*size[:2], -1)).reshape(x.shape)
        slope = _slopes(x, f)
        ahead, behind = slope[..., :-2].copy(), slope[..., 2:].copy()
        ahead[..., :1] = np.where(first, np.inf, ahead[..., :1])
        behind[..., -1:] = np.where(last, -np.inf, behind[..., -1:])
        x, f = x[..., inner], f[..., inner]
        parts = (x[..., :-1], x[..., 1:], f[..., :-1], f[..., 1:], ahead, behind)
        return _Cells(*(v.reshape(*size[:2], -1) for v in parts))


def _slopes(x: Array, f: Array) -> Array:
    """(..., n) of the lines between (..., n + 1) points; that of the line before where two points are equal."""
    width = np.diff(x, axis=-1)
    slope = np.where(width > 0, np.diff(f, axis=-1) / np.where(width > 0, width, 1.0), np.nan)
    for k in range(1, slope.shape[-1]):
        slope[..., k] = np.where(np.isnan(slope[..., k]), slope[..., k - 1], slope[..., k])
    return np.where(np.isnan(slope), 0.0, slope)
