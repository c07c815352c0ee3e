"""Initial guesses of alternative local minima of the length of a path over several surfaces.

Past several surfaces without a side, spheres and ellipsoids, the length has few local minima. They differ in the side
on which each surface is passed. Tilted guesses pass one surface in a plane through a line. It is the line between the
surface's neighbours on the path, or between the ends of the path. The lengths of guesses in PLANES_PER_LINE planes at
equal angles are compared. Only local minima among them are used, and the planes beside a saddle point. A turned guess
passes an ellipsoid on the side opposite to that of a path. The path over one surface alone bounds the length from
below. Where it clears all other surfaces it is the answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import call_where, choose, static, while_loop
from myoquat.muscle.wrapping.contact_solve import is_cut, unknown_start
from myoquat.muscle.wrapping.fixed_point_iteration import (
    Iterate,
    OrderedSegment,
    Points,
    Segment,
    TangentPoints,
    length_of,
    path_length,
    points_of,
    round_surfaces,
)
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.surface_order import freely_placed, start_over_one_surface
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.planar_paths import Chord
from myoquat.muscle.wrapping.surfaces.vectors import always, dot, nearest

__all__ = [
    "OPPOSITE",
    "OTHER_SIDE_OF_ANY_LENGTH",
    "THROUGH_ENDS",
    "bound_start",
    "promising_tilts",
    "tangent_points_of",
    "tilted_start",
    "tilts",
    "turned_start",
]

PLANES_PER_LINE = 8  # planes of initial guesses through one line, at equal angles
THROUGH_NEIGHBOURS, THROUGH_ENDS = 1.0, 0.0  # the points on the line: neighbours on the path, or its ends
OPPOSITE = 0.5  # part of a turn
PLANE_LINES = THROUGH_NEIGHBOURS, THROUGH_ENDS
MAX_SADDLE_RATIO = 0.1  # rise of the length over one plane to that over two; 0.29 for a cosine, less at a saddle point
MAX_GUESS_RATIO = 1.1  # length of an initial guess to that of the path found: a longer guess is not used
OTHER_SIDE, OTHER_SIDE_OF_ANY_LENGTH = -1.0, -2.0  # of Near.way


def bound_start(segment: OrderedSegment, where: Array) -> tuple[tuple[TangentPoints, ...], Array]:
    """The longest of the paths over one surface without a side each, and (...) whether it clears all others.

    Both are sought `where` (...) holds. No path over all surfaces is shorter, so where it clears the others it is the
    shortest one.
    """
    types = segment.segment.types
    wanted = tuple(where if i in round_surfaces(types) else ~always(where) for i in range(len(types)))
    X, *_ = start_over_one_surface(segment.segment, wanted, where)
    placed = replace(segment, order=freely_placed(segment, X, where))
    near, points = unknown_start(0.0 * X[0].P[..., 0], always(where)), points_of(X)
    clear = where & reduce(or_, points[2])
    for i, own in enumerate(placed.surfaces):
        ends = placed.neighbours(i, points)
        if own.prototype.half_axes is not None:
            touched = is_cut(own.prototype, own.numbers, ends, clear & ~points[2][i])
        else:
            touched = placed.contact(i, points, near, clear & ~points[2][i]).on
        clear = clear & ~touched
    return X, clear


def turned_start(
    segment: OrderedSegment, X: tuple[TangentPoints, ...], number: int, where: Array, way: float = OTHER_SIDE
) -> tuple[tuple[TangentPoints, ...], Array]:
    """The X of a path led past the surface of this number on the other side, and (...) whether there is one.

    It is asked for `where` (...) holds and the surface is touched. By the `way` of `Near` the path is one that may be
    as short, or any one.
    """
    points, own, zero = points_of(X), X[number], 0.0 * X[0].P[..., 0]
    placed, asked = segment.surfaces[number], where & own.on
    near = replace(unknown_start(zero, always(zero)), P=placed.seen(own.P), way=zero + way)
    c = segment.contact(number, points, near, asked)
    there = asked & c.on
    found = TangentPoints(placed.in_world(c.P), always(zero), placed.in_world(c.Q))
    return (*X[:number], choose(there, found, own), *X[number + 1 :]), there


def tangent_points_of(points: Points) -> tuple[TangentPoints, ...]:
    """The tangent points of all surfaces, zero where they are not touched."""
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in points[2]]
    return tuple(TangentPoints(flag * p, x, flag * q) for p, q, x, flag in zip(*points, flags, strict=True))


def tilted_start(
    segment: OrderedSegment, X: tuple[TangentPoints, ...], i: int, line: Array, part: Array, where: Array
) -> tuple[Points, Array, Array]:
    """An initial guess that passes the surface of number i in a plane; its length (...) [m]; and (...) whether there is
    one.

    line   (...) about which the plane is turned, on a path: THROUGH_NEIGHBOURS or THROUGH_ENDS
    part   (...) of a turn by which it is turned
    where  (...) only there the guess is asked for

    The other surfaces are solved once, in the order of the list: an iteration from the first one would lose the tilt.
    """
    placed = segment.surfaces[i]
    P, Q, on = points_of([choose(line == THROUGH_NEIGHBOURS, x, TangentPoints.none(0.0 * x.P)) for x in X])
    start, end = segment.ends
    ends = before(segment.order, on, i, Q, start), after(segment.order, on, i, P, end)
    plane = _Plane(placed.seen(ends[0]), placed.seen(ends[1]), part, placed.numbers, placed.prototype)
    zero = 0.0 * part
    guess, arc = call_where(_plane_path, plane, where, (TangentPoints.none(0.0 * start), zero))
    exists, arcs, near = where & guess.on, [arc] * len(X), unknown_start(zero, always(part))
    P[i], Q[i], on[i] = placed.in_world(guess.P), placed.in_world(guess.Q), exists
    for j, other in enumerate(segment.surfaces):
        if j != i:
            c = segment.contact(j, (P, Q, on), near, exists)
            P[j], Q[j], on[j], arcs[j] = other.in_world(c.P), other.in_world(c.Q), c.on, c.arc
    return (P, Q, on), path_length(segment, (P, Q, on), arcs), exists


@dataclass(frozen=True)
class _Plane:
    """A plane path between two ends.

    A, B     (..., 3) the ends in the surface's frame
    part     (...) of a turn by which the plane is turned from the one through the centre
    numbers  those of the surface
    surface  the prototype
    """

    A: Array
    B: Array
    part: Array
    numbers: Array
    surface: Wrap = static()


def _plane_path(plane: _Plane) -> tuple[TangentPoints, Array]:
    """Where a plane path comes onto a surface with half axes, and leaves it, in its frame; and its length on it [m].

    It is `on` where the straight line between its ends runs into the surface.
    """
    axes = plane.surface.shaped(plane.numbers).half_axes
    if axes is None:
        raise TypeError(f"a {plane.surface.kind} with a side has no half axes")
    a, b, angle = plane.A / axes, plane.B / axes, 2 * np.pi * plane.part
    x = nearest(a, b)
    through = (dot(x, x) < 1.0) & (dot(a, a) > 1.0) & (dot(b, b) > 1.0)
    a, b = (np.where(through[..., None], y, np.array(far)) for y, far in ((a, (2.0, 0.5, 0.0)), (b, (-2.0, 0.5, 0.0))))
    chord = Chord.between(a, b, axes)
    path = chord.path_at(np.cos(angle), np.sin(angle))
    P, Q = chord.ends_of(path)
    return TangentPoints(P * axes, through, Q * axes), path.arc


def promising_tilts(segment: OrderedSegment, found: Iterate, where: Array) -> list[Array]:
    """(...) each, whether the minimization starts from an initial guess of `tilts`, `where` (...) it may.

    It starts where the guess is shorter than those in the planes beside it. It also starts beside the plane of a path
    that lies at a saddle point.

    The plane through the neighbours and the centre holds the path found, or nearly so, and is left out.
    """
    own, planes, result = length_of(segment, found), tilts(segment.segment.types), []
    zero = 0.0 * own
    begin = _Guesses(tuple(zero[..., None] * np.ones(PLANES_PER_LINE) for _ in planes[::PLANES_PER_LINE]), zero)
    path = _Path(segment.segment, segment.order, found.points)
    guesses = while_loop(_planes_left, _measured_in_next_plane, begin, path, max_steps=PLANES_PER_LINE, where=where)
    for lengths, (_, line, _) in zip(guesses.lengths, planes[::PLANES_PER_LINE], strict=True):
        l = [lengths[..., k] for k in range(PLANES_PER_LINE)]
        chosen = [(l[k] < l[k - 1]) & (l[k] <= l[(k + 1) % PLANES_PER_LINE]) for k in range(PLANES_PER_LINE)]
        if line == THROUGH_NEIGHBOURS:
            chosen[0] = ~always(where)
            chosen[PLANES_PER_LINE // 2] = always(where)
            for way in (1, -1):
                chosen[way] = chosen[way] | (l[way] - l[0] < MAX_SADDLE_RATIO * (l[2 * way] - l[0]))
        result += [x & (y < MAX_GUESS_RATIO * own) for x, y in zip(chosen, l, strict=True)]
    return result


@dataclass(frozen=True)
class _Path:
    """A segment, the order of its surfaces, and the tangent points of a path over it."""

    segment: Segment
    order: tuple[Array, ...]
    points: tuple[TangentPoints, ...]


@dataclass(frozen=True)
class _Guesses:
    """The measured initial guesses.

    lengths  (..., PLANES_PER_LINE) [m] of the guesses of each surface and line, zero where there is none yet
    done     (...) the number of planes that are done
    """

    lengths: tuple[Array, ...]
    done: Array


def _planes_left(guesses: _Guesses) -> Array:
    result: Array = guesses.done < PLANES_PER_LINE
    return result


def _measured_in_next_plane(guesses: _Guesses, path: _Path) -> _Guesses:
    """The lengths with those in one more plane."""
    segment, done = OrderedSegment.over_all(path.segment, path.order), guesses.done
    found = []
    for lengths, (i, line, _) in zip(guesses.lengths, tilts(path.segment.types)[::PLANES_PER_LINE], strict=True):
        _, own, exists = tilted_start(
            segment, path.points, i, 0.0 * done + line, done / PLANES_PER_LINE, path.points[i].on
        )
        here = (done[..., None] == np.arange(float(PLANES_PER_LINE))) & exists[..., None]
        found.append(np.where(here, own[..., None], lengths))
    return _Guesses(tuple(found), done + 1.0)


def tilts(types: Sequence[Wrap]) -> list[tuple[int, float, float]]:
    """The tilted initial guesses: a surface's number, the line about which the plane is turned, and the part of a turn
    by which it is."""
    return [
        (i, line, number / PLANES_PER_LINE)
        for i in round_surfaces(types)
        for line in PLANE_LINES
        for number in range(PLANES_PER_LINE)
    ]
