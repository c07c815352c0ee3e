"""Alternative local minima between the same ends: of a path that was found and these, the shortest.

The length of a path over several surfaces may have several local minima. Another one may pass an ellipsoid on the other
side, or do without a surface. A surface that is passed on one side alone is touched or not according to where the path
comes from, and so may keep the path on another surface that leads it there. A path is therefore sought on the other
side of each ellipsoid, and without each one-sided surface, where rough iterations tell that the path would not touch it
then. Where it would, it takes this surface up again, and may come to lie on the other side of it, or on another flank
of one that is round: where a one-sided surface leads the path on, both sides may be local minima.

Past several surfaces without a side, spheres and ellipsoids, the length has few local minima, which differ in the side
on which each is passed. They are sought from initial guesses that pass one surface in a plane through a line: the line
between its neighbours on the path, or between the ends of the path. The lengths of guesses in PLANES_PER_LINE planes at
equal angles are compared. The minimization starts only from local minima among them, and beside a saddle point.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels import call_where, choose, fixed_point, static, while_loop
from myoquat.muscle.wrapping.contact_solve import unknown_start
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
    two_sided_surfaces,
)
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.outer_iterations import KEEPS_LONGER_SIDE, Mode, kept_side, minimised, rough_iterate
from myoquat.muscle.wrapping.surface_order import moved_in_order, moved_to
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.planar_paths import Chord
from myoquat.muscle.wrapping.surfaces.vectors import always, differ, dot, nearest

__all__ = ["SAME_LENGTH_M", "around_front", "passes_over", "shortest", "touches_several"]

MAX_ROUGH_ITERATIONS = 3  # without a surface: over one other a single one is enough
PLANES_PER_LINE = 8  # planes of initial guesses through one line, at equal angles
THROUGH_NEIGHBOURS, THROUGH_ENDS = 1.0, 0.0  # the points on the line: neighbours on the path, or its ends
PLANE_LINES = THROUGH_NEIGHBOURS, THROUGH_ENDS
MAX_SADDLE_RATIO = 0.1  # rise of the length over one plane to that over two; 0.29 for a cosine, less at a saddle point
MAX_GUESS_RATIO = 1.1  # length of an initial guess to that of the path found: a longer guess is not used
ROUGH_STAGES = (1, 0.995), (1, 0.98)  # (rough iterations, cosine above which a guess is the path found)
MAX_LENGTH_RATIO = 1.01  # of a path after these to the path found: a longer one is given up
RETURNING_ITERATIONS = (1, 0.8), (2, 0.95)  # with the surface again; cosine between normals, beyond which paths differ
SAME_LENGTH_M = 1e-8  # [m] by which the lengths of two equal paths may differ


@dataclass(frozen=True)
class _Attempts:
    """The attempts that are made (...) from the path found over a segment, and the segment."""

    planned: tuple[Array, ...]
    segment: Segment


@dataclass(frozen=True)
class _Search:
    """The shortest path so far, the order of the surfaces along it, and the number (...) of the next attempt, from 1
    on; 0 where there is none."""

    iterate: Iterate
    order: tuple[Array, ...]
    attempt: Array


def shortest(
    segment: OrderedSegment, found: Iterate, longest: Array, where: Array
) -> tuple[Iterate, tuple[Array, ...]]:
    """The shortest of a path over all surfaces that was found and of the alternative local minima, `where` (...) it is
    certain; and (...) each, the order of the surfaces along it.

    Where there is an alternative the length may jump between poses beside each other: at one of them it may not be
    found.

    longest (...) [m]: the length of the longest of the paths over one surface without a side each. A path that touches
    one surface and is no longer has no shorter alternative without a side.
    """
    types = segment.segment.types
    if not (_one_sided(types) or round_surfaces(types)):
        return found, segment.order
    planned = tuple(x & where for x in _planned(segment, found, longest, where))
    attempts = _Attempts(planned, segment.segment)
    begin = _Search(found, segment.order, _next(planned, float(len(planned) + 1) + 0.0 * segment.ends[0][..., 0]))
    search = while_loop(_any_left, _attempted, begin, attempts, max_steps=len(planned))
    return search.iterate, search.order


def _any_left(search: _Search) -> Array:
    result: Array = search.attempt > 0
    return result


def _planned(segment: OrderedSegment, found: Iterate, longest: Array, where: Array) -> list[Array]:
    """(...) each, whether the attempt of a number, from 1 on, is made: without each one-sided surface, on the other
    side of each with two, from each tilted start, where the path touches these; and with each cylinder that it passes
    in front, though both neighbours are behind, in each other place along the path."""
    types, on = segment.segment.types, found.on
    some_round = reduce(or_, [on[i] for i in round_surfaces(types)], ~always(longest))
    several = touches_several(on) | (some_round & (length_of(segment, found) > longest + SAME_LENGTH_M))
    tilted = [several & x for x in _promising(segment, found, several & where)]
    moved = [around_front(segment, found, i) & (segment.order[i] != float(x)) for i, x in _moves(types)]
    return [*(on[i] for i in _one_sided(types)), *(several & on[i] for i in two_sided_surfaces(types)), *tilted, *moved]


def _moves(types: Sequence[Wrap]) -> list[tuple[int, int]]:
    """The numbers of cylinders with a side, each with each place along the path."""
    return [(i, place) for i, own in enumerate(types) if own.held for place in range(len(types))]


def _numbered_moves(types: Sequence[Wrap]) -> list[tuple[int, tuple[int, int]]]:
    """`_moves` with the numbers of their attempts, after all others."""
    first = len(_one_sided(types)) + len(two_sided_surfaces(types)) + len(_tilts(types)) + 1
    return list(enumerate(_moves(types), first))


def around_front(segment: OrderedSegment, found: Iterate, number: int) -> Array:
    """(...) whether a path touches a cylinder with a side past its front, though both neighbours are behind."""
    ahead, ends = segment.surfaces[number].prototype.ahead, segment.neighbours(number, points_of(found.points))
    if ahead is None:
        raise TypeError("a surface without a side has no front")
    a, b = ends
    behind = (dot(a, ahead) < 0) & (dot(b, ahead) < 0)
    side = np.array([-ahead[1], ahead[0], 0.0])
    return found.on[number] & behind & (dot(a, side) * dot(b, side) > 0)


def _next(planned: Sequence[Array], before: Array) -> Array:
    """(...) the greatest number of a planned attempt that is less than the one `before`; 0 where there is none."""
    numbers = [np.where(x & (before > n), float(n), 0.0) for n, x in enumerate(planned, 1)]
    result: Array = reduce(np.maximum, numbers)
    return result


def _attempted(search: _Search, attempts: _Attempts) -> _Search:
    """The shorter one of a path and an alternative, and the number of the next attempt. An alternative that runs past a
    wrong side on another surface only replaces a path that runs through one."""
    was, number, types, on = search.iterate, search.attempt, attempts.segment.types, search.iterate.on
    before, order = OrderedSegment.over_all(attempts.segment, search.order), search.order
    for n, (i, place) in _numbered_moves(types):
        order = choose(number == float(n), moved_to(search.order, i, place), order)
    segment = replace(before, order=order)
    X, without, there = _begun(segment, was, _without(types, on, number))
    for n, i in enumerate(two_sided_surfaces(types), len(_one_sided(types)) + 1):
        other, exists = _turned(segment, was.points, i, number == float(n))
        X, there = choose(exists, other, X), there | exists
    X, there, tilted, way = _from_tilted(segment, was, number, X, there)
    remaining = replace(segment, active=tuple(~x for x in without))
    found, _ = minimised(remaining, X, Mode(~always(number), way), there)
    minimal = there & ~found.unsolved & ~_wanted(found, without) & ~passes_over(found, was)
    _, cut, crossed = moved_in_order(replace(segment, active=(minimal,) * len(types)), found.points)
    longer = np.where(minimal & ~reduce(or_, cut), length_of(before, was) - length_of(segment, found), 0.0)
    crosses = reduce(or_, crossed)
    jumps = (longer > SAME_LENGTH_M) | (~tilted & ~crosses & (longer < -SAME_LENGTH_M))
    better = (longer > 0) & (~crosses | passes_over(was, found))
    best, order = choose(better, (found, order), (was, search.order))
    return _Search(best.beside_a_jump(jumps), order, _next(attempts.planned, number))


def _begun(
    segment: OrderedSegment, was: Iterate, without: list[Array]
) -> tuple[tuple[TangentPoints, ...], list[Array], Array]:
    """X from which to look for the alternative that begins without a surface, `without` (...) each it is this one;
    (...) each, whether it does without it to the end; and (...) whether there is one.

    It does where a rough path over the others would not touch the surface. Elsewhere it takes it up again, and is an
    alternative where it comes to lie on another side of a surface, or on another flank, than the path that was found.
    """
    if not _one_sided(segment.segment.types):
        return was.points, without, without[0]
    asked, remaining = reduce(or_, without), replace(segment, active=tuple(~x for x in without))
    X = tuple(choose(x, TangentPoints.none(0.0 * p.P), p) for x, p in zip(without, was.points, strict=True))
    way = 0.0 * X[0].P[..., 0] + kept_side(segment.segment.types)
    X = rough_iterate(remaining, X, min(len(X) - 1, MAX_ROUGH_ITERATIONS), asked, way).points
    stopped = _stopped(segment, X, without)
    again = asked & stopped & touches_several(was.on)
    for count, cosine in RETURNING_ITERATIONS:
        X, _, least = _compared(_Compared(segment, was.points, way), X, count, again, 1.0)
        again = again & (least < cosine)
    return X, [x & ~stopped for x in without], (asked & ~stopped) | again


def _from_tilted(
    segment: OrderedSegment, was: Iterate, number: Array, X: tuple[TangentPoints, ...], there: Array
) -> tuple[tuple[TangentPoints, ...], Array, Array, Array]:
    """X of the initial guess of the attempt of a `number`, `there` (...) whether it is used, whether it is tilted, and
    the `way` of `Near` past the surfaces on which it is.

    X and `there` are returned as they are where the attempt has no tilted initial guess. A tilted one is not used where
    a few rough iterations lead to the path that was found, or leave a path that is longer by MAX_LENGTH_RATIO. No
    iteration makes a path longer, so a path that is shorter already cannot lead back.
    """
    types, own = segment.segment.types, length_of(segment, was)
    Y, tilted, way = X, ~always(there), 0.0 * number + kept_side(types)
    first = len(_one_sided(types)) + len(two_sided_surfaces(types)) + 1
    for i in round_surfaces(types):
        mine = [(number == float(n), line, part) for n, (j, line, part) in enumerate(_tilts(types), first) if i == j]
        line, part = (sum((np.where(x[0], x[n], 0.0) for x in mine), 0.0 * number) for n in (1, 2))
        here = reduce(or_, [x[0] for x in mine])
        points, _, exists = _tilted_start(segment, was.points, i, line, part, here)
        Y, tilted = choose(exists, _tangent_points(points), Y), tilted | exists
        way = np.where(exists & (line == THROUGH_ENDS), KEEPS_LONGER_SIDE, way)
    used, other = tilted, _Compared(segment, was.points, way)
    for count, cosine in ROUGH_STAGES:
        Y, length, least = _compared(other, Y, count, used, 0.0)
        changed = reduce(or_, [differ(x.on, on) for x, on in zip(Y, was.on, strict=True)])
        used = used & (changed | (length < own - SAME_LENGTH_M) | ~(least > cosine))
    last = rough_iterate(segment, Y, 1, used, way)
    used = used & (length_of(segment, last) < MAX_LENGTH_RATIO * own)
    return choose(tilted, last.points, X), there | used, tilted, way


def _tangent_points(points: Points) -> tuple[TangentPoints, ...]:
    """The tangent points of all surfaces, zero where they are not touched."""
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in points[2]]
    return tuple(TangentPoints(flag * p, x, flag * q) for p, q, x, flag in zip(*points, flags, strict=True))


def _tilted_start(
    segment: OrderedSegment, X: tuple[TangentPoints, ...], i: int, line: Array, part: Array, where: Array
) -> tuple[Points, Array, Array]:
    """An initial guess that passes the surface of number i in a plane; its length (...) [m]; and (...) whether there is
    one.

    The plane is turned about a line by a `part` (...) of a turn. line (...): THROUGH_NEIGHBOURS or THROUGH_ENDS, on a
    path. where (...): only there it is asked for.

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
    """Two ends A, B (..., 3) in a surface's frame, the part (...) of a turn by which the plane of a path is turned from
    the one through the centre, and the surface by its numbers and prototype."""

    A: Array
    B: Array
    part: Array
    numbers: Array
    surface: Wrap = static()


