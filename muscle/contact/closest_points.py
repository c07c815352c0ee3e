"""Closest points of two convex cores: the distance algorithm of Gilbert, Johnson and Keerthi.

It searches the point v of the set of all differences b - a that is nearest to the origin. A simplex of at most four
such differences holds the best v so far. Each step adds the difference that is farthest towards the origin and keeps
the face on which the nearest point lies. The error of |v|^2 is bounded by |v|^2 - v . w (Gilbert, Johnson, Keerthi
1988, IEEE J. Robot. Autom. 4, 193-203, eq. 18). All 15 faces are compared, as in the backup procedure there, so that
there are no branches.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import cross, dot, matvec, vecmat
from myoquat.kernels import static, while_loop
from myoquat.muscle.contact.surfaces import Support

__all__ = ["ClosestPoints", "PlacedCore", "closest_on_segments", "closest_points"]

MAX_STEPS = 64
RELATIVE_GAP = 1e-12  # of |v|^2, from which on a step no longer improves v
FLAT = 1e-14  # squared sine of an angle, or relative squared length, of a face that is degenerate


@dataclass(frozen=True)
class PlacedCore:
    """A core in the world: its sizes (..., k), rotation R (..., 3, 3), centre p (..., 3) and support function."""

    sizes: Array
    R: Array
    p: Array
    support: Support = static()

    def farthest(self, direction: Array) -> Array:
        """(..., 3) its point in the world that is farthest along a direction (..., 3)."""
        return self.p + matvec(self.R, self.support(vecmat(direction, self.R), self.sizes))


@dataclass(frozen=True)
class ClosestPoints:
    """On the first and second core, (..., 3) [m] in the world; equal where the cores overlap."""

    first: Array
    second: Array


@dataclass(frozen=True)
class _Pair:
    first: PlacedCore
    second: PlacedCore


@dataclass(frozen=True)
class _Search:
    """The state of the search.

    corners   (..., 4, 3) of the simplex
    points    (..., 4, 3) of the first core, one for each corner
    weights   (..., 4) of the corners
    v         (..., 3) the nearest point
    square    (...) |v|^2
    improves  (...) whether v can still be improved
    """

    corners: Array
    points: Array
    weights: Array
    v: Array
    square: Array
    improves: Array


def closest_points(first: PlacedCore, second: PlacedCore) -> ClosestPoints:
    """The closest points of two convex cores."""
    pair = _Pair(first, second)
    between = second.p - first.p
    a, w = _support(pair, between)
    zero = 0.0 * w[..., 0]
    start = _Search(
        np.stack([w] * 4, axis=-2), np.stack([a] * 4, axis=-2), np.stack([zero + 1.0, zero, zero, zero], axis=-1),
        w, dot(w, w), dot(w, w) > 0,
    )  # fmt: skip
    found = while_loop(lambda search: search.improves, _step, start, pair, max_steps=MAX_STEPS)
    on_first = _mean(found.weights, found.points)
    return ClosestPoints(on_first, on_first + found.v)


def _support(pair: _Pair, v: Array) -> tuple[Array, Array]:
    """The point of the first core farthest along v, and the difference of the cores that is farthest against v."""
    a = pair.first.farthest(v)
    return a, pair.second.farthest(-v) - a


def _step(search: _Search, pair: _Pair) -> _Search:
    a, w = _support(pair, search.v)
    gap = search.square - dot(search.v, w)
    corners = np.stack([_filled(search, k, search.corners, w) for k in range(4)], axis=-2)
    points = np.stack([_filled(search, k, search.points, a) for k in range(4)], axis=-2)
    weights, square = _nearest(corners)
    better = (gap > RELATIVE_GAP * search.square) & (square < search.square)
    v = _mean(weights, corners)
    return _Search(
        np.where(better[..., None, None], corners, search.corners),
        np.where(better[..., None, None], points, search.points),
        np.where(better[..., None], weights, search.weights),
        np.where(better[..., None], v, search.v),
        np.where(better, dot(v, v), search.square),
        better & (square > 0),
    )


def _filled(search: _Search, k: int, rows: Array, new: Array) -> Array:
    """Corner k where it carries the nearest point, elsewhere the new one."""
    carries = search.weights[..., k] > 0
    return np.where(carries[..., None], rows[..., k, :], new)


def _mean(weights: Array, rows: Array) -> Array:
    return (weights[..., None] * rows).sum(axis=-2)


def _nearest(corners: Array) -> tuple[Array, Array]:
    """Weights (..., 4) of the point nearest to the origin in a simplex (..., 4, 3), and its squared distance."""
    w = [corners[..., k, :] for k in range(4)]
    zero = 0.0 * w[0][..., 0]
    best, square = [zero + 1.0, zero, zero, zero], dot(w[0], w[0])
    for k in range(1, 4):
        best, square = _chosen(best, square, (k,), [zero + 1.0], dot(w[k], w[k]), square > -1.0, zero)
    for face in combinations(range(4), 2):
        best, square = _chosen(best, square, face, *_on_edge(*(w[k] for k in face)), zero)
    for triangle in combinations(range(4), 3):
        best, square = _chosen(best, square, triangle, *_on_triangle(*(w[k] for k in triangle)), zero)
    best, square = _chosen(best, square, range(4), *_inside(*w), zero)
    return np.stack(best, axis=-1), square


def _chosen(
    best: list[Array], square: Array, face: Sequence[int], weights: list[Array], own: Array, valid: Array, zero: Array
) -> tuple[list[Array], Array]:
    """The better of the best so far and the nearest point of a face."""
    take = valid & (own < square)
    given = dict(zip(face, weights, strict=True))
    return [np.where(take, given.get(k, zero), best[k]) for k in range(4)], np.where(take, own, square)


def _on_edge(p: Array, q: Array) -> tuple[list[Array], Array, Array]:
    """Weights of the foot of the perpendicular, its squared distance, and whether it lies on the edge."""
    along = q - p
    size = dot(along, along)
    valid = size > FLAT * (dot(p, p) + dot(q, q))
    t = -dot(p, along) / np.where(valid, size, 1.0)
    foot = p + t[..., None] * along
    return [1.0 - t, t], dot(foot, foot), valid & (t > 0) & (t < 1)


def _on_triangle(p: Array, q: Array, r: Array) -> tuple[list[Array], Array, Array]:
    n = cross(q - p, r - p)
    size = dot(n, n)
    valid = size > FLAT * dot(q - p, q - p) * dot(r - p, r - p)
    scale = 1.0 / np.where(valid, size, 1.0)
    weights = [dot(cross(one, other), n) * scale for one, other in ((q, r), (r, p), (p, q))]
    height = dot(p, n)
    inside = valid & (weights[0] > 0) & (weights[1] > 0) & (weights[2] > 0)
    return weights, height * height * scale, inside


def _inside(p: Array, q: Array, r: Array, s: Array) -> tuple[list[Array], Array, Array]:
    """Weights of the origin in a tetrahedron: ratios of volumes."""
    volumes = [-dot(q, cross(r, s)), dot(p, cross(r, s)), -dot(p, cross(q, s)), dot(p, cross(q, r))]
    whole = volumes[0] + volumes[1] + volumes[2] + volumes[3]
    valid = np.abs(whole) > 0
    weights = [volume / np.where(valid, whole, 1.0) for volume in volumes]
    inside = valid
    for weight in weights:
        inside = inside & (weight > 0)
    return weights, 0.0 * whole, inside


def closest_on_segments(first: tuple[Array, Array, Array], second: tuple[Array, Array, Array]) -> ClosestPoints:
    """The closest points of two segments (Ericson 2005, Real-Time Collision Detection, section 5.1.9).

    Each segment has its middle (..., 3), unit direction (..., 3) and half length (...).
    """
    (p, u, half), (c, v, other) = first, second
    between = c - p
    cosine, along, across = dot(u, v), dot(u, between), dot(v, between)
    sine = np.maximum(1.0 - cosine * cosine, FLAT)
    s = np.clip((along - cosine * across) / sine, -half, half)
    t = np.clip(cosine * s - across, -other, other)
    s = np.clip(along + cosine * t, -half, half)
    return ClosestPoints(p + s[..., None] * u, c + t[..., None] * v)
