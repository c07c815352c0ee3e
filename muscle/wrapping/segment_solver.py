"""The shortest path between two points past several surfaces.

A path is determined by its topology: which surfaces it touches, in which order, and on which side of each. From a start
the length descends to a local minimum (`descent`), which settles the first two. The starts are one list:

- the path over each surface alone, first the longest one, on each selection of sides of cylinders without a quadrant
- paths past a sphere or an ellipsoid in PLANES planes at equal angles, through the ends or through its neighbours on
  the best path so far. Those are used that are shorter than those in the planes beside them

A start is left out only where no path from it can be shorter: no path is shorter than the longest one over a single
surface without a quadrant on its side. The shortest path is the answer. Its length may jump nearby where another one
found is nearly as short, where a start led to no path though it was shorter, and where it is about to end (`saddle`).
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
from myoquat.kernels import call_where, choose, static, while_loop
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.contact_solve import SolvedContact, is_cut, solve_contact, unknown_start
from myoquat.muscle.wrapping.descent import BACK, MAX_RESIDUAL, Found, Start, descended
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.route import (
    Flags,
    Order,
    Route,
    Segment,
    TangentPoints,
    differs,
    first_of,
    ranks,
    touches_several,
)
from myoquat.muscle.wrapping.saddle_points import is_saddle_point
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap
from myoquat.muscle.wrapping.surfaces.planar_paths import Chord
from myoquat.muscle.wrapping.surfaces.vectors import always, differ, dot, nearest, size

__all__ = ["Piece", "over_one_surface", "over_surfaces"]

OPPOSITE = 0.5  # part of a turn
PLANES = 10  # through the ends, at equal angles, in which a path starts past a sphere or an ellipsoid
MAX_SADDLE_RATIO = 0.1  # rise of the length over one plane to that over two; 0.29 for a cosine, less at a saddle point
SAME_LENGTH = 3e-8  # by which the lengths of two equal paths may differ
NEARLY_AS_SHORT = 1e-3  # of the length, by which another path is longer beside a jump: it may be missed nearby


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
    return Piece((wrap,), (contact,), np.logical_not(contact.missed <= MAX_RESIDUAL))


def over_surfaces(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The shortest path from `start` over several surfaces to `end`, touching those that it must.

    If one is a ring, or has a hint, the path comes to the surfaces in the given order, as to obstacles.

    A path and its reverse are one problem: of the list of the surfaces and its reverse one is solved, and the path
    starts at the end that is nearer to their middle. Where another path is nearly as short, it is sought from the
    other end too.
    """
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    listed, keys = list(range(len(wraps))), [_key(wrap) for wrap in wraps]
    if keys[::-1] < keys:
        listed.reverse()
    segment, scale, turned = _segment([wraps[i] for i in listed], start, end, poses)
    zero = 0.0 * scale
    begin = _Oriented(_nothing(segment), turned, turned & ~turned, zero + 2.0)
    found = while_loop(
        _any_way_left, _sought, begin, (segment, tuple(zero + float(i) for i in listed), turned), max_steps=2
    )
    best, turned, contacts, unit = found.best, found.turned, {}, scale[..., None]
    doubtful, there = found.doubtful[..., None], turned[..., None]
    for i, c, place, through in zip(listed, _near_planes(best), best.route.order, best.through, strict=True):
        jump = np.where(there, np.stack([c.jump[..., 1], c.jump[..., 0]], axis=-1), c.jump)
        jump = unit * np.where(doubtful, 0.0 * jump, jump)
        P, Q = (wraps[i].in_body(unit * x) for x in (np.where(there, c.Q, c.P), np.where(there, c.P, c.Q)))
        place = np.where(turned, -place, place)
        contacts[i] = Contact(c.on, P, Q, scale * c.arc, c.inside | through, jump, c.missed, place)
    return Piece(wraps, tuple(contacts[i] for i in range(len(wraps))), best.unsolved)


