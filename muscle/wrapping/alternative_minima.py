"""Alternative local minima between the same ends: of a path that was found and these, the shortest.

The length of a path over several surfaces may have several local minima. Another one may pass an ellipsoid on the other
side, or do without a surface. Whether a one-sided surface is touched depends on where the path comes from. Such a
surface may therefore keep the path on another surface that leads it there. A path is sought on the other side of each
ellipsoid. A path without each one-sided surface is sought where rough iterations tell that the path would then not
touch it. Where it would, it takes this surface up again. It may then come to lie on the other side of the surface, or
on another flank of a round one. Where a one-sided surface leads the path on, both sides may be local minima.

Past several surfaces without a side the length has few local minima, which differ in the side on which each surface is
passed. They are sought from initial guesses (`initial_guesses`).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add, or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import choose, fixed_point, while_loop
from myoquat.muscle.wrapping.contact_solve import unknown_start
from myoquat.muscle.wrapping.fixed_point_iteration import (
    Iterate,
    OrderedSegment,
    Segment,
    TangentPoints,
    length_of,
    points_of,
    round_surfaces,
    two_sided_surfaces,
)
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.initial_guesses import (
    OPPOSITE,
    OTHER_SIDE_OF_ANY_LENGTH,
    THROUGH_ENDS,
    bound_start,
    promising_tilts,
    tangent_points_of,
    tilted_start,
    tilts,
    turned_start,
)
from myoquat.muscle.wrapping.outer_iterations import KEEPS_LONGER_SIDE, Mode, kept_side, minimised, rough_iterate
from myoquat.muscle.wrapping.surface_order import freely_placed, moved_in_order, moved_to, start_over_one_surface
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always, differ, dot

__all__ = ["SAME_LENGTH_M", "around_front", "passes_over", "shortest", "touches_several", "touches_twice"]

MAX_ROUGH_ITERATIONS = 3  # without a surface: over one other a single one is enough
ROUGH_STAGES = (1, 0.995), (1, 0.98)  # (rough iterations, cosine above which a guess is the path found)
MAX_LENGTH_RATIO = 1.01  # of a path after these to the path found: a longer one is given up
NEARLY_AS_SHORT_RATIO = 1e-3  # of the length, by which a path found from a guess is longer beside a jump
RETURNING_ITERATIONS = (1, 0.8), (2, 0.95)  # with the surface again; cosine between normals, beyond which paths differ
SAME_LENGTH_M = 1e-8  # [m] by which the lengths of two equal paths may differ


@dataclass(frozen=True)
class _Attempts:
    """The attempts from the path found over a segment.

    planned  (...) each, whether an attempt is made
    segment  the segment
    longest  (...) [m] the length of the longest of the paths over one surface without a side each
    """

    planned: tuple[Array, ...]
    segment: Segment
    longest: Array


@dataclass(frozen=True)
class _Search:
    """The search among the attempts.

    iterate  the shortest path so far
    order    the order of the surfaces along it
    crosses  (...) whether it runs past a wrong side on another surface
    attempt  (...) the number of the next attempt, from 1 on; 0 where there is none
    """

    iterate: Iterate
    order: tuple[Array, ...]
    crosses: Array
    attempt: Array


def shortest(
    segment: OrderedSegment, found: Iterate, crosses: Array, longest: Array, where: Array
) -> tuple[Iterate, tuple[Array, ...], Array]:
    """The shortest of a path over all surfaces that was found and of the alternative local minima.

    The results are its iterate; (...) each, the order of the surfaces along it; and whether (...) it `crosses`. A path
    crosses if it runs past a wrong side on another surface. It is never preferred to one that does not. Alternatives
    are sought `where` (...) the path found is certain.

    Where there is an alternative the length may jump between poses beside each other: at one of them it may not be
    found.

    longest (...) [m]: the length of the longest of the paths over one surface without a side each. A path that touches
    one surface and is no longer has no shorter alternative without a side.
    """
    types = segment.segment.types
    if not (_one_sided(types) or round_surfaces(types)):
        return found, segment.order, crosses
    planned = tuple(x & where for x in _planned(segment, found, longest, where))
    attempts = _Attempts(planned, segment.segment, longest)
    first = _next(planned, float(len(planned) + 1) + 0.0 * segment.ends[0][..., 0])
    begin = _Search(found, segment.order, crosses, first)
    search = while_loop(_any_left, _attempted, begin, attempts, max_steps=len(planned))
    return search.iterate, search.order, search.crosses


def _any_left(search: _Search) -> Array:
    result: Array = search.attempt > 0
    return result


def _planned(segment: OrderedSegment, found: Iterate, longest: Array, where: Array) -> list[Array]:
    """(...) each, whether the attempt of a number, from 1 on, is made.

    In this order, the attempts are

    - without each one-sided surface that the path touches
    - on the other side of each surface with two that it touches
    - from each tilted start
    - with each cylinder that it passes in front, though both neighbours are behind, in each other place along the path
    - from the longest of the paths over one surface without a side each, if surfaces have sides and the path is longer
    - from the path through a ring alone, if the path touches another surface, and one is round
    """
    types, on = segment.segment.types, found.on
    some_round = reduce(or_, [on[i] for i in round_surfaces(types)], ~always(longest))
    longer = length_of(segment, found) > longest + SAME_LENGTH_M
    several = touches_several(on) | (some_round & longer)
    tilted = [several & x for x in promising_tilts(segment, found, several & where)]
    moved = [around_front(segment, found, i) & (segment.order[i] != float(x)) for i, x in _moves(types)]
    without, turned = [on[i] for i in _one_sided(types)], [several & on[i] for i in two_sided_surfaces(types)]
    bound = [longer & (longest > 0)] if _has_bound(types) else []
    others = [on[i] for i, own in enumerate(types) if not own.ring]
    through = [reduce(or_, others)] if _through_alone(types) else []
    return [*without, *turned, *tilted, *moved, *bound, *through]


def _through_alone(types: Sequence[Wrap]) -> bool:
    """Whether the search also begins at the path through a ring alone.

    Rough contacts with a ring are guesses. From them a round surface may be passed on any flank.
    """
    return any(own.ring for own in types) and bool(round_surfaces(types))


def _rings(types: Sequence[Wrap], where: Array) -> tuple[Array, ...]:
    """(...) each, whether a surface is a ring, `where` (...) that is asked."""
    return tuple(where if own.ring else ~always(where) for own in types)


def _has_bound(types: Sequence[Wrap]) -> bool:
    """Whether surfaces have sides, others have none, and no ring prescribes the order."""
    return bool(_one_sided(types) and round_surfaces(types)) and not any(own.ring for own in types)


def _attempts_before_moves(types: Sequence[Wrap]) -> int:
    return len(_one_sided(types)) + len(two_sided_surfaces(types)) + len(tilts(types))


def _moves(types: Sequence[Wrap]) -> list[tuple[int, int]]:
    """The numbers of cylinders with a side, each with each place along the path."""
    return [(i, place) for i, own in enumerate(types) if own.sided for place in range(len(types))]


def _numbered_moves(types: Sequence[Wrap]) -> list[tuple[int, tuple[int, int]]]:
    """`_moves` with the numbers of their attempts."""
    return list(enumerate(_moves(types), _attempts_before_moves(types) + 1))


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
    """The shorter one of a path and an alternative, and the number of the next attempt.

    An alternative that runs past a wrong side on another surface replaces only a path that does too, or runs through
    one.
    """
    was, number, types, on = search.iterate, search.attempt, attempts.segment.types, search.iterate.on
    before, order = OrderedSegment.over_all(attempts.segment, search.order), search.order
    for n, (i, place) in _numbered_moves(types):
        order = choose(number == float(n), moved_to(search.order, i, place), order)
    segment = replace(before, order=order)
    segment, X, without, there = _begun(segment, was, _without(types, on, number))
    for n, i in enumerate(two_sided_surfaces(types), len(_one_sided(types)) + 1):
        other, exists = turned_start(segment, was.points, i, number == float(n))
        X, there = choose(exists, other, X), there | exists
    X, there, tilted, way, start = _from_guess(segment, was, number, X, there)
    last, exact = number == float(len(attempts.planned)), ~always(number)
    if _has_bound(types):
        bound, exists = bound_start(segment, last)
        X, there = choose(exists, bound, X), there | exists
    elif _through_alone(types):
        through, *_ = start_over_one_surface(segment.segment, _rings(types, last), last)
        X, there, tilted, exact = choose(last, through, X), there | last, tilted | last, last
    segment = replace(segment, order=freely_placed(segment, X, there))
    order = segment.order
    remaining = replace(segment, active=tuple(~x for x in without))
    found, _ = minimised(remaining, X, Mode(~always(number), way, exact), there)
    minimal = there & ~found.unsolved & ~_wanted(found, without) & ~passes_over(found, was)
    _, cut, crossed = moved_in_order(replace(segment, active=(minimal,) * len(types)), found.points, minimal)
    clear, crosses = minimal & ~reduce(or_, cut), reduce(or_, crossed)
    own, length = length_of(before, was), length_of(segment, found)
    longer = np.where(clear, own - length, 0.0)
    near = ~tilted | (longer > -NEARLY_AS_SHORT_RATIO * own)
    shorter = length < own - SAME_LENGTH_M
    twice = minimal & touches_twice(found, cut) & shorter
    jumps = (
        twice
        | (_exists_below(own, start, types) & (found.unsolved | ~shorter))
        | (longer > SAME_LENGTH_M)
        | (near & ~crosses & (longer < -SAME_LENGTH_M))
    )
    returns = clear & search.crosses & ~crosses
    better = returns | ((longer > SAME_LENGTH_M) & (~crosses | search.crosses | passes_over(was, found)))
    best, order, now_crosses = choose(better, (found, order, crosses), (was, search.order, search.crosses))
    following = np.where(better & ~crosses & (length <= attempts.longest), 0.0, _next(attempts.planned, number))
    return _Search(best.beside_a_jump(jumps | returns), order, now_crosses, following)


def _begun(
    segment: OrderedSegment, was: Iterate, without: list[Array]
) -> tuple[OrderedSegment, tuple[TangentPoints, ...], list[Array], Array]:
    """The start of the alternative that begins without a surface; `without` (...) each tells whether it is this one.

    The first results are the segment and X from which to look for it. The others are (...) each, whether it does
    without the surface to the end, and (...) whether there is an alternative.

    It does without the surface where a rough path over the others would not touch it. Elsewhere it takes the surface up
    again. It is then an alternative where it comes to lie on another side or flank of a surface than the path that was
    found.
    """
    if not _one_sided(segment.segment.types):
        return segment, was.points, without, without[0]
    asked, remaining = reduce(or_, without), replace(segment, active=tuple(~x for x in without))
    X = tuple(choose(x, TangentPoints.none(0.0 * p.P), p) for x, p in zip(without, was.points, strict=True))
    way = 0.0 * X[0].P[..., 0] + kept_side(segment.segment.types)
    X = rough_iterate(remaining, X, min(len(X) - 1, MAX_ROUGH_ITERATIONS), asked, way).points
    segment = replace(segment, order=choose(asked, freely_placed(segment, X, asked), segment.order))
    stopped = _stopped(segment, X, without)
    again = asked & stopped & touches_several(was.on)
    for count, cosine in RETURNING_ITERATIONS:
        X, _, least = _compared(_Compared(segment, was.points, way), X, count, again, 1.0)
        again = again & (least < cosine)
    return segment, X, [x & ~stopped for x in without], (asked & ~stopped) | again


def _from_guess(
    segment: OrderedSegment, was: Iterate, number: Array, X: tuple[TangentPoints, ...], there: Array
) -> tuple[tuple[TangentPoints, ...], Array, Array, Array, Array]:
    """The start from the initial guess of the attempt of a `number`; `there` (...): where there is a start already.

    The results are X, where (...) there is a start now, whether (...) it is a guess, and the `way` of `Near` past its
    surfaces. The last one is the length (...) [m] of its path, infinite where it is not used.

    A guess passes a surface in a tilted plane, or an ellipsoid on the other side, on which no path as short was found.
    X and `there` are returned as they are where the attempt has none. A guess is not used where a few rough iterations
    lead to the path that was found. It is not used either where they leave a path that is longer by MAX_LENGTH_RATIO.
    No iteration makes a path longer, so a path that is shorter already cannot lead back.
    """
    types, own = segment.segment.types, length_of(segment, was)
    Y, tilted, way = X, ~always(there), 0.0 * number + kept_side(types)
    for n, i in enumerate(two_sided_surfaces(types), len(_one_sided(types)) + 1):
        asked = (number == float(n)) & ~there
        turned, exists = _on_other_flank(segment, was.points, i, asked)
        Y, tilted = choose(exists, turned, Y), tilted | exists
        way = np.where(exists, KEEPS_LONGER_SIDE, way)
    first = len(_one_sided(types)) + len(two_sided_surfaces(types)) + 1
    for i in round_surfaces(types):
        mine = [(number == float(n), line, part) for n, (j, line, part) in enumerate(tilts(types), first) if i == j]
        line, part = (sum((np.where(x[0], x[n], 0.0) for x in mine), 0.0 * number) for n in (1, 2))
        here = reduce(or_, [x[0] for x in mine])
        points, _, exists = tilted_start(segment, was.points, i, line, part, here)
        Y, tilted = choose(exists, tangent_points_of(points), Y), tilted | exists
        way = np.where(exists & ((line == THROUGH_ENDS) | (part == OPPOSITE)), KEEPS_LONGER_SIDE, way)
    used, other = tilted, _Compared(segment, was.points, way)
    for count, cosine in ROUGH_STAGES:
        Y, length, least = _compared(other, Y, count, used, 0.0)
        changed = reduce(or_, [differ(x.on, on) for x, on in zip(Y, was.on, strict=True)])
        used = used & (changed | (length < own - SAME_LENGTH_M) | ~(least > cosine))
    last = rough_iterate(segment, Y, 1, used, way)
    length = length_of(segment, last)
    used = used & (length < MAX_LENGTH_RATIO * own)
    return choose(tilted, last.points, X), there | used, tilted, way, np.where(used, length, np.inf)


def _exists_below(own: Array, start: Array, types: Sequence[Wrap]) -> Array:
    """(...) whether there is a shorter path than one of its `own` length (...) [m].

    There is if the path of a guess, of the length `start` (...) [m], is shorter by MAX_LENGTH_RATIO.
    No iteration makes a path longer, but for surfaces that the guess runs through. Rough contacts with a ring tell
    nothing of it.
    """
    result: Array = (MAX_LENGTH_RATIO * start < own) & (not any(surface.ring for surface in types))
    return result


def _on_other_flank(
    segment: OrderedSegment, points: tuple[TangentPoints, ...], number: int, where: Array
) -> tuple[tuple[TangentPoints, ...], Array]:
    """The tangent points of a path led past an ellipsoid on the other side, of any length; and (...) if there is one.

    It is asked for `where` (...) holds.

    There may be none between the neighbours of the path found, which lies on one flank and holds its neighbours there.
    Then one that may be as short is sought between those of the path that does without the ellipsoid.
    """
    found, exists = turned_start(segment, points, number, where, OTHER_SIDE_OF_ANY_LENGTH)
    asked, way = where & ~exists, 0.0 * points[0].P[..., 0] + kept_side(segment.segment.types)
    active = tuple(x if i != number else ~where & x for i, x in enumerate(segment.active))
    X = (*points[:number], choose(asked, TangentPoints.none(0.0 * points[0].P), points[number]), *points[number + 1 :])
    free = rough_iterate(replace(segment, active=active), X, min(len(X) - 1, MAX_ROUGH_ITERATIONS), asked, way).points
    X = (*free[:number], points[number], *free[number + 1 :])
    other, there = turned_start(segment, X, number, asked)
    return choose(there, other, found), exists | there


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
    """X after a `count` of rough iterations over all surfaces, the length (...) [m] of its path, and a cosine (...).

    The iterations are made `where` (...) holds. The cosine is that by which X differs from another path; elsewhere it
    is the given one.
    """
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


def touches_twice(iterate: Iterate, cut: Sequence[Array]) -> Array:
    """(...) whether a path that touches a surface runs through it elsewhere, `cut` (...) each: a string would touch it
    twice."""
    return reduce(or_, [a & b for a, b in zip(iterate.on, cut, strict=True)])


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
