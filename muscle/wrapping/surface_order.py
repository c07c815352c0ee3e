"""In which order a path comes to the surfaces between two of its points, where nothing prescribes it.

The first guess is the order in which they lie along the straight line between the points. A path that is the shortest
in one order may run through a surface on its way between others. The surface then belongs there, and takes its place
between these.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import call_where, choose
from myoquat.muscle.wrapping.contact_solve import SolvedContact, is_cut, solve_contact, unknown_start
from myoquat.muscle.wrapping.fixed_point_iteration import (
    OrderedSegment,
    Segment,
    TangentPoints,
    points_of,
    round_surfaces,
)
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.surfaces.vectors import always, dot, size

__all__ = ["freely_placed", "guessed_order", "moved_in_order", "moved_to", "path_over_one", "start_over_one_surface"]

Flags = tuple[Array, ...]  # (...) each, of all surfaces


def guessed_order(segment: Segment) -> tuple[Array, ...]:
    """(...) each, the order of the surfaces along the line between the ends, as whole numbers from 0."""
    start, end = segment.start, segment.end
    along = []
    for placed in segment.surfaces:
        middle = placed.in_world(placed.wrap.middle(placed.seen(start), placed.seen(end)))
        along.append(dot(middle - start, end - start))
    return _ranks(along)


@dataclass(frozen=True)
class _Start:
    """A segment, and the surface (...) over which the path is to begin, if any."""

    segment: Segment
    wanted: Flags


def start_over_one_surface(
    segment: Segment, wanted: Flags, where: Array | bool = True
) -> tuple[tuple[TangentPoints, ...], Array, tuple[SolvedContact, ...]]:
    """The tangent points from which to look for the path, a bound of its length, and rough contacts.

    All are sought `where` (...) holds. The bound (...) [m] is the length of the longest of the paths over one surface
    without a side each, zero if none is touched. The contacts are the rough ones of each surface alone.

    The start touches one surface alone. Of the surfaces that are `wanted` (...), or of all if none is, it is the one
    over which the path alone is longest. No shortest path over all is shorter, unless surfaces have sides.
    """
    zero = 0.0 * segment.start
    none = tuple(TangentPoints.none(zero) for _ in segment.surfaces)
    untouched = tuple(SolvedContact.none(zero) for _ in segment.surfaces)
    return call_where(_started, _Start(segment, wanted), where, (none, zero[..., 0], untouched))


def path_over_one(segment: Segment, number: int) -> tuple[TangentPoints, Array, SolvedContact]:
    """The tangent points, the length (...) [m] and the rough contact of the path over the surface of this number alone.

    The length is zero where the path does not touch.
    """
    placed, start, end = segment.surfaces[number], segment.start, segment.end
    A, B, always_rough = placed.seen(start), placed.seen(end), always(start[..., 0])
    near = unknown_start(0.0 * start[..., 0], always_rough)
    c = solve_contact(placed.prototype, placed.numbers, (A, B), segment.line(number), near)
    on = np.where(c.on, 1.0, 0.0)[..., None]
    length = on[..., 0] * (size(c.P - A) + c.arc + size(B - c.Q))
    return TangentPoints(on * placed.in_world(c.P), c.on, on * placed.in_world(c.Q)), length, c


def _started(problem: _Start) -> tuple[tuple[TangentPoints, ...], Array, tuple[SolvedContact, ...]]:
    start, segment = problem.segment.start, problem.segment
    never = ~always(start[..., 0])
    found, lengths, contacts = zip(*(path_over_one(segment, i) for i in range(len(segment.surfaces))), strict=True)
    wanted = joined([np.where(x, 1.0, 0.0)[..., None] for x in problem.wanted])
    some, compared = np.sum(wanted, axis=-1)[..., None] > 0, np.stack(lengths, axis=-1)
    compared = np.where(some & (wanted == 0.0), -1.0, compared)
    most, taken, X = np.max(compared, axis=-1), never, []
    for i, points in enumerate(found):
        here = (compared[..., i] >= most) & ~taken
        taken = taken | here
        X.append(choose(here, points, TangentPoints.none(0.0 * points.P)))
    longest = reduce(np.maximum, [lengths[i] for i in round_surfaces(problem.segment.types)], 0.0 * start[..., 0])
    return tuple(X), longest, contacts


@dataclass(frozen=True)
class _Path:
    """A segment and the tangent points of a path over it."""

    segment: OrderedSegment
    points: tuple[TangentPoints, ...]


def moved_in_order(
    segment: OrderedSegment, points: tuple[TangentPoints, ...], where: Array | bool = True
) -> tuple[tuple[Array, ...], Flags, Flags]:
    """(...) each, the order of the surfaces when the first one that a path runs through has taken its place there.

    The second result tells which surface that is. Where there is none, the third one tells past which surface the path
    runs on the wrong side while on another. They are asked for `where` (...) holds.
    """
    count, zero = len(points), 0.0 * segment.ends[0][..., 0]
    never = (~always(zero),) * count
    return call_where(_moved, _Path(segment, points), where, ((zero,) * count, never, never))


def _moved(path: _Path) -> tuple[tuple[Array, ...], Flags, Flags]:
    segment, count = path.segment, len(path.points)
    start, end = segment.ends
    never = ~always(start[..., 0])
    order = [0.0 * segment.order[0] - 1.0, *segment.order]  # the start comes before all
    P, Q, touched = points_of(path.points)
    on, P, Q = [~never, *touched], [start, *P], [start, *Q]
    numbers = [own[..., None] for own in order]
    last = 0.0 * numbers[0] + float(count)
    stops = [joined(stop) for stop in zip(P, numbers, strict=True)]
    behind = [after(order, on, j, stops, joined([end, last])) for j in range(count + 1)]
    found, through, done = [], [], never
    for i, (placed, active) in enumerate(zip(segment.surfaces, segment.active, strict=True), start=1):
        own, rank, met = before(order, on, i, numbers, numbers[0])[..., 0], order[i], never
        ends_outside = ~placed.wrap.holds(placed.seen(start)) & ~placed.wrap.holds(placed.seen(end))
        asked = active & ends_outside & ~done
        for j in range(count + 1):
            if j != i:
                line = placed.seen(Q[j]), placed.seen(behind[j][..., :3])
                here = is_cut(placed.prototype, placed.numbers, line, asked & on[j] & (own != order[j]) & ~met)
                rank, met = np.where(here, (order[j] + behind[j][..., 3]) / 2.0, rank), met | here
        found.append(rank)
        through.append(met)
        done = done | met
    straight = [(Q[j], behind[j][..., :3], on[j]) for j in range(count + 1)]
    return _ranks(found), tuple(through), _crossed_on_others(path, straight, done)


def _crossed_on_others(path: _Path, straight: Sequence[tuple[Array, Array, Array]], done: Array) -> Flags:
    """(...) each, whether it is the first surface past whose wrong side a path runs on another one.

    None is where `done` (...) holds.

    The chord between the points where a path comes onto another surface and leaves it stands for the geodesic. Both lie
    in that body. If it is convex and apart from this one, the geodesic can be moved onto the chord within it.

    straight: both ends (..., 3) of each straight line of the path, and whether (...) it exists. They are asked for with
    a ring; elsewhere `Wrap.cut` asks for them.
    """
    segment, (P, Q, on), found = path.segment, points_of(path.points), []
    for i, (placed, active) in enumerate(zip(segment.surfaces, segment.active, strict=True)):
        crossed = done & ~done
        if placed.prototype.ahead is not None or placed.prototype.ring:
            outside = [~placed.wrap.holds(placed.seen(x)) for x in segment.ends]
            lines = [(P[j], Q[j], on[j]) for j in range(len(on)) if j != i]
            lines += straight if placed.prototype.ring else []
            beyond = [here & placed.wrap.crossed(placed.seen(a), placed.seen(b)) for a, b, here in lines]
            some = reduce(or_, beyond, crossed)
            crossed = active & outside[0] & outside[1] & some & ~done
        found.append(crossed)
        done = done | crossed
    return tuple(found)


def moved_to(order: Sequence[Array], number: int, place: int) -> tuple[Array, ...]:
    """(...) each, the order of the surfaces when the one of a number has moved to a place, from 0 on."""
    own = np.where(order[number] > place, place - 0.5, place + 0.5)
    return _ranks([*order[:number], own, *order[number + 1 :]])


def freely_placed(segment: OrderedSegment, points: Sequence[TangentPoints], where: Array) -> tuple[Array, ...]:
    """(...) each, the order of the surfaces when untouched cylinders with a side have moved along the path.

    Each cylinder with a side that the path does not touch moves to a place where it stays untouched. This is its own
    place, or else the first such one. The order is asked for `where` (...) holds.

    No rule says where along a path a surface comes that the path does not touch. Between neighbours that are both
    behind it a cylinder with a side is touched, though between others the same path may clear it.
    """
    zero, order = 0.0 * segment.ends[0][..., 0], segment.order
    near, X = unknown_start(zero, always(zero)), points_of(points)
    for i, own in enumerate(segment.segment.types):
        if own.sided:
            touched = segment.contact(i, X, near, where & ~X[2][i]).on
            for place in range(len(order)):
                moved = replace(segment, order=moved_to(order, i, place))
                free = touched & ~moved.contact(i, X, near, touched).on
                order, touched = choose(free, moved.order, order), touched & ~free
                segment = replace(segment, order=order)
    return order


def _ranks(x: Sequence[Array]) -> tuple[Array, ...]:
    """(...) each, how many of the others come before: those that are less, or equal and earlier in the list."""
    found = []
    for i, own in enumerate(x):
        earlier = [np.where(y <= own, 1.0, 0.0) for y in x[:i]] + [np.where(y < own, 1.0, 0.0) for y in x[i + 1 :]]
        found.append(sum(earlier, 0.0 * own))
    return tuple(found)