@dataclass(frozen=True)
class _Oriented:
    """The search from both ends: the best path, whether (...) start and end are exchanged, whether its length may jump
    nearby, and from how many ends it is still to be sought."""

    best: Found
    turned: Array
    doubtful: Array
    left: Array


def _any_way_left(state: _Oriented) -> Array:
    result: Array = state.left > 0
    return result


def _sought(state: _Oriented, problem: tuple[Segment, Order, Array]) -> _Oriented:
    """The search from one end, and whether it is to be made from the other one: where another path is nearly as
    short.

    The problem is a segment, the given order of its surfaces, and whether the search begins from the end.
    """
    segment, given, turned = problem
    first = state.left == 2.0
    now, last = (turned & first) | (~turned & ~first), float(len(segment.surfaces) - 1)
    start, end = (
        np.where(now[..., None], x, y) for x, y in ((segment.end, segment.start), (segment.start, segment.end))
    )
    segment = replace(segment, start=start, end=end)
    order = _guessed_order(segment)
    if _in_given_order(segment):
        order = tuple(np.where(now, last - own, own) for own in given)
    search = _shortest(segment, order)
    doubtful = _beside_a_jump(search)
    better = first | _is_better(search.best, state.best)
    again = first & (search.best.rank == 0) & _nearly_as_short(search)
    return _Oriented(
        choose(better, search.best, state.best), np.where(better, now, state.turned) > 0,
        state.doubtful | doubtful, np.where(again & (len(order) > 1), 1.0, 0.0),
    )  # fmt: skip


def _nothing(segment: Segment) -> Found:
    """The straight line, before the search."""
    zero, never = 0.0 * segment.start[..., 0], ~always(segment.start[..., 0])
    count = len(segment.surfaces)
    points = (TangentPoints.none(0.0 * segment.start),) * count
    contacts = (SolvedContact.none(0.0 * segment.start),) * count
    route = Route(segment, points, (zero,) * count)
    return Found(route, contacts, (~never,) * count, (never,) * count, never, zero + np.inf, zero + np.inf)


def _key(wrap: Wrap) -> tuple[bool | str, ...]:
    """By what the list of the surfaces, or its reverse, comes first: those without a side, the long ones last, then by
    names.

    A list that is equal to its reverse in all of it stays.
    """
    return wrap.quadrant != "all", wrap.divides, wrap.kind, wrap.quadrant, wrap.body, wrap.name


# ---- the segment ---------------------------------------------------------------------------------------------


