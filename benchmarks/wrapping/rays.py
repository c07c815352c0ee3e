"""Rays that follow geodesics over one surface after the other, in machine code; nothing of the path solvers.

A surface is |k x|^2 = 1 in its frame. Its NUMBERS_PER_SURFACE numbers: center c, axes R as columns (row by row),
inverse half axes k (0 along the axis of a cylinder), and 1 for a cylinder. A ray starts at an angle of the outline that
one end of the path sees, follows the geodesic x'' = -(v . D v) / |D x|^2 D x, D = diag(k^2), by the classical
Runge-Kutta method, and leaves it where the tangent touches the next surface or, on the last surface, points in the
plane of the other end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.kernels import choose, while_loop

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
    surfaces. It returns the residuals of the count + 1 conditions, the length, 1 if all lines run forward, the least
    width [m/rad] of a thin pencil of rays from the first end, and the contact points of each surface. Where the width
    reaches zero before the other end, the path is no minimum (Jacobi's condition)."""
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
    y, dy, narrowest = length, forward, forward
    for j, body in enumerate(bodies):
        march = _March(body[..., 12:15] ** 2, arcs[..., j] / FINE)
        y = y + dy * _size(_placed(body, P) - last)
        end = while_loop(_always, _widened, _Pencil(_Ray(P, v), y, dy, narrowest), march, max_steps=FINE)
        x, w, y, dy, narrowest = end.ray.x, end.ray.v, end.y, end.dy, end.narrowest
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
    narrowest = np.minimum(narrowest, y + dy * _size(B - last))
    return joined([*(x[..., None] for x in (*missed, length, forward, narrowest)), *stops])


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
    begin = while_loop(_always, _marched, _Ray(x, v), _March(D, -h), max_steps=BACK)
    f = rising * along(begin.x, begin.v, data)
    steps = np.where(
        cylinder, float(BACK + round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])), float(BACK + FORWARD)
    )
    most = BACK + round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])
    scan = _Scan(begin, f, none - BACK, _Crossing(begin, none + 1.0, none + 1.0, none + np.nan), steps)
    problem = _Crossed(D, h, rising, data)
    low = while_loop(_any_left, partial(_scanned, along), scan, problem, max_steps=most).crossing
    bracket = _Bracket(low.start, low.f_start, low.f_end, none, h, none, none)
    t = while_loop(_always, partial(_illinois, along), bracket, problem, max_steps=ILLINOIS_STEPS).trial
    x, v = _stepped(low.start.x, low.start.v, D, t)
    there = low.arc <= np.inf  # not NaN
    x, v = (np.where(there[..., None], y, np.nan) for y in (x, v))
    return x, v, low.arc + t


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class _Ray:
    """A point and a direction (..., 3)."""

    x: Array
    v: Array


@dataclass(frozen=True)
class _March:
    """D (..., 3) of the surface, and the length (...) of a step."""

    D: Array
    step: Array


def _marched(ray: _Ray, march: _March) -> _Ray:
    """The ray after a step."""
    return _Ray(*_stepped(ray.x, ray.v, march.D, march.step))


@dataclass(frozen=True)
class _Pencil:
    """A ray, the width y (...) [m] of a pencil of rays about it from one end of the path, its rate, and the least width
    on surfaces so far."""

    ray: _Ray
    y: Array
    dy: Array
    narrowest: Array


def _widened(pencil: _Pencil, march: _March) -> _Pencil:
    """The pencil after a step, by y'' = -K y with the Gaussian curvature K of the surface."""
    middle = _stepped(pencil.ray.x, pencil.ray.v, march.D, 0.5 * march.step)[0]
    n, D, h = march.D * middle, march.D, march.step
    curved = D[..., 0] * D[..., 1] * D[..., 2] / _dot(n, n) ** 2
    half = pencil.y + 0.5 * h * pencil.dy
    dy = pencil.dy - h * curved * half
    y = half + 0.5 * h * dy
    return _Pencil(_marched(pencil.ray, march), y, dy, np.minimum(pencil.narrowest, y))


@dataclass(frozen=True)
class _Crossed:
    """What a geodesic crosses: D (..., 3) of the surface, the length (...) of a step, 1 or -1 where the crossed
    function rises or falls, and its data (..., n)."""

    D: Array
    step: Array
    rising: Array
    data: Array


@dataclass(frozen=True)
class _Crossing:
    """The start of a step in which the function rises through zero, its values (...) at both ends, and its arc."""

    start: _Ray
    f_start: Array
    f_end: Array
    arc: Array


@dataclass(frozen=True)
class _Scan:
    """A ray, the function there, the number (...) of the step; the last crossing; and how many steps are left."""

    ray: _Ray
    f: Array
    number: Array
    crossing: _Crossing
    left: Array


def _any_left(scan: _Scan) -> Array:
    return np.abs(scan.left) > 0


def _scanned(along: Along, scan: _Scan, problem: _Crossed) -> _Scan:
    """A step further along a geodesic."""
    x, v, f, j = scan.ray.x, scan.ray.v, scan.f, scan.number
    y, w = _stepped(x, v, problem.D, problem.step)
    g = problem.rising * along(y, w, problem.data)
    new = (f < 0) & (g >= 0)
    kept = choose(new, _Crossing(scan.ray, f, g, problem.step * j), scan.crossing)
    return _Scan(_Ray(y, w), g, j + 1.0, kept, np.where(new & (j >= -1.0), 0.0, scan.left - 1.0))


@dataclass(frozen=True)
class _Bracket:
    """The start of a step, values (...) at both sides of a root, both sides, the last trial, and its side, 1 or -1."""

    start: _Ray
    f_low: Array
    f_high: Array
    low: Array
    high: Array
    trial: Array
    side: Array


def _illinois(along: Along, bracket: _Bracket, problem: _Crossed) -> _Bracket:
    """A step of the Illinois method."""
    x, v, f_low, f_high = bracket.start.x, bracket.start.v, bracket.f_low, bracket.f_high
    low, high, side = bracket.low, bracket.high, bracket.side
    steep = f_high != f_low
    t = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), 0.5 * (low + high))
    y, w = _stepped(x, v, problem.D, t)
    f = problem.rising * along(y, w, problem.data)
    up = f >= 0
    kept_low = np.where(up & (side > 0), 0.5 * f_low, np.where(up, f_low, f))
    kept_high = np.where(~up & (side < 0), 0.5 * f_high, np.where(up, f, f_high))
    low, high, side = np.where(up, low, t), np.where(up, t, high), np.where(up, 1.0, -1.0)
    return _Bracket(bracket.start, kept_low, kept_high, low, high, t, side)


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
