"""Lower convex envelopes of functions of one variable, from their values at points."""

from copy import copy

import numpy as np

from myoquat.core.typing import Array

__all__ = ["Hulls"]

CLOSER = 6  # quarters of quarters of a segment at whose ends points are added
FLAT = 1e-13  # of the greatest slope: a corner by which a hull turns less is none


class Hulls:
    """Lower convex hulls of points (x, f(x)), one for each leading index: x (..., p) ascending and f (..., p), the
    vertices only; where a hull has fewer than the others its last one is repeated."""

    def __init__(self, x: Array, f: Array) -> None:
        span = x[..., None, :] - x[..., :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(span > 0, (f[..., None, :] - f[..., :, None]) / span, np.inf)
        ahead = np.minimum.accumulate(slope[..., ::-1], axis=-1)[..., ::-1][..., :, 1:]  # least slope beyond j, from i
        behind = np.tri(x.shape[-1] - 1, x.shape[-1], dtype=bool).T
        slopes = np.max(np.where(behind, ahead, -np.inf), axis=-2, initial=-np.inf)
        end = np.full((*x.shape[:-1], 1), np.inf)
        steep = np.abs(np.where(np.isfinite(slopes), slopes, 0.0)).max(axis=-1, initial=0.0)[..., None]
        left, right = np.concatenate([-end, slopes], axis=-1), np.concatenate([slopes, end], axis=-1)
        known = left < np.inf
        corner = known & (right - np.where(known, left, 0.0) > FLAT * steep)
        order = np.argsort(~corner, axis=-1, kind="stable")[..., : int(corner.sum(axis=-1).max(initial=1))]
        last = corner.sum(axis=-1)[..., None] - 1
        kept = np.where(np.arange(order.shape[-1]) < last, order, np.take_along_axis(order, last, axis=-1))
        self.x, self.f = np.take_along_axis(x, kept, axis=-1), np.take_along_axis(f, kept, axis=-1)

    def joined(self, x: Array, f: Array) -> "Hulls":
        """The hulls with more points (..., q), of which none need be new."""
        x, f = np.concatenate([self.x, x], axis=-1), np.concatenate([self.f, f], axis=-1)
        order = np.argsort(x, axis=-1, kind="stable")
        return Hulls(np.take_along_axis(x, order, axis=-1), np.take_along_axis(f, order, axis=-1))

    def taken(self, rows: Array) -> "Hulls":
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
        """(..., 12) points of the segment around `at` (...), closer and closer to its ends: a straight piece of an
        envelope may reach less far than points in its middle show."""
        part = 0.25 ** np.arange(1, CLOSER + 1)
        return self._inside(at, 0, np.concatenate([part, 1 - part]))

    def _inside(self, at: Array, off: int, part: Array) -> Array:
        left = np.clip(self.segment(at) + off, 0, self.x.shape[-1] - 1)[..., None]
        right = np.minimum(left + 1, self.x.shape[-1] - 1)
        x0, x1 = (np.take_along_axis(self.x, k, axis=-1) for k in (left, right))
        result: Array = x0 + part * (x1 - x0)
        return result
