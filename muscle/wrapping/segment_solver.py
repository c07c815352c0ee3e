"""One segment of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours. Which surfaces are touched, and in which order (`surface_order`), is part of the answer. From an initial
guess the length is minimised (`outer_iterations`). Where the path then runs through a surface it is sought again. Where
another local minimum may exist (`alternative_minima`), that one is sought too: the shorter one is the answer.

In a compiled kernel every surface type is one function (`contact_solve`). One iteration serves all segments over the
same types in the same order: the poses and the numbers of the surfaces are data.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import matvec
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.alternative_minima import (
    SAME_LENGTH_M,
    around_front,
    passes_over,
    shortest,
    touches_several,
    touches_twice,
)
from myoquat.muscle.wrapping.contact_solve import SolvedContact, is_cut, unknown_start
from myoquat.muscle.wrapping.fixed_point_iteration import (
    MAX_RESIDUAL_M,
    Iterate,
    OrderedSegment,
    Segment,
    TangentPoints,
    dividing_surfaces,
    length_of,
    points_of,
    round_surfaces,
)
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.outer_iterations import Mode, kept_side, minimised, rough_iterate
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.saddle_points import is_saddle_point
from myoquat.muscle.wrapping.surface_order import guessed_order, moved_in_order, path_over_one, start_over_one_surface
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always

__all__ = ["Piece", "over_one_surface", "over_surfaces"]

ROUGH_ITERATIONS = 2  # on an opposite side, after which a path longer by the next ratio is given up
MAX_ROUGH_LENGTH_RATIO = 1.2  # a ratio of 1.01 gave up some sides on which the path was the shortest in the end
MAX_TRIES = 2  # times that a path is sought, where it runs through surfaces


@dataclass(frozen=True)
class Piece:
    """A solved segment: contacts in their bodies' frames, with their order along the path (`Contact.place`).

    unsolved (...): the path may not be the shortest, since a solver did not converge.
    """

    wraps: tuple[Wrap, ...] = ()
    contacts: tuple[Contact, ...] = ()
    unsolved: Array | bool = False


def over_one_surface(wrap: Wrap, contact: Contact) -> Piece:
    """The segment over one surface, from its contact in its body's frame."""
    return Piece((wrap,), (contact,), np.logical_not(contact.missed <= MAX_RESIDUAL_M))


@dataclass(frozen=True)
class _Try:
    """A try to solve the segment.

    iterate     the iterate
    order       the order of the surfaces
    through     (...) each, whether the path runs through this surface, or past its wrong side on another surface
    crosses     (...) whether it is the latter
    next_order  the order of the next try
    left        (...) how many tries are left: none where the path is solved and runs neither through nor past one
    longest     (...) [m] the length of the longest of the paths over one surface without a side each
    given_up    (...) [m] the length of the shortest path that was given up, infinite where there is none
    """

    iterate: Iterate
    order: tuple[Array, ...]
    through: tuple[Array, ...]
    crosses: Array
    next_order: tuple[Array, ...]
    left: Array
    longest: Array
    given_up: Array

    @property
    def clear(self) -> Array:
        """(...) whether the path is solved and runs through no surface."""
        return ~reduce(or_, self.through) & ~self.iterate.unsolved


