"""Rays that follow geodesics over one surface after the other, in machine code; nothing of the path solvers.

A surface is |k x|^2 = 1 in its frame. Its NUMBERS_PER_SURFACE numbers: center c, axes R as columns (row by row),
inverse half axes k (0 along the axis of a cylinder), and 1 for a cylinder. A ray starts at an angle of the outline that
one end of the path sees, follows the geodesic x'' = -(v . D v) / |D x|^2 D x, D = diag(k^2), by the classical
Runge-Kutta method, and leaves it where the tangent touches the next surface or, on the last surface, points in the
plane of the other end.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.kernels import iterate

__all__ = ["NUMBERS_PER_SURFACE", "conditions", "shots"]

Array = np.ndarray
Along = Callable[[Array, Array, Array], Array]  # x, v, data -> what crosses zero along a geodesic
NUMBERS_PER_SURFACE = 16  # numbers of a surface
FORWARD, BACK, FINE = 48, 16, 64  # steps along half a turn, before the start, and of a polished geodesic
MAX_HALF_TURNS = 1.1, 2.1  # half turns that are followed: of a closed surface, of a cylinder
ILLINOIS_STEPS = 8  # steps of the root search within a step


@cache
def shots(count: int) -> Any:
    """A kernel for rays over so many surfaces. A row: the angle u of the outline as a share of a turn, both ends, the
    surfaces in their order, and 1 or -1 for the first or the second tangent from each surface to the next. It returns
    the sine of the angle by which the last line misses the end, NaN where there is no line; and the arcs."""
    return kernels.compile(partial(_shot, count), {"row": 7 + NUMBERS_PER_SURFACE * count + count - 1}, ["out"])


@cache
def conditions(count: int) -> Any:
    """A kernel for the conditions of a shortest path over `count` surfaces. A row: u and the arcs, both ends, the
    surfaces. It returns the residuals of the count + 1 conditions, the length, 1 if all lines run forward, and the
    contact points of each surface."""
    return kernels.compile(partial(_conditions, count), {"row": 7 + count + NUMBERS_PER_SURFACE * count}, ["out"])


def _shot(count: int, row: Array) -> Array:
    A, B, bodies = row[..., 1:4], row[..., 4:7], _bodies(count, row[..., 7:])
    P, v = _outline(bodies[0], A, row[..., 0])
    arcs = []
    for j, body in enumerate(bodies):
        last = j == count - 1
        data = joined([body, _seen(body, B) if last else bodies[j + 1]])
        rising = 1.0 + 0.0 * row[..., 0] if last else row[..., 7 + NUMBERS_PER_SURFACE * count + j]
        x, v, s = _crossing(_above if last else _discriminant, body, (P, v), data, rising)
        arcs.append(s[..., None])
        if not last:
            after = bodies[j + 1]
            P, v, ahead = _met(after, _seen(after, _placed(body, x)), _into(after, _turned(body, v)))
            P = np.where((ahead > 0)[..., None], P, np.nan)
    d = _seen(bodies[-1], B) - x
    aside = _dot(d, _cross(_unit(bodies[-1][..., 12:15] ** 2 * x), v)) / np.sqrt(_dot(d, d))
    return joined([np.where(_dot(d, v) > 0, aside, np.nan)[..., None], *arcs])


def _conditions(count: int, row: Array) -> Array:
    arcs, A, B = row[..., 1 : 1 + count], row[..., 1 + count : 4 + count], row[..., 4 + count : 7 + count]
    bodies = _bodies(count, row[..., 7 + count :])
    P, v = _outline(bodies[0], A, row[..., 0])
    last, length, missed, stops, forward = A, 0.0 * row[..., 0], [], [], 1.0 + 0.0 * row[..., 0]
    for j, body in enumerate(bodies):
        given = joined([body[..., 12:15] ** 2, arcs[..., j, None] / FINE])
        end = iterate(_marched, joined([P, v]), given, FINE)
        x, w = end[..., :3], end[..., 3:]
        stops += [_placed(body, P), _placed(body, x)]
        length, last = length + _size(stops[-2] - last) + arcs[..., j], stops[-1]
        if j == count - 1:
            d, n = _seen(body, B) - x, _unit(body[..., 12:15] ** 2 * x)
            missed += [_dot(_unit(d), n), _dot(_unit(d), _cross(n, w))]
            ahead = _dot(d, w)
        else:
            after = bodies[j + 1]
            P, v, ahead = _met(after, _seen(after, last), _into(after, _turned(body, w)))
            missed.append(_dot(P * after[..., 12:15], P * after[..., 12:15]) - 1.0)
        forward = np.where(ahead > 0, forward, 0.0)
    length = length + _size(B - last)
    return joined([*(x[..., None] for x in (*missed, length, forward)), *stops])


def _bodies(count: int, numbers: Array) -> list[Array]:
    return [numbers[..., NUMBERS_PER_SURFACE * i : NUMBERS_PER_SURFACE * (i + 1)] for i in range(count)]


def _outline(body: Array, A: Array, u: Array) -> tuple[Array, Array]:
    """Where lines from A touch a surface, and their directions; u (...) from 0 to 1; of a cylinder half a side."""
    a, k = _seen(body, A), body[..., 12:15]
    P = np.where(body[..., 15:16] > 0, _cylinder_outline(a, k, u), _closed_outline(a, k, u))
    return P, _unit(P - a)


def _cylinder_outline(a: Array, k: Array, u: Array) -> Array:
    half = np.where(u < 0.5, u, u - 0.5)
    sense, climb = np.where(u < 0.5, 1.0, -1.0), (half * 2 - 0.5) * np.pi * 0.999
    r, square = 1 / k[..., 0], a[..., 0] ** 2 + a[..., 1] ** 2
    t, f = np.sqrt(square - r * r), r / square
    x, y = f * (r * a[..., 0] - sense * t * a[..., 1]), f * (r * a[..., 1] + sense * t * a[..., 0])
    return np.stack([x, y, a[..., 2] + t * np.sin(climb) / np.cos(climb)], axis=-1)


def _closed_outline(a: Array, k: Array, u: Array) -> Array:
    k = np.where(k > 0, k, 1.0)
    s = a * k
    square = _dot(s, s)[..., None]
    aside = np.where(s[..., :1] ** 2 < 0.36 * square, np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))
    e1 = _unit(_cross(s, aside))
    e2, angle = _unit(_cross(s, e1)), (2 * np.pi * u)[..., None]
    circle = np.cos(angle) * e1 + np.sin(angle) * e2
    return (s / square + np.sqrt(1 - 1 / square) * circle) / k


def _crossing(along: Along, body: Array, start: tuple[Array, Array], data: Array, rising: Array) -> Any:
    """Point, direction and arc at the first zero of `along` on a geodesic, or the last one before its start."""
    x, v = start
    cylinder, k = body[..., 15] > 0, body[..., 12:15]
    flat = np.where(cylinder, np.maximum(np.sqrt(v[..., 0] ** 2 + v[..., 1] ** 2), 0.1), 1.0)
    least = np.where(cylinder, k[..., 0], np.minimum(np.minimum(k[..., 0], k[..., 1]), k[..., 2]))
    h = MAX_HALF_TURNS[0] * np.pi / least / flat / FORWARD
    D, none = k * k, 0.0 * h
    begin = iterate(_marched, joined([x, v]), joined([D, -h[..., None]]), BACK)
    f = rising * along(begin[..., :3], begin[..., 3:], data)
    steps = np.where(
        cylinder, float(BACK + round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])), float(BACK + FORWARD)
    )
    most = BACK + round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])
    numbers = [begin, f[..., None], (none - BACK)[..., None], begin, (none[..., None] + np.array([1.0, 1.0, np.nan]))]
    given = joined([D, h[..., None], rising[..., None], data])
    found = iterate(partial(_searched, along), joined([*numbers, steps[..., None]]), given, most, left=-1)
    low = found[..., 8:17]
    bracket = joined([low[..., :6], low[..., 6:8], none[..., None], h[..., None], none[..., None] * np.ones(2)])
    root = iterate(partial(_illinois, along), bracket, given, ILLINOIS_STEPS)
    t = root[..., 10]
    x, v = _stepped(low[..., :3], low[..., 3:6], D, t)
    there = low[..., 8] <= np.inf  # not NaN
    x, v = (np.where(there[..., None], y, np.nan) for y in (x, v))
    return x, v, low[..., 8] + t


def _marched(z: Array, given: Array) -> Array:
    """Point and direction after a step; given: D and the step."""
    return joined(_stepped(z[..., :3], z[..., 3:6], given[..., :3], given[..., 3]))


def _searched(along: Along, z: Array, given: Array) -> Array:
    """A step further along a geodesic: point and direction, the value there, the number of the step; the point,
    direction, both values and arc of the last step in which it rose through zero; and how many steps are left."""
    x, v, f, j = z[..., :3], z[..., 3:6], z[..., 6], z[..., 7]
    h, rising = given[..., 3], given[..., 4]
    y, w = _stepped(x, v, given[..., :3], h)
    g = rising * along(y, w, given[..., 5:])
    new = (f < 0) & (g >= 0)
    here = joined([x, v, f[..., None], g[..., None], (h * j)[..., None]])
    kept = np.where(new[..., None], here, z[..., 8:17])
    left = np.where(new & (j >= -1.0), 0.0, z[..., 17] - 1.0)
    return joined([y, w, g[..., None], (j + 1.0)[..., None], kept, left[..., None]])


def _illinois(along: Along, z: Array, given: Array) -> Array:
    """A step of the Illinois method: start of the step, values at both sides, both sides, the last trial and side."""
    x, v, f_low, f_high, low, high, side = z[..., :3], z[..., 3:6], *(z[..., i] for i in (6, 7, 8, 9, 11))
    steep = f_high != f_low
    t = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), 0.5 * (low + high))
    y, w = _stepped(x, v, given[..., :3], t)
    f = given[..., 4] * along(y, w, given[..., 5:])
    up = f >= 0
    kept_low = np.where(up & (side > 0), 0.5 * f_low, np.where(up, f_low, f))
    kept_high = np.where(~up & (side < 0), 0.5 * f_high, np.where(up, f, f_high))
    low, high, side = np.where(up, low, t), np.where(up, t, high), np.where(up, 1.0, -1.0)
    return joined([z[..., :6], *(q[..., None] for q in (kept_low, kept_high, low, high, t, side))])


def _above(x: Array, v: Array, data: Array) -> Array:
    """How high the end is above the tangent plane."""
    return _dot(data[..., NUMBERS_PER_SURFACE : NUMBERS_PER_SURFACE + 3] - x, _unit(data[..., 12:15] ** 2 * x))


def _discriminant(x: Array, v: Array, data: Array) -> Array:
    """Of the tangent line with the next surface: zero where it touches, positive where it runs into it ahead."""
    own, other = data[..., :NUMBERS_PER_SURFACE], data[..., NUMBERS_PER_SURFACE:]
    k = other[..., 12:15]
    p, w = _seen(other, _placed(own, x)) * k, _into(other, _turned(own, v)) * k
    along, outside = _dot(p, w), _dot(w, w) * (_dot(p, p) - 1)
    return np.where(along < 0, along * along - outside, -np.abs(outside))


def _met(body: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
    """Where a line comes nearest to a surface, its direction, and how far ahead that is."""
    p, q = W * body[..., 12:15], V * body[..., 12:15]
    ahead = -_dot(p, q) / _dot(q, q)
    return W + ahead[..., None] * V, V, ahead


def _stepped(x: Array, v: Array, D: Array, h: Array) -> tuple[Array, Array]:
    """A step of the classical Runge-Kutta method along a geodesic."""

    def bent(x: Array, v: Array) -> Array:
        n = D * x
        return -(_dot(v, D * v) / _dot(n, n))[..., None] * n

    h = h[..., None]
    k1 = bent(x, v)
    k2 = bent(x + h / 2 * v, v + h / 2 * k1)
    k3 = bent(x + h / 2 * v + h * h / 4 * k1, v + h / 2 * k2)
    k4 = bent(x + h * v + h * h / 2 * k2, v + h * k3)
    return x + h * v + h * h / 6 * (k1 + k2 + k3), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _seen(body: Array, x: Array) -> Array:
    return _into(body, x - body[..., :3])


def _into(body: Array, v: Array) -> Array:
    return v[..., 0:1] * body[..., 3:6] + v[..., 1:2] * body[..., 6:9] + v[..., 2:3] * body[..., 9:12]


def _turned(body: Array, v: Array) -> Array:
    return np.stack([_dot(v, body[..., 3 * i + 3 : 3 * i + 6]) for i in range(3)], axis=-1)


def _placed(body: Array, x: Array) -> Array:
    return body[..., :3] + _turned(body, x)


def joined(parts: Any) -> Array:
    return np.concatenate(list(parts), axis=-1)


def _cross(a: Array, b: Array) -> Array:
    (ax, ay, az), (bx, by, bz) = ([x[..., i] for i in range(3)] for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1)


def _size(v: Array) -> Array:
    return np.sqrt(_dot(v, v))


def _unit(v: Array) -> Array:
    return v / _size(v)[..., None]