def _segment(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> tuple[Segment, Array, Array]:
    """The segment between two points, all its arrays with all batch axes; its unit of length (...) [m]; and where (...)
    its end is nearer to the middle of the surfaces than its start.

    The unit is the way from one end over the middle of the surfaces to the other.
    """
    placed = [_placed(wrap, poses) for wrap in wraps]
    shapes = [start.world.shape[:-1], end.world.shape[:-1]]
    shapes += [s for p in placed for s in (p.axes.shape[:-2], p.origin.shape[:-1], p.numbers.shape[:-1])]
    batch = np.broadcast_shapes(*shapes)

    def spread(x: Array, axes: int = 1) -> Array:
        return np.broadcast_to(x, (*batch, *x.shape[x.ndim - axes :]), subok=True)

    A, B, origins = spread(start.world), spread(end.world), [spread(p.origin) for p in placed]
    middle = sum(origins, 0.0 * A) / len(placed)
    before, after = size(A - middle), size(B - middle)
    turned, scale = (before > after) & (len(placed) > 1), before + after
    scale = np.where(scale > 0, scale, 1.0)
    unit = 1.0 / scale[..., None]
    surfaces = tuple(
        PlacedSurface(spread(p.axes, 2), unit * (x - middle), unit * spread(p.numbers), p.prototype)
        for p, x in zip(placed, origins, strict=True)
    )
    segment = Segment(unit * (A - middle), unit * (B - middle), surfaces)
    return replace(segment, opposite=(~always(scale),) * len(segment.dividing)), scale, turned


def _placed(wrap: Wrap, poses: Poses) -> PlacedSurface:
    R, p = poses[wrap.body]
    axes = np.stack([matvec(R, wrap.direction_in_body(e)) for e in np.eye(3)], axis=-2)
    numbers = np.stack([as_array(x) for x in wrap.numbers()], axis=-1)
    return PlacedSurface(axes, p + matvec(R, as_array(wrap.position)), numbers, wrap.prototype)


def _guessed_order(segment: Segment) -> Order:
    """(...) each, the order of the surfaces along the line between the ends, as whole numbers from 0."""
    start, end, along = segment.start, segment.end, []
    for placed in segment.surfaces:
        middle = placed.in_world(placed.wrap.middle(placed.seen(start), placed.seen(end)))
        along.append(dot(middle - start, end - start))
    return ranks(along)


def _in_given_order(segment: Segment) -> bool:
    return any(own.ring or own.hint is not None for own in segment.types)


# ---- the list of starts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Alone:
    """The path over one surface alone: its tangent points, and its length (...), zero where it does not touch."""

    points: TangentPoints
    length: Array


@dataclass(frozen=True)
class _Problem:
    """A segment, the order of its surfaces along the straight line, and the paths over each surface alone: on the side
    of the straight line, and on the other one for those that divide."""

    segment: Segment
    order: Order
    alone: tuple[_Alone, ...]
    opposite: tuple[_Alone, ...]

    @property
    def selections(self) -> list[tuple[int, ...]]:
        """Selections of surfaces that divide, to be passed on the opposite side: none, each one, each two, and so on.

        None stands there again at the end: the path found may come to the surfaces in another order.
        """
        dividing = self.segment.dividing
        found = [own for k in range(len(dividing) + 1) for own in itertools.combinations(dividing, k)]
        return [*found, ()] if dividing else found

    @property
    def singles(self) -> int:
        """How many starts over single surfaces a selection has: the longest, and each one."""
        return len(self.alone) + 1

    @property
    def block(self) -> int:
        """How many starts a selection has."""
        return self.singles + PLANES * len(_bundles(self.segment))

    def on_sides(self, opposite: Sequence[Array]) -> list[_Alone]:
        """The paths over each surface alone, those that divide on the opposite side where (...) that is so."""
        found = list(self.alone)
        for k, i in enumerate(self.segment.dividing):
            found[i] = choose(opposite[k], self.opposite[k], found[i])
        return found


@dataclass(frozen=True)
class _Search:
    """The search.

    best      the shortest path so far; its segment tells on which sides
    here      the shortest one on the present selection of sides
    given_up  (...) the length of the shortest one that is not the answer, though it is shorter
    other     (...) the length of the shortest other local minimum
    guesses   of each bundle of planes (..., PLANES) the lengths of the starts in them
    number    (...) of the next start, -1 where there is none
    """

    best: Found
    here: Found
    given_up: Array
    other: Array
    guesses: tuple[Array, ...]
    number: Array


def _bundles(segment: Segment) -> list[tuple[int, bool]]:
    """The bundles of planes: a sphere or ellipsoid that the path passes in them, and whether they go through its
    neighbours on the path, or else through the ends."""
    return [(i, neighbours) for i in segment.round for neighbours in (True, False)]


def _shortest(segment: Segment, order: Order) -> _Search:
    """The search after all starts."""
    zero = 0.0 * segment.start[..., 0]
    turned = replace(segment, opposite=tuple(~x for x in segment.opposite))
    alone = tuple(_over_one(segment, i) for i in range(len(segment.surfaces)))
    problem = _Problem(segment, order, alone, tuple(_over_one(turned, i) for i in segment.dividing))
    guesses = tuple(zero[..., None] + np.zeros(PLANES) for _ in _bundles(segment))
    begin = _Search(_nothing(segment), _nothing(segment), zero + np.inf, zero + np.inf, guesses, zero)
    steps = 2 * problem.block * len(problem.selections)
    return while_loop(_any_start, _tried, begin, problem, max_steps=steps)


def _any_start(search: _Search) -> Array:
    result: Array = search.number >= 0
    return result


def _over_one(segment: Segment, number: int) -> _Alone:
    """The path over the surface of this number alone; plane paths stand for those over ellipsoids."""
    placed, zero = segment.surfaces[number], 0.0 * segment.start[..., 0]
    A, B = placed.seen(segment.start), placed.seen(segment.end)
    near = unknown_start(zero, always(zero))
    c = solve_contact(placed.prototype, placed.numbers, (A, B), segment.line(number), near)
    length = np.where(c.on, size(c.P - A) + c.arc + size(B - c.Q), 0.0)
    return _Alone(TangentPoints.of(placed, c), length)


def _tried(search: _Search, problem: _Problem) -> _Search:
    """The search after the start of its number."""
    selection, within = _place(search, problem)
    segment, here = problem.segment, search.here
    chosen = [(selection == float(n), own) for n, own in enumerate(problem.selections)]
    never, in_plane = ~always(within), within >= float(problem.singles)
    opposite = tuple(reduce(or_, [x for x, own in chosen if i in own]) for i in segment.dividing)
    segment = replace(segment, opposite=opposite)
    alone = problem.on_sides(opposite)
    points = []
    for i, (own, longest) in enumerate(zip(alone, _longest(alone), strict=True)):
        wanted = ((within == 0.0) & longest) | (within == float(i + 1))
        points.append(choose(wanted, own.points, TangentPoints.none(0.0 * own.points.P)))
    last = never if len(chosen) == 1 else chosen[-1][0]
    order = choose(in_plane, here.route.order, choose(last, search.best.route.order, problem.order))
    route, through = Route(segment, tuple(points), order), replace(here, route=replace(here.route, segment=segment))
    for k, bundle in enumerate(_bundles(segment)):
        turn = (within - float(problem.singles + k * PLANES)) / PLANES
        start, _, exists = _in_plane(through, bundle, turn, (turn >= 0.0) & (turn < 1.0))
        route = choose(exists, start, route)
    route = replace(route, order=_freely_placed(route))
    best = search.best
    enough = np.where(best.rank == 0, (1.0 + NEARLY_AS_SHORT) * best.length, np.inf)
    found = descended(
        Start(route, best.route.points, enough, search.number > 0, never | _in_given_order(segment)), ~never
    )
    first = within == 0.0
    shorter = _is_better(found, here)
    search = _compared(replace(search, here=choose(first | shorter, found, here)), found)
    again = shorter & in_plane  # the planes through the neighbours on it are others
    number = np.where(again, search.number - within + float(problem.singles - 1), search.number)
    return _with_next(replace(search, number=number), problem)


def _place(search: _Search, problem: _Problem) -> tuple[Array, Array]:
    """The number (...) of the present selection of sides, and that of the start within it."""
    number, block = search.number, float(problem.block)
    firsts = [np.where(number >= n * block, 1.0, 0.0) for n in range(1, len(problem.selections))]
    selection = sum(firsts, 0.0 * number)
    return selection, number - block * selection


def _longest(alone: Sequence[_Alone]) -> Flags:
    """(...) each, whether the path over this surface alone is the longest."""
    most = reduce(np.maximum, [x.length for x in alone])
    return first_of([x.length >= most for x in alone])


def _freely_placed(route: Route) -> Order:
    """(...) each, the order of the surfaces when untouched cylinders with a quadrant have moved along the path.

    No rule says where along a path a surface comes that the path does not touch. Between neighbours that are both
    behind it such a cylinder is touched, though between others the same path may clear it. It takes the first place
    where it stays untouched.
    """
    zero = 0.0 * route.segment.start[..., 0]
    near = unknown_start(zero, always(zero))
    for i, own in enumerate(route.segment.types):
        if own.sided:
            touched = route.contact(i, near, ~route.on[i]).on
            for place in range(len(route.order)):
                rank = np.where(route.order[i] > place, place - 0.5, place + 0.5)
                moved = replace(route, order=ranks([*route.order[:i], rank, *route.order[i + 1 :]]))
                free = touched & ~moved.contact(i, near, touched).on
                route, touched = replace(route, order=choose(free, moved.order, route.order)), touched & ~free
    return route.order


# ---- choice --------------------------------------------------------------------------------------------------


def _compared(search: _Search, found: Found) -> _Search:
    """The search with one path more.

    Whether a one-sided surface is touched depends on where a path comes from. Where that is all that decides, the other
    path counts as equally long.
    """
    best, first = search.best, search.number == 0
    better = first | _is_better(found, best)
    loser, winner = choose(better, (best, found), (found, best))
    given_up = found.unsolved & ~differs(found.route.points, best.route.points, BACK)
    other, length = ~first & differs(found.route.points, best.route.points) & ~given_up, loser.length
    valid = loser.rank == winner.rank
    pairs = zip(found.route.segment.types, found.route.on, best.route.on, strict=True)
    leads = reduce(or_, [differ(a, b) for own, a, b in pairs if _one_sided(own)], first & ~first)
    apart = np.where(leads, winner.length, length)
    return replace(
        search,
        best=winner,
        other=np.minimum(search.other, np.where(other & valid, apart, np.inf)),
        given_up=np.minimum(search.given_up, np.where(other & ~valid, length, np.inf)),
    )


def _one_sided(surface: Wrap) -> bool:
    """Whether a path passes a surface on one side, or through it: another it cannot do without but by slipping."""
    return surface.ring or surface.quadrant != "all" or surface.hint is not None


def _is_better(found: Found, best: Found) -> Array:
    """(...) whether a path takes the place of the best one: it is to be avoided less, or as much and shorter."""
    rank, best_rank = found.rank, best.rank
    shorter = found.length < best.length - SAME_LENGTH
    better: Array = (rank < best_rank) | ((rank == best_rank) & shorter)
    return better


def _with_next(search: _Search, problem: _Problem) -> _Search:
    """The search with the number of the next start, -1 where there is none."""
    segment, best, number = problem.segment, search.best, search.number
    length, sure, (selection, within) = best.length, best.rank == 0, _place(search, problem)
    without_quadrant, selections, bounds = [*segment.round, *segment.dividing], problem.selections, []
    sides = [problem.on_sides([always(number) & (i in own) for i in segment.dividing]) for own in selections]
    for alone in sides:
        bounds.append(reduce(np.maximum, [alone[i].length for i in without_quadrant], 0.0 * length))
    open_ = ~sure | (length > bounds[0] + SAME_LENGTH)
    may = [open_ & (~sure | (length > bound + SAME_LENGTH)) for bound in bounds]
    if len(may) > 1:
        elsewhere = reduce(or_, [a != b for a, b in zip(best.route.order, problem.order, strict=True)])
        may[-1] = may[-1] & elsewhere & reduce(or_, best.route.segment.opposite)
    on = search.here.route.on
    curved = touches_several(on) | reduce(or_, [on[i] for i in segment.round], ~always(number))
    asked = [selection == float(n) for n in range(len(may))]
    in_planes = reduce(or_, [x & y for x, y in zip(may, asked, strict=True)])
    in_planes = in_planes & (sure | best.unsolved) & curved
    planned: list[list[Array]] = []
    for mine, alone in zip(may, sides, strict=True):
        others = [(x.length > 0) & ~own for x, own in zip(alone, _longest(alone), strict=True)]
        planned.append([mine, *(mine & x for x in others)])
    left = reduce(or_, [a & x & (within < float(n)) for a, own in zip(asked, planned, strict=True)
                        for n, x in enumerate(own)])  # fmt: skip
    guesses = _measured(search, in_planes & ~left & (within < float(problem.singles)))
    planes = [in_planes & x for x in _valleys(guesses, segment)]
    numbers: list[Array] = []
    for n, (own, here) in enumerate(zip(planned, asked, strict=True)):
        every = [*own, *(here & x for x in planes)]
        numbers += [np.where(x & (number < float(m)), float(m), np.inf) for m, x in enumerate(every, n * problem.block)]
    following = reduce(np.minimum, numbers)
    return replace(search, guesses=guesses, number=np.where(following < np.inf, following, -1.0))


# ---- planes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Guesses:
    """The lengths (..., PLANES) of starts in each bundle of planes, and how many planes (...) are done."""

    lengths: tuple[Array, ...]
    done: Array


def _measured(search: _Search, where: Array) -> tuple[Array, ...]:
    """The lengths of the starts in planes, `where` (...) they are asked for."""
    if not search.here.route.segment.round:
        return ()
    begin = _Guesses(search.guesses, 0.0 * search.number)
    return while_loop(_planes_left, _measured_in_next, begin, search.here, max_steps=PLANES, where=where).lengths


def _valleys(guesses: Sequence[Array], segment: Segment) -> list[Array]:
    """(...) each, whether the start in a plane is shorter than those in the planes beside it."""
    found = []
    for lengths, (_, neighbours) in zip(guesses, _bundles(segment), strict=True):
        l = [lengths[..., k] for k in range(PLANES)]
        chosen = [(l[k] < l[k - 1]) & (l[k] <= l[(k + 1) % PLANES]) for k in range(PLANES)]
        if neighbours:  # the first plane is nearly that of the path, which is a saddle point where all are as short
            chosen[0], chosen[PLANES // 2] = l[0] < -np.inf, l[0] >= 0
            for k in (1, -1):
                chosen[k] = chosen[k] | (l[k] - l[0] < MAX_SADDLE_RATIO * (l[2 * k] - l[0]))
        found += chosen
    return found


def _planes_left(guesses: _Guesses) -> Array:
    result: Array = guesses.done < PLANES
    return result


def _measured_in_next(guesses: _Guesses, here: Found) -> _Guesses:
    found, done = [], guesses.done
    for lengths, bundle in zip(guesses.lengths, _bundles(here.route.segment), strict=True):
        _, own, exists = _in_plane(here, bundle, done / PLANES, always(done))
        mine = (done[..., None] == np.arange(float(PLANES))) & exists[..., None]
        found.append(np.where(mine, own[..., None], lengths))
    return _Guesses(tuple(found), done + 1.0)


def _in_plane(found: Found, bundle: tuple[int, bool], turn: Array, where: Array) -> tuple[Route, Array, Array]:
    """A path that passes a surface in a plane of a bundle; its length; and (...) whether there is one.

    The plane is turned by a part `turn` (...) of a turn from the one through the centre. The path touches the other
    surfaces where the shortest paths to its tangent points do. On the side opposite to that of the path it touches them
    as before, since the surface may hold its neighbours there.
    """
    route, (number, neighbours) = found.route, bundle
    segment = route.segment
    placed, zero = segment.surfaces[number], 0.0 * turn
    if not neighbours:
        route = replace(route, points=tuple(TangentPoints.none(0.0 * segment.start) for _ in route.points))
    plane = _Plane(*route.neighbours(number), turn, placed.numbers, placed.prototype)
    guess, arc = call_where(_plane_path, plane, where, (SolvedContact.none(0.0 * segment.start), zero))
    exists, arcs, near = where & guess.on, [c.arc for c in found.contacts], unknown_start(zero, always(zero))
    start, arcs[number] = route.touching(number, TangentPoints.of(placed, guess)), arc
    asked = exists & (turn != OPPOSITE) if neighbours else exists
    for j, other in enumerate(segment.surfaces):
        if j != number:
            c = start.contact(j, near, asked)
            points = choose(asked, TangentPoints.of(other, c), start.points[j])
            start, arcs[j] = start.touching(j, points), np.where(asked, c.arc, arcs[j])
    return start, start.length(arcs), exists


@dataclass(frozen=True)
class _Plane:
    """A plane path between two ends.

    A, B     (..., 3) the ends in the surface's frame
    turn     (...) of the plane from the one through the centre, as a part of a turn
    numbers  those of the surface
    surface  the prototype
    """

    A: Array
    B: Array
    turn: Array
    numbers: Array
    surface: Wrap = static()


def _plane_path(plane: _Plane) -> tuple[SolvedContact, Array]:
    """Where a plane path meets a surface with half axes, in its frame; and its length on it.

    It is `on` where the straight line between its ends runs into the surface.
    """
    axes = plane.surface.shaped(plane.numbers).half_axes
    if axes is None:
        raise TypeError(f"a {plane.surface.kind} with a side has no half axes")
    a, b, angle = plane.A / axes, plane.B / axes, 2 * np.pi * plane.turn
    x = nearest(a, b)
    through = (dot(x, x) < 1.0) & (dot(a, a) > 1.0) & (dot(b, b) > 1.0)
    a, b = (np.where(through[..., None], y, np.array(far)) for y, far in ((a, (2.0, 0.5, 0.0)), (b, (-2.0, 0.5, 0.0))))
    chord = Chord.between(a, b, axes)
    path = chord.path_at(np.cos(angle), np.sin(angle))
    P, Q = chord.ends_of(path)
    return replace(SolvedContact.none(0.0 * plane.A), on=through, P=P * axes, Q=Q * axes), path.arc


# ---- flags ---------------------------------------------------------------------------------------------------


def _beside_a_jump(search: _Search) -> Array:
    """(...) whether the length may jump nearby. A path past a wrong side is taken where no other was found."""
    best = search.best
    length, on = best.length, best.route.on
    curved = reduce(or_, [on[i] for i in best.route.segment.round], ~always(length))
    clear = best.rank < 2.0
    asked = clear & (touches_several(on) | curved)
    lost = best.crosses | (search.given_up < length - SAME_LENGTH)
    ways = clear & _passes_around(best.route)
    return _nearly_as_short(search) | lost | ways | is_saddle_point(best.route, best.contacts, asked)


def _nearly_as_short(search: _Search) -> Array:
    """(...) whether another path was found that is nearly as short."""
    found: Array = search.other < (1.0 + NEARLY_AS_SHORT) * search.best.length
    return found


def _passes_around(route: Route) -> Array:
    """(...) whether a path runs past the front of a cylinder with a quadrant, with both neighbours behind, and another
    surface may turn these.

    The path touches that surface, or it is round and lies between the ends. Not all such ways are searched.
    """
    segment, around = route.segment, route.on[0] & ~route.on[0]
    for i, own in enumerate(segment.types):
        ahead = own.ahead
        if own.sided and ahead is not None:
            a, b = route.neighbours(i)
            aside = np.array([-ahead[1], ahead[0], 0.0])
            behind = (dot(a, ahead) < 0) & (dot(b, ahead) < 0) & (dot(a, aside) * dot(b, aside) > 0)
            around = around | (route.on[i] & behind)
    found = around & touches_several(route.on)
    for i in segment.round if any(own.sided for own in segment.types) else ():
        placed = segment.surfaces[i]
        line = placed.seen(segment.start), placed.seen(segment.end)
        found = found | is_cut(placed.prototype, placed.numbers, line, around & ~route.on[i])
    return found


def _near_planes(best: Found) -> list[SolvedContact]:
    """The contacts; those with rings take account of the path on other surfaces.

    Their `jump` is also how far that path is from the plane outside of the ring, where the length jumps.
    """
    contacts = list(best.contacts)
    for i, placed in enumerate(best.route.segment.surfaces):
        for x in (x for j, x in enumerate(best.route.points) if placed.prototype.ring and j != i):
            for P in (x.P, x.Q):
                near = np.where(x.on, placed.wrap.distance_from_plane(placed.seen(P)), np.inf)
                contacts[i] = replace(contacts[i], jump=np.minimum(contacts[i].jump, near[..., None]))
    return contacts
