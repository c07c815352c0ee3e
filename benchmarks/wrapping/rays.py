"""Rays that follow geodesics over one surface after the other, in machine code; nothing of the path solvers.

A ray starts at an angle of the outline that one end of the path sees. It follows the geodesic by the classical
Runge-Kutta method. It leaves it where the tangent touches the next surface or, on the last surface, points in the plane
of the other end. The surfaces are those of `ray_surfaces`; all but the first one are quadrics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.wrapping.ray_surfaces import (
    FORWARD,
    MAX_HALF_TURNS,
    NUMBERS_PER_SURFACE,
    QUADRIC,
    TORUS,
    Shape,
    cross,
    dot,
    size,
    unit,
)
from myoquat import kernels
from myoquat.kernels import choose, while_loop

Array = np.ndarray
Along = Callable[[Array, Array, Array], Array]  # x, v, data -> what crosses zero along a geodesic
BACK, FINE = 16, 64  # steps before the start, and of a polished geodesic
ILLINOIS_STEPS = 8  # steps of the root search within a step


@cache
def shots(count: int, first: Shape = QUADRIC) -> Any:
    """A kernel for rays over so many surfaces, the first one of a shape.

    A row has the angle u of the outline as a share of a turn, both ends, and the surfaces in their order. Then follows
    1 or -1 for the first or the second tangent from each surface to the next. It returns the sine of the angle by which
    the last line misses the end, NaN where there is no line; and the arcs.
    """
    return kernels.compile(partial(_shot, count, first), {"row": 7 + NUMBERS_PER_SURFACE * count + count - 1}, ["out"])


@cache
def conditions(count: int, first: Shape = QUADRIC) -> Any:
    """A kernel for the conditions of a shortest path over `count` surfaces, the first one of a shape.

    A row has u and the arcs, both ends, the surfaces. It returns the residuals of the count + 1 conditions, the length,
    and 1 if all lines run forward. Next is the least width [m/rad] of a thin pencil of rays from the first end. It is
    -1 where a string would not stay on a surface. Last are the contact points of each surface. Where the width reaches
    zero before the other end, the path is no minimum (Jacobi's condition).
    """
    return kernels.compile(
        partial(_conditions, count, first), {"row": 7 + count + NUMBERS_PER_SURFACE * count}, ["out"]
    )


def _shapes(count: int, first: Shape) -> list[Shape]:
    return [first] + [QUADRIC] * (count - 1)


def _shot(count: int, first: Shape, row: Array) -> Array:
    A, B, bodies = row[..., 1:4], row[..., 4:7], _bodies(count, row[..., 7:])
    shapes = _shapes(count, first)
    P, v = _outline(first, bodies[0], A, row[..., 0])
    arcs = []
    for j, (shape, body) in enumerate(zip(shapes, bodies, strict=True)):
        last = j == count - 1
        data = joined([body, _seen(body, B) if last else bodies[j + 1]])
        rising = 1.0 + 0.0 * row[..., 0] if last else row[..., 7 + NUMBERS_PER_SURFACE * count + j]
        along = partial(_above, shape) if last else _discriminant
        x, v, s = _crossing(along, shape, body, (P, v), data, rising)
        arcs.append(s[..., None])
        if not last:
            after = bodies[j + 1]
            P, v, ahead = _met(after, _seen(after, _placed(body, x)), _into(after, _turned(body, v)))
            P = np.where((ahead > 0)[..., None], P, np.nan)
    d = _seen(bodies[-1], B) - x
    n = shapes[-1].normal(shapes[-1].data(bodies[-1]), x)
    aside = dot(d, cross(n, v)) / np.sqrt(dot(d, d))
    return joined([np.where(dot(d, v) > 0, aside, np.nan)[..., None], *arcs])


def _conditions(count: int, first: Shape, row: Array) -> Array:
    arcs, A, B = row[..., 1 : 1 + count], row[..., 1 + count : 4 + count], row[..., 4 + count : 7 + count]
    bodies = _bodies(count, row[..., 7 + count :])
    P, v = _outline(first, bodies[0], A, row[..., 0])
    last, length, missed, stops, forward = A, 0.0 * row[..., 0], [], [], 1.0 + 0.0 * row[..., 0]
    y, dy, narrowest = length, forward, forward
    for j, (shape, body) in enumerate(zip(_shapes(count, first), bodies, strict=True)):
        march = _March(shape.data(body), arcs[..., j] / FINE)
        y = y + dy * size(_placed(body, P) - last)
        pencil = _Pencil(_Ray(P, v), y, dy, narrowest)
        end = while_loop(_always, partial(_widened, shape), pencil, march, max_steps=FINE)
        x, w, y, dy, narrowest = end.ray.x, end.ray.v, end.y, end.dy, end.narrowest
        stops += [_placed(body, P), _placed(body, x)]
        length, last = length + size(stops[-2] - last) + arcs[..., j], stops[-1]
        if j == count - 1:
            d, n = _seen(body, B) - x, shape.normal(march.D, x)
            missed += [dot(unit(d), n), dot(unit(d), cross(n, w))]
            ahead = dot(d, w)
        else:
            after = bodies[j + 1]
            P, v, ahead = _met(after, _seen(after, last), _into(after, _turned(body, w)))
            missed.append(dot(P * after[..., 12:15], P * after[..., 12:15]) - 1.0)
        forward = np.where(ahead > 0, forward, 0.0)
    length = length + size(B - last)
    narrowest = np.minimum(narrowest, y + dy * size(B - last))
    return joined([*(x[..., None] for x in (*missed, length, forward, narrowest)), *stops])


@cache
def from_both_ends() -> Any:
    """A kernel for a string that bears on two sides of the hole of a torus. A row: the angle of the outline and the arc
    from one end, the same from the other one, both ends, the torus. It returns the residuals of four conditions, that
    the line between the ends of both arcs is tangent to them. The length, 1 if all lines run forward, 1 or -1 as a
    string stays on the tube or not, and the contact points of both arcs."""
    return kernels.compile(_from_both_ends, {"row": 10 + NUMBERS_PER_SURFACE}, ["out"])


def _from_both_ends(row: Array) -> Array:
    A, B, body = row[..., 4:7], row[..., 7:10], row[..., 10:]
    D, zero, ends, length, on = TORUS.data(body), 0.0 * row[..., 0], [], 0.0 * row[..., 0], 1.0 + 0.0 * row[..., 0]
    for i, end in ((0, A), (2, B)):
        P, v = _outline(TORUS, body, end, row[..., i])
        pencil, march = _Pencil(_Ray(P, v), zero, zero, on), _March(D, row[..., i + 1] / FINE)
        last = while_loop(_always, partial(_widened, TORUS), pencil, march, max_steps=FINE)
        on, length = np.where(last.narrowest < 0, -1.0, on), length + size(P - _seen(body, end)) + row[..., i + 1]
        ends.append((P, last.ray.x, last.ray.v))
    (P, x, v), (Q, y, w) = ends
    d = unit(y - x)
    missed = [s for z, u in ((x, v), (y, w)) for n in [TORUS.normal(D, z)] for s in (dot(d, n), dot(d, cross(n, u)))]
    forward = np.where((dot(d, v) > 0) & (dot(d, w) < 0), 1.0, 0.0)
    stops = [_placed(body, z) for z in (P, x, y, Q)]
    return joined([*(z[..., None] for z in (*missed, length + size(y - x), forward, on)), *stops])


def _bodies(count: int, numbers: Array) -> list[Array]:
    return [numbers[..., NUMBERS_PER_SURFACE * i : NUMBERS_PER_SURFACE * (i + 1)] for i in range(count)]


def _outline(shape: Shape, body: Array, A: Array, u: Array) -> tuple[Array, Array]:
    """Where lines from A touch a surface, and their directions; u (...) from 0 to 1."""
    a = _seen(body, A)
    P = shape.outline(body, a, u)
    return P, unit(P - a)


def _crossing(
    along: Along, shape: Shape, body: Array, start: tuple[Array, Array], data: Array, rising: Array
) -> tuple[Array, Array, Array]:
    """Point, direction and arc at the first zero of `along` on a geodesic, or the last one before its start."""
    x, v = start
    h, count = shape.step(body, v)
    D, none = shape.data(body), 0.0 * h
    begin = while_loop(_always, partial(_marched, shape), _Ray(x, v), _March(D, -h), max_steps=BACK)
    f = rising * along(begin.x, begin.v, data)
    most = BACK + round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])
    scan = _Scan(begin, f, none - BACK, _Crossing(begin, none + 1.0, none + 1.0, none + np.nan), BACK + count)
    problem = _Crossed(D, h, rising, data)
    low = while_loop(_any_left, partial(_scanned, along, shape), scan, problem, max_steps=most).crossing
    bracket = _Bracket(low.start, low.f_start, low.f_end, none, h, none, none)
    t = while_loop(_always, partial(_illinois, along, shape), bracket, problem, max_steps=ILLINOIS_STEPS).trial
    x, v = _stepped(shape, low.start.x, low.start.v, D, t)
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


def _marched(shape: Shape, ray: _Ray, march: _March) -> _Ray:
    """The ray after a step."""
    return _Ray(*_stepped(shape, ray.x, ray.v, march.D, march.step))


@dataclass(frozen=True)
class _Pencil:
    """A ray, and a pencil of rays about it from one end of the path. `y` (...) [m] is the width of the pencil, `dy` its
    rate, `narrowest` the least width on surfaces so far."""

    ray: _Ray
    y: Array
    dy: Array
    narrowest: Array


def _widened(shape: Shape, pencil: _Pencil, march: _March) -> _Pencil:
    """The pencil after a step, by y'' = -K y with the Gaussian curvature K of the surface."""
    h = march.step
    curved = shape.curvature(march.D, _stepped(shape, pencil.ray.x, pencil.ray.v, march.D, 0.5 * h)[0])
    half = pencil.y + 0.5 * h * pencil.dy
    dy = pencil.dy - h * curved * half
    y = half + 0.5 * h * dy
    ray = _marched(shape, pencil.ray, march)
    allowed = shape.allowed(march.D, pencil.ray.x, ray.x, ray.v)
    return _Pencil(ray, y, dy, np.minimum(pencil.narrowest, np.where(allowed, y, -1.0)))


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


def _scanned(along: Along, shape: Shape, scan: _Scan, problem: _Crossed) -> _Scan:
    """A step further along a geodesic."""
    x, v, f, j = scan.ray.x, scan.ray.v, scan.f, scan.number
    y, w = _stepped(shape, x, v, problem.D, problem.step)
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


def _illinois(along: Along, shape: Shape, bracket: _Bracket, problem: _Crossed) -> _Bracket:
    """A step of the Illinois method."""
    x, v, f_low, f_high = bracket.start.x, bracket.start.v, bracket.f_low, bracket.f_high
    low, high, side = bracket.low, bracket.high, bracket.side
    steep = f_high != f_low
    t = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), 0.5 * (low + high))
    y, w = _stepped(shape, x, v, problem.D, t)
    f = problem.rising * along(y, w, problem.data)
    up = f >= 0
    kept_low = np.where(up & (side > 0), 0.5 * f_low, np.where(up, f_low, f))
    kept_high = np.where(~up & (side < 0), 0.5 * f_high, np.where(up, f, f_high))
    low, high, side = np.where(up, low, t), np.where(up, t, high), np.where(up, 1.0, -1.0)
    return _Bracket(bracket.start, kept_low, kept_high, low, high, t, side)


def _above(shape: Shape, x: Array, v: Array, data: Array) -> Array:
    """How high the end is above the tangent plane."""
    n = shape.normal(shape.data(data[..., :NUMBERS_PER_SURFACE]), x)
    return dot(data[..., NUMBERS_PER_SURFACE : NUMBERS_PER_SURFACE + 3] - x, n)


def _discriminant(x: Array, v: Array, data: Array) -> Array:
    """Of the tangent line with the next surface: zero where it touches, positive where it runs into it ahead."""
    own, other = data[..., :NUMBERS_PER_SURFACE], data[..., NUMBERS_PER_SURFACE:]
    k = other[..., 12:15]
    p, w = _seen(other, _placed(own, x)) * k, _into(other, _turned(own, v)) * k
    along, outside = dot(p, w), dot(w, w) * (dot(p, p) - 1)
    return np.where(along < 0, along * along - outside, -np.abs(outside))


def _met(body: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
    """Where a line comes nearest to a surface, its direction, and how far ahead that is."""
    p, q = W * body[..., 12:15], V * body[..., 12:15]
    ahead = -dot(p, q) / dot(q, q)
    return W + ahead[..., None] * V, V, ahead


def _stepped(shape: Shape, x: Array, v: Array, D: Array, h: Array) -> tuple[Array, Array]:
    """A step of the classical Runge-Kutta method along a geodesic."""
    h, bent = h[..., None], partial(shape.bent, D)
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
    return np.stack([dot(v, body[..., 3 * i + 3 : 3 * i + 6]) for i in range(3)], axis=-1)


def _placed(body: Array, x: Array) -> Array:
    return body[..., :3] + _turned(body, x)


def joined(parts: Any) -> Array:
    return np.concatenate(list(parts), axis=-1)