def _plane_path(plane: _Plane) -> tuple[TangentPoints, Array]:
    """Where a plane path comes onto a surface with half axes, and leaves it, in its frame, `on` whether the straight
    line between its ends runs into the surface; and its length on it [m]."""
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


def _promising(segment: OrderedSegment, found: Iterate, where: Array) -> list[Array]:
    """(...) each, whether the minimization starts from an initial guess of `_tilts`, `where` (...) it may: where the
    guess is shorter than those in the planes beside it, or beside the plane of a path that lies at a saddle point.

    The plane through the neighbours and the centre holds the path found, or nearly so, and is left out.
    """
    own, tilts, result = length_of(segment, found), _tilts(segment.segment.types), []
    zero = 0.0 * own
    begin = _Guesses(tuple(zero[..., None] * np.ones(PLANES_PER_LINE) for _ in tilts[::PLANES_PER_LINE]), zero)
    path = _Path(segment.segment, segment.order, found.points)
    guesses = while_loop(_planes_left, _measured_in_next_plane, begin, path, max_steps=PLANES_PER_LINE, where=where)
    for lengths, (_, line, _) in zip(guesses.lengths, tilts[::PLANES_PER_LINE], strict=True):
        l = [lengths[..., k] for k in range(PLANES_PER_LINE)]
        chosen = [(l[k] < l[k - 1]) & (l[k] <= l[(k + 1) % PLANES_PER_LINE]) for k in range(PLANES_PER_LINE)]
        if line == THROUGH_NEIGHBOURS:
            chosen[0] = ~always(where)
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
    """The lengths (..., PLANES_PER_LINE) [m] of initial guesses of each surface and line, zero where there is none yet;
    and the number (...) of planes that are done."""

    lengths: tuple[Array, ...]
    done: Array


