"""Lower convex envelopes of functions of one variable, from their values at points."""

import math
from copy import copy

import numpy as np

from myoquat.core.typing import Array

__all__ = ["Hulls"]

END_POINTS = 6  # added near each end of a segment, each at a quarter of the distance of the last
MIN_SLOPE_CHANGE = 1e-13  # of the greatest slope: hulls have no corner with less


class Hulls:
    """Lower convex hulls of points (x, f(x)), one for each leading index: x (..., p) ascending and f (..., p), the
    vertices only. Where a hull has fewer than the others its last one is repeated."""

    def __init__(self, x: Array, f: Array) -> None:
        shape, p = x.shape, x.shape[-1]
        x, f, row = x.ravel(), f.ravel(), np.repeat(np.arange(x.size // p), p)
        vertex = np.append(True, (x[1:] > x[:-1]) | (row[1:] > row[:-1]))
        while not vertex.all():  # neighbours are compared once more when points between them are gone
            x, f, row = x[vertex], f[vertex], row[vertex]
            vertex = _below_neighbours(x, f, row)
        count = np.bincount(row, minlength=math.prod(shape[:-1]))
        last = np.cumsum(count) - 1
        place = np.minimum((last - count + 1)[:, None] + np.arange(count.max(initial=1)), last[:, None])
        self.x, self.f = x[place].reshape(*shape[:-1], -1), f[place].reshape(*shape[:-1], -1)

    def joined(self, x: Array, f: Array) -> "Hulls":
        """The hulls with more points (..., q), of which none need be new."""
        x, f = np.concatenate([self.x, x], axis=-1), np.concatenate([self.f, f], axis=-1)
        order = np.argsort(x, axis=-1, kind="stable")
        return Hulls(np.take_along_axis(x, order, axis=-1), np.take_along_axis(f, order, axis=-1))

    def subset(self, rows: Array) -> "Hulls":
        """Some of the hulls, by their numbers along the first axis."""
        part = copy(self)
        part.x, part.f = self.x[rows], self.f[rows]
        return part

    def segment(self, at: Array) -> Array:
        """(...) the number of the vertex left of `at` (...), that of an end but the last."""
        inner = np.sum(self.x < np.asarray(at)[..., None], axis=-1) - 1
        last = np.sum(self.x < self.x[..., -1:], axis=-1) - 1
        result: Array = np.clip(inner, 0, np.maximum(last, 0))
        return result

    def values(self, at: Array) -> Array:
        """(...) the hulls at points (...) between their ends."""
        left = self.segment(at)[..., None]
        right = np.minimum(left + 1, self.x.shape[-1] - 1)
        (x0, x1), (f0, f1) = (
            [np.take_along_axis(v, k, axis=-1)[..., 0] for k in (left, right)] for v in (self.x, self.f)
        )
        part = np.where(x1 > x0, (at - x0) / np.where(x1 > x0, x1 - x0, 1.0), 0.0)
        result: Array = f0 + part * (f1 - f0)
        return result

    def near(self, at: Array, count: int) -> tuple[Array, Array]:
        """(..., count) vertices, the nearest by their number to any of the points `at` (..., q), and both ends; the
        last one repeated where there are fewer."""
        numbers = np.arange(self.x.shape[-1])
        away = np.full(self.x.shape, np.inf)
        for k in range(at.shape[-1]):
            away = np.minimum(away, np.abs(numbers - self.segment(at[..., k])[..., None] - 0.5))
        away = np.where(numbers == 0, -1.0, np.where(self.x >= self.x[..., -1:], np.inf, away))
        chosen = np.sort(np.argsort(away, axis=-1, kind="stable")[..., : count - 1], axis=-1)
        missing = count - 1 - chosen.shape[-1]
        last = np.full((*chosen.shape[:-1], missing + 1), self.x.shape[-1] - 1)
        chosen = np.concatenate([chosen, last], axis=-1)
        return np.take_along_axis(self.x, chosen, axis=-1), np.take_along_axis(self.f, chosen, axis=-1)

    def between(self, at: Array) -> Array:
        """(..., 9) points that quarter the segment around `at` (...) and the two beside it."""
        return np.concatenate([self._inside(at, off, np.arange(1, 4) / 4) for off in (-1, 0, 1)], axis=-1)

    def at_ends(self, at: Array) -> Array:
        """(..., 12) points of the segment around `at` (...), closer and closer to its ends. A straight piece of an
        envelope may be shorter than points in its middle show."""
        part = 0.25 ** np.arange(1, END_POINTS + 1)
        return self._inside(at, 0, np.concatenate([part, 1 - part]))

    def _inside(self, at: Array, off: int, part: Array) -> Array:
        left = np.clip(self.segment(at) + off, 0, self.x.shape[-1] - 1)[..., None]
        right = np.minimum(left + 1, self.x.shape[-1] - 1)
        x0, x1 = (np.take_along_axis(self.x, k, axis=-1) for k in (left, right))
        result: Array = x0 + part * (x1 - x0)
        return result


def _below_neighbours(x: Array, f: Array, row: Array) -> Array:
    """(q,) whether a point is below the line between its neighbours in its row, or at an end of it."""
    found = np.ones(len(x), dtype=bool)
    if len(x) < 3:
        return found
    end = row[1:] > row[:-1]
    slope = np.where(end, 0.0, np.diff(f) / np.where(end, 1.0, np.diff(x)))
    steep = np.zeros(row[-1] + 1)
    np.maximum.at(steep, row[1:], np.abs(slope))
    found[1:-1] = end[:-1] | end[1:] | (slope[1:] - slope[:-1] > MIN_SLOPE_CHANGE * steep[row[1:-1]])
    return found