def over_surfaces(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The shortest path from `start` over several surfaces to `end`, touching those that it must.

    If one is a ring, or has a hint, the path comes to the surfaces in the given order, as to obstacles.
    """
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    segment = _segment(wraps, start, end, poses)
    zero = 0.0 * segment.start[..., 0]
    never, none = ~always(zero), [TangentPoints.none(0.0 * segment.start) for _ in wraps]
    prescribed = any(wrap.ring or wrap.hint is not None for wrap in wraps)
    order = tuple(zero + float(i) for i in range(len(wraps))) if prescribed else guessed_order(segment)
    tries = 1 if prescribed else MAX_TRIES
    begin = _Try(Iterate.at(none), order, (never,) * len(wraps), never, order, zero + float(tries), zero, zero + np.inf)
    found = _on_shorter_sides(begin, segment)
    iterate = found.iterate.beside_a_jump(_is_doubtful(found, segment))
    contacts = zip(wraps, _near_planes(segment, iterate), found.order, found.through, strict=True)
    return Piece(wraps, tuple(_in_body(*each) for each in contacts), found.iterate.unsolved)


def _near_planes(segment: Segment, iterate: Iterate) -> list[SolvedContact]:
    """The contacts; those with rings take account of the path on other surfaces.

    Their `jump` is also how far that path is from the plane outside of the ring, where the length jumps.
    """
    contacts = list(iterate.contacts)
    for i, placed in enumerate(segment.surfaces):
        for x in (x for j, x in enumerate(iterate.points) if placed.prototype.ring and j != i):
            for P in (x.P, x.Q):
                near = np.where(x.on, placed.wrap.distance_from_plane(placed.seen(P)), np.inf)
                contacts[i] = replace(contacts[i], jump=np.minimum(contacts[i].jump, near[..., None]))
    return contacts


def _is_doubtful(found: _Try, segment: Segment) -> Array:
    """(...) whether a solved path is a saddle point of the length, or a local minimum beside unsearched ones.

    In the second case the path runs past the front of a cylinder with a side, with both neighbours behind. It also
    touches another surface, whose other side turns the neighbours, or a round surface lies between its ends. Or a
    shorter path was given up.

    A path over a single surface without a side is no saddle point, unless another surface with a side has led it there.
    """
    ordered, on, curved = OrderedSegment.over_all(segment, found.order), found.iterate.on, round_surfaces(segment.types)
    sided = [i for i, own in enumerate(segment.types) if own.sided]
    asked = touches_several(on)
    if any(own.ahead is not None for own in segment.types):
        asked = reduce(or_, [on[i] for i in curved], asked)
    doubtful = is_saddle_point(ordered, found.iterate, found.clear & asked)
    doubtful = doubtful | (found.given_up < length_of(ordered, found.iterate) - SAME_LENGTH_M)
    if sided:
        around = reduce(or_, [around_front(ordered, found.iterate, i) for i in sided]) & found.clear
        doubtful = doubtful | (around & touches_several(on))
        for i in curved:
            placed = segment.surfaces[i]
            line = placed.seen(segment.start), placed.seen(segment.end)
            doubtful = doubtful | is_cut(placed.prototype, placed.numbers, line, around & ~on[i])
    return doubtful


def _solved(begin: _Try, segment: Segment) -> _Try:
    """The shortest path on given sides of the surfaces that divide.

    A path past a wrong side on another surface is the answer where no other was found. It is then beside a jump.
    """
    found = while_loop(_any_left, _tried, begin, segment, max_steps=MAX_TRIES)
    through = tuple(x & ~found.crosses for x in found.through)
    found = replace(found, iterate=found.iterate.beside_a_jump(found.crosses), through=through)
    ordered = OrderedSegment.over_all(segment, found.order)
    iterate, order, crosses = shortest(ordered, found.iterate, found.crosses, found.longest, found.clear)
    return replace(found, iterate=iterate, order=order, crosses=crosses)


def _any_left(state: _Try) -> Array:
    result: Array = state.left > 0
    return result


def _tried(before: _Try, segment: Segment) -> _Try:
    """The next try, which begins from the surface that the path of the last one runs through, in its place there.

    The first one begins from tangent points, where any are given. Where a try ends without a solution the one before
    stays. A path that only runs past a wrong side on another surface also stays, where the next one is not clear. The
    last try decides which surfaces are passed over, where no path touches all.

    A ring prescribes the order, so that only a path past a wrong side is tried again. The try begins with exact
    contacts. A rough one with the ring may lie so far aside that the next one leads the path out again.
    """
    through, order, left = before.through, before.next_order, before.left
    X, longest, alone = start_over_one_surface(segment, through)
    all_surfaces = OrderedSegment.over_all(segment, order)
    again, rings = reduce(or_, through), any(own.ring for own in segment.types)
    exact = again if rings else again & ~again
    way = np.where(exact, kept_side(segment.types), 0.0 * left)
    if dividing_surfaces(segment.types):
        given = (before.iterate.moved == np.inf) & reduce(or_, before.iterate.on)
        X = choose(given, before.iterate.points, X)
        exact = exact | given if rings else exact
    iterate, active = minimised(all_surfaces, X, Mode(left == 1.0, way, exact), contacts_alone=alone)
    next_order, cut, crossed = moved_in_order(replace(all_surfaces, active=active), iterate.points)
    length = length_of(all_surfaces, iterate)
    given_up = np.minimum(before.given_up, np.where(touches_twice(iterate, cut) & ~iterate.unsolved, length, np.inf))
    cut, crosses = tuple(a | b for a, b in zip(cut, crossed, strict=True)), reduce(or_, crossed)
    some, unsolved = reduce(or_, cut), iterate.unsolved
    rest = np.where(some, left - 1.0, np.where(unsolved & (left > 1.0), 1.0, 0.0))
    rest = np.where(crosses & ~again, 1.0, 0.0) if rings else rest
    found = _Try(iterate, order, cut, crosses, choose(some, next_order, order), rest, longest, given_up)
    worse = unsolved | (before.crosses & (some | passes_over(iterate, before.iterate)))
    stays = worse & again & ~before.iterate.unsolved
    return choose(stays, replace(before, left=0.0 * left, given_up=given_up), found)


# ---- both sides of long surfaces ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Search:
    """The search on opposite sides.

    found        the shortest path so far
    opposite     that of its segment
    first_order  the order of the surfaces along the path that was found first
    selection    (...) the number of the next selection of opposite sides. The number of all selections stands for the
                 sides of the first path in the order of another one. Where there is none, it is higher by one
    """

    found: _Try
    opposite: tuple[Array, ...]
    first_order: tuple[Array, ...]
    selection: Array


@dataclass(frozen=True)
class _SearchProblem:
    """The problem of the search on opposite sides.

    segment  the segment
    begin    where its search begins
    shorter  (...) [m] the lengths of the paths over each surface that divides alone, on the side of the straight line
    longer   (...) [m] the same on the opposite side
    """

    segment: Segment
    begin: _Try
    shorter: tuple[Array, ...]
    longer: tuple[Array, ...]


def _on_shorter_sides(begin: _Try, segment: Segment) -> _Try:
    """The shortest path on either side of the surfaces that divide.

    No path is shorter than those over each surface alone, on the shorter side of one that divides. Opposite sides are
    searched where the path found is longer than all of these. It must also be longer than the paths over each of the
    surfaces alone on the opposite side.

    The path on opposite sides may come to the surfaces in another order. The sides of the first path are then searched
    in this order too, since each order may have a local minimum.
    """
    dividing = dividing_surfaces(segment.types)
    if not dividing:
        return _solved(begin, segment)
    turned, count = replace(segment, opposite=tuple(~x for x in segment.opposite)), len(_selections(segment.types))
    alone = [tuple(path_over_one(own, i)[1] for i in dividing) for own in (segment, turned)]
    search = _Search(begin, segment.opposite, begin.order, 0.0 * begin.left)
    problem = _SearchProblem(segment, begin, *alone)
    return while_loop(_any_selection, _on_opposite_sides, search, problem, max_steps=count + 1).found


def _any_selection(search: _Search) -> Array:
    result: Array = search.selection <= float(2 ** len(search.opposite))
    return result


def _selections(types: Sequence[Wrap]) -> list[tuple[int, ...]]:
    """Selections of surfaces that divide: none of them, each one, each two, and so on."""
    dividing = dividing_surfaces(types)
    return [own for count in range(len(dividing) + 1) for own in itertools.combinations(dividing, count)]


def _on_opposite_sides(search: _Search, problem: _SearchProblem) -> _Search:
    """The shorter one of a path and the path on a selection of opposite sides, and the number of the next selection."""
    was, number, types = search.found, search.selection, problem.segment.types
    never, selections = ~always(number), list(enumerate(_selections(types)))
    first, last = number == 0.0, number == float(len(selections))
    opposite = tuple(
        reduce(or_, [number == float(n) for n, own in selections if i in own], never) for i in dividing_surfaces(types)
    )
    segment = replace(problem.segment, opposite=opposite)
    changed = tuple(a | (last & b) for a, b in zip(opposite, search.opposite, strict=True))
    found = _solved(_begun(was, problem.begin, segment, first, changed), segment)
    after = OrderedSegment.over_all(segment, found.order)
    before = OrderedSegment.over_all(replace(segment, opposite=search.opposite), was.order)
    own, length = length_of(after, found.iterate), length_of(before, was.iterate)
    slips = _slips_through(after, found.iterate)
    given_up = _given_up(was, found, (length, own), slips)
    valid = found.clear & ~passes_over(found.iterate, was.iterate) & ~slips
    better = (own < length) & (was.crosses | ~found.crosses) | (was.crosses & ~found.crosses)
    better = first | (valid & better)
    best, opposite = choose(better, (found, opposite), (was, search.opposite))
    order, length = choose(first, found.order, search.first_order), np.where(better, own, length)
    moved = reduce(or_, [a != b for a, b in zip(order, best.order, strict=True)]) & reduce(or_, opposite)
    following = np.where(moved & ~last & _may_be_shorter(best, length, problem, ()), 0.0, 1.0) + float(len(selections))
    for n, own_sides in reversed(selections[1:]):
        wanted = _may_be_shorter(best, length, problem, own_sides)
        following = np.where(wanted & (number < float(n)), float(n), following)
    return _Search(replace(best, given_up=given_up), opposite, order, following)


def _given_up(was: _Try, found: _Try, lengths: tuple[Array, Array], slips: Array) -> Array:
    """(...) [m] the length of the shortest path that was given up; `lengths` (...) are those of both paths.

    It runs past a wrong side, or touches a surface and runs through it elsewhere, or is not solved on opposite sides.
    `slips` (...) tells where the path on opposite sides slips through a surface. There is one that does not, since each
    side of a long cylinder has a shortest path.
    """
    lost = slips | found.crosses | (found.iterate.unsolved & (found.iterate.moved != np.inf))
    paths = [np.where(was.crosses, lengths[0], np.inf), np.where(lost, lengths[1], np.inf)]
    result: Array = reduce(np.minimum, [was.given_up, found.given_up, *paths])
    return result


def _begun(was: _Try, begin: _Try, segment: Segment, first: Array, changed: tuple[Array, ...]) -> _Try:
    """Where the search on other sides begins: at the path found, led past them.

    A few rough iterations tell whether it may become shorter; where not, no try is left. Rough contacts with a ring are
    guesses, whose length tells nothing: there all are exact. A surface with a side may have led the path far aside. The
    search then begins at the path over one of the surfaces that are passed on the opposite side alone.

    first (...): where the search begins as without a path. changed (...) each: the surfaces that divide, where the path
    found passes them on the other side.
    """
    turned = OrderedSegment.over_all(segment, was.order)
    points, near = _turned(turned, was.iterate.points, changed), 0.0 * begin.left
    bound = MAX_ROUGH_LENGTH_RATIO * length_of(turned, was.iterate)
    rings = any(own.ring for own in segment.types)
    rough = rough_iterate(turned, points, ROUGH_ITERATIONS, ~first, near, rings)
    may = first | rings | (length_of(turned, rough) < bound)
    if any(own.sided for own in segment.types):
        sides = dict(zip(dividing_surfaces(segment.types), changed, strict=True))
        wanted = tuple(sides.get(i, ~always(near)) for i in range(len(segment.types)))
        alone, *_ = start_over_one_surface(segment, wanted, ~may)
        other = rough_iterate(turned, alone, ROUGH_ITERATIONS, ~may, near)
        there = ~may & (length_of(turned, other) < bound)
        rough, may = choose(there, other, rough), may | there
    start = choose(first, begin.iterate, Iterate.at(rough.points))
    return replace(begin, iterate=start, order=was.order, next_order=was.order, left=np.where(may, begin.left, 0.0))


def _turned(
    segment: OrderedSegment, points: Sequence[TangentPoints], changed: Sequence[Array]
) -> tuple[TangentPoints, ...]:
    """The tangent points of a path, with new ones for each surface that is passed on another side, `changed` (...).

    The new ones are those of the surface between its neighbours.
    """
    own, zero = points_of(points), 0.0 * points[0].P
    near, found = unknown_start(zero[..., 0], always(zero[..., 0])), list(points)
    for i, other_side in zip(dividing_surfaces(segment.segment.types), changed, strict=True):
        placed, c = segment.surfaces[i], segment.contact(i, own, near)
        there = TangentPoints(placed.in_world(c.P), c.on, placed.in_world(c.Q))
        found[i] = choose(other_side, choose(c.on, there, TangentPoints.none(zero)), found[i])
    return tuple(found)


def _may_be_shorter(found: _Try, length: Array, problem: _SearchProblem, selection: tuple[int, ...]) -> Array:
    """(...) whether a path of a `length` (...) [m] may be longer than one on a selection of opposite sides.

    It is also true for a path that runs past a wrong side on another surface.
    """
    types, on = problem.segment.types, found.iterate.on
    dividing, least = dividing_surfaces(types), reduce(np.maximum, problem.shorter, found.longest)
    sided = [i for i, own in enumerate(types) if own.sided]
    longer = reduce(or_, [on[i] for i in (*dividing, *round_surfaces(types), *sided)])
    longer = longer & (length > least + SAME_LENGTH_M)
    bounds = [problem.longer[dividing.index(i)] for i in selection] or [least + SAME_LENGTH_M]
    shorter = (touches_several(on) | longer) & (length > reduce(np.maximum, bounds))
    result: Array = found.clear & (shorter | found.crosses)
    return result


def _slips_through(segment: OrderedSegment, iterate: Iterate) -> Array:
    """(...) whether a path that touches a surface that divides beyond its end alone runs through it elsewhere."""
    points, on, found = points_of(iterate.points), iterate.on, []
    for i in dividing_surfaces(segment.segment.types):
        placed = segment.surfaces[i]
        found.append(is_cut(placed.prototype, placed.numbers, segment.neighbours(i, points), ~on[i]))
    return reduce(or_, found)


def _in_body(wrap: Wrap, c: SolvedContact, place: Array, through: Array) -> Contact:
    inside = c.inside | through
    return Contact(c.on, wrap.in_body(c.P), wrap.in_body(c.Q), c.arc, inside, c.jump, c.missed, place)


def _segment(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Segment:
    """The segment between two points, all its arrays with all batch axes."""
    placed = [_placed(wrap, poses) for wrap in wraps]
    shapes = [start.world.shape[:-1], end.world.shape[:-1]]
    shapes += [s for p in placed for s in (p.axes.shape[:-2], p.origin.shape[:-1], p.numbers.shape[:-1])]
    batch = np.broadcast_shapes(*shapes)

    def spread(x: Array, axes: int = 1) -> Array:
        return np.broadcast_to(x, (*batch, *x.shape[x.ndim - axes :]), subok=True)

    surfaces = tuple(PlacedSurface(spread(p.axes, 2), spread(p.origin), spread(p.numbers), p.prototype) for p in placed)
    never = ~always(spread(start.world)[..., 0])
    return Segment(spread(start.world), spread(end.world), surfaces, (never,) * len(dividing_surfaces(wraps)))


def _placed(wrap: Wrap, poses: Poses) -> PlacedSurface:
    R, p = poses[wrap.body]
    axes = np.stack([matvec(R, wrap.direction_in_body(e)) for e in np.eye(3)], axis=-2)
    numbers = np.stack([as_array(x) for x in wrap.numbers()], axis=-1)
    return PlacedSurface(axes, p + matvec(R, as_array(wrap.position)), numbers, wrap.prototype)