def _planes_left(guesses: _Guesses) -> Array:
    result: Array = guesses.done < PLANES_PER_LINE
    return result


def _measured_in_next_plane(guesses: _Guesses, path: _Path) -> _Guesses:
    """The lengths with those in one more plane."""
    segment, done = OrderedSegment.over_all(path.segment, path.order), guesses.done
    found = []
    for lengths, (i, line, _) in zip(guesses.lengths, _tilts(path.segment.types)[::PLANES_PER_LINE], strict=True):
        _, own, exists = _tilted_start(
            segment, path.points, i, 0.0 * done + line, done / PLANES_PER_LINE, path.points[i].on
        )
        here = (done[..., None] == np.arange(float(PLANES_PER_LINE))) & exists[..., None]
        found.append(np.where(here, own[..., None], lengths))
    return _Guesses(tuple(found), done + 1.0)


def _tilts(types: Sequence[Wrap]) -> list[tuple[int, float, float]]:
    """The tilted initial guesses: a surface's number, the line about which the plane is turned, and the part of a turn
    by which it is."""
    return [
        (i, line, number / PLANES_PER_LINE)
        for i in round_surfaces(types)
        for line in PLANE_LINES
        for number in range(PLANES_PER_LINE)
    ]


@dataclass(frozen=True)
class _Comparison:
    """Tangent points, the length (...) [m] of their path, and the cosine (...) of the angle by which they differ from
    those of another path."""

    points: tuple[TangentPoints, ...]
    length: Array
    cosine: Array


@dataclass(frozen=True)
class _Compared:
    """A segment, the tangent points of the path with which others are compared, and the `way` (...) of `Near` past the
    surfaces on which these are."""

    segment: OrderedSegment
    points: tuple[TangentPoints, ...]
    way: Array


def _compared(
    other: _Compared, X: tuple[TangentPoints, ...], count: int, where: Array, cosine: float
) -> tuple[tuple[TangentPoints, ...], Array, Array]:
    """X after a `count` of rough iterations over all surfaces, `where` (...) they are made; the length (...) [m] of its
    path; and the cosine (...) by which it differs from another path, elsewhere the given one."""
    zero = 0.0 * X[0].P[..., 0]
    found = fixed_point(_one_compared, _Comparison(X, zero, zero + cosine), other, max_steps=count, where=where)
    return found.points, found.length, found.cosine


def _one_compared(state: _Comparison, problem: _Compared) -> _Comparison:
    segment = problem.segment
    iterate = rough_iterate(segment, state.points, 1, segment.active[0], problem.way)
    cosine = _cosine(segment.surfaces, iterate.points, problem.points)
    return _Comparison(iterate.points, length_of(segment, iterate), cosine)


def _cosine(surfaces: Sequence[PlacedSurface], X: Sequence[TangentPoints], Y: Sequence[TangentPoints]) -> Array:
    """(...) the least cosine of the angles between a surface's normals where two paths that both touch it come onto it,
    or leave it."""
    least = 1.0 + 0.0 * X[0].P[..., 0]
    for leaving in (False, True):
        for placed, a, b in zip(surfaces, X, Y, strict=True):
            x, y, here = a.Q if leaving else a.P, b.Q if leaving else b.P, a.on & b.on
            n, m = (placed.wrap.normal(placed.seen(p)) for p in (x, y))
            square = np.where(here, dot(n, n) * dot(m, m), 1.0)
            least = np.where(here, np.minimum(least, dot(n, m) / np.sqrt(square)), least)
    return least


def _one_sided(types: Sequence[Wrap]) -> list[int]:
    """The numbers of the surfaces that a path passes on one side, or through: others it cannot do without but by
    slipping over them."""
    return [i for i, own in enumerate(types) if own.ring or own.quadrant != "all" or own.hint is not None]


def _without(types: Sequence[Wrap], on: list[Array], left: Array) -> list[Array]:
    """(...) each, whether the attempt of the number that is left does without this surface, which the path touches."""
    without = [~always(left)] * len(on)
    numbers = [*enumerate(_one_sided(types), 1), *((n, i) for n, (i, _) in _numbered_moves(types))]
    for n, i in numbers:
        without[i] = without[i] | (on[i] & (left == float(n)))
    return without


def touches_several(on: Sequence[Array]) -> Array:
    """(...) whether a path touches more than one surface."""
    result: Array = reduce(add, [np.where(x, 1.0, 0.0) for x in on]) > 1
    return result


def _stopped(segment: OrderedSegment, X: Sequence[TangentPoints], without: list[Array]) -> Array:
    """(...) whether a rough path without a surface would touch it, or begins inside."""
    never, points = ~always(X[0].on), points_of(X)
    near = unknown_start(0.0 * X[0].P[..., 0], ~never)
    touches = [(segment.contact(i, points, near, without[i]), without[i]) for i in _one_sided(segment.segment.types)]
    return reduce(or_, [(c.on | c.inside) & where for c, where in touches], never)


def _wanted(iterate: Iterate, without: list[Array]) -> Array:
    """(...) whether the path without a surface would touch it."""
    return reduce(or_, [x & c.inside for x, c in zip(without, iterate.contacts, strict=True)])


def passes_over(iterate: Iterate, was: Iterate) -> Array:
    """(...) whether the path passes over a surface that another path does not pass over."""
    return reduce(or_, [a.inside & ~b.inside for a, b in zip(iterate.contacts, was.contacts, strict=True)])


def _turned(
    segment: OrderedSegment, X: tuple[TangentPoints, ...], number: int, where: Array
) -> tuple[tuple[TangentPoints, ...], Array]:
    """The X of a path led past the surface of this number on the other side, `where` (...) that is asked and it is
    touched; and (...) whether there is one that may be as short."""
    points, own, zero = points_of(X), X[number], 0.0 * X[0].P[..., 0]
    placed, asked = segment.surfaces[number], where & own.on
    near = replace(unknown_start(zero, always(zero)), P=placed.seen(own.P), way=zero - 1.0)
    c = segment.contact(number, points, near, asked)
    there = asked & c.on
    found = TangentPoints(placed.in_world(c.P), always(zero), placed.in_world(c.Q))
    return (*X[:number], choose(there, found, own), *X[number + 1 :]), there
