"""The shortest path between two points past several surfaces.

A path is determined by its topology: which surfaces it touches, in which order, and on which side of each. From a start
the length descends to a local minimum (`descent`), which settles the first two. The page docs/wrapping_algorithm.md
lists the starts, says which are left out, and where the length of the shortest path found may jump.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import dot
from myoquat.kernels import call_where, choose, while_loop

from .descent import BACK, MAX_RESIDUAL, Found, Known, descended
from .newton import moving_contacts, pencil_width
from .route import Flags, Order, PlacedSurface, Route, Segment, differs, first_of, passed, ranks, touches_several
from .single_surface_contact import Meeting
from .surfaces.base import Contact, Line, Wrap
from .surfaces.planar_paths import Chord
from .surfaces.vectors import always, differ, nearest, size, with_batch

OPPOSITE = 0.5  # part of a turn
PLANES = 8  # through its neighbours, at equal angles, in which a path starts past a sphere or an ellipsoid
END_PLANES = 4  # through the ends of the segment: what the path touches so far may keep it from a shorter one
TURNS = PLANES - 1 + END_PLANES - 1  # of the plane in which the path is
MAX_START_RATIO = 1.2  # of the lengths of a start in a plane and the path so far: of 63 that led on, one had 1.1
SAME_LENGTH = 3e-8  # by which the lengths of two equal paths may differ
MIN_WIDTH = 3e-4  # [1/rad] of the pencil over the segment's size, below which a minimum is about to end
NEARLY_AS_SHORT = 1e-3  # of the length, by which another path is longer beside a jump: it may be missed nearby


@frozen
class Piece:
    """A solved segment.

    contacts  in the frames of the surfaces' bodies
    order     (...) each, the order along the path: the less, the sooner it comes to the surface
    unsolved  (...) whether the path may not be the shortest, since a solver did not converge
    """

    wraps: tuple[Wrap, ...] = ()
    contacts: tuple[Contact, ...] = ()
    order: tuple[Array | float, ...] = ()
    unsolved: Array | bool = False

    @property
    def in_order(self) -> list[tuple[Contact, Array | float]]:
        """The contacts, each with its order along the path."""
        return list(zip(self.contacts, self.order, strict=True))


def over_one_surface(meeting: Meeting) -> Piece:
    """The segment over one surface, which is solved."""
    contact = meeting.surface.placed(meeting.result)
    return Piece((meeting.wrap,), (contact,), (0.0,), np.logical_not(contact.missed <= MAX_RESIDUAL))


def over_surfaces(meetings: Sequence[Meeting], slots: Sequence[Wrap] | None = None) -> Piece:
    """The shortest path over several surfaces between the ends of a piece, touching those that it must.

    A straight line that meets none is the path. So is a path over one surface that clears the others and goes the
    shorter way round, because no path is shorter than the one over a single surface. Where it goes the longer way round
    a surface that the line meets alone, it is the only start. Elsewhere the path is searched.

    If one is a ring, or has a hint, the path comes to the surfaces in the given order, as to obstacles. The surfaces
    are put in a canonical order, and the path starts at the end that is nearer to their middle, so that a path and its
    reverse are one problem.

    slots: prototypes of the search (`shared_slots`), more than the surfaces where it is made for other pieces too
    """
    if not meetings:
        return Piece()
    wraps = [m.wrap for m in meetings]
    slots = slots or slots_of(meetings)
    numbers = _slot_numbers(meetings, slots)
    segment, given = _problem(numbers, meetings, slots)
    none = Contact.none(0.0 * segment.start)
    asked = ~none.on & reduce(or_, [m.touches for m in meetings])
    nothing = (none,) * len(slots), (none.arc,) * len(slots), none.on
    found, order, unsolved = call_where(_solved, (segment, given), asked, nothing)
    moving = moving_contacts(segment, found, order)
    contacts = []
    for k, m in zip(numbers, meetings, strict=True):
        c, straight = m.surface.placed(moving[k]), m.straight  # a path that is not searched touches nothing
        inside, jump = choose(asked, (c.inside, c.jump), (straight.inside, straight.jump))
        contacts.append(replace(c, inside=inside, jump=jump))
    return Piece(tuple(wraps), tuple(contacts), tuple(order[k] for k in numbers), unsolved)


def _problem(numbers: Sequence[int], meetings: Sequence[Meeting], slots: Sequence[Wrap]) -> tuple[Segment, Order]:
    """The segment of a piece in the world, all its arrays with all batch axes, and the given order of the surfaces in
    its slots. A slot may hold a surface that does not act."""
    placed = [m.placed for m in meetings]
    start, end = (site.world for site in meetings[0].sites)
    shapes = [start.shape[:-1], end.shape[:-1], *(np.shape(m.acts) for m in meetings)]
    shapes += [s for p in placed for s in (p.axes.shape[:-2], p.origin.shape[:-1], p.numbers.shape[:-1])]
    batch = np.broadcast_shapes(*shapes)
    A, B = with_batch(start, batch), with_batch(end, batch)
    zero, acts = 0.0 * A[..., 0], [~always(A[..., 0])] * len(slots)
    given = [zero + float(len(slots))] * len(slots)
    surfaces = [PlacedSurface.of(own).spread(batch) for own in slots]
    for i, (k, m, p) in enumerate(zip(numbers, meetings, placed, strict=True)):
        surfaces[k], acts[k], given[k] = p.spread(batch), ~acts[k] & m.acts, zero + float(i)
    return Segment(A, B, tuple(surfaces), tuple(acts)), tuple(given)


def _solved(problem: tuple[Segment, Order]) -> tuple[tuple[Contact, ...], Order, Array]:
    """The contacts of a piece that meets surfaces, in their frames, their order, and whether (...) it is unsolved."""
    segment, order, scale, turned = _normalized(*problem)
    never, none = ~always(scale), Contact.none(0.0 * segment.start)
    route = Route(segment, (none,) * len(order), order)
    ends = [(own.seen(segment.start), own.seen(segment.end)) for own in segment.surfaces]
    asked = [acts & own.wrap.meets(*x) for own, acts, x in zip(segment.surfaces, segment.acts, ends, strict=True)]
    contacts = [route.contact(i, x | (never if segment.types[i].solved else ~never)) for i, x in enumerate(asked)]
    alone = tuple(_Alone.of(segment, c) for c in contacts)
    over = [x & c.on for x, c in zip(_longest(alone), contacts, strict=True)]
    one = reduce(and_, [c.missed <= MAX_RESIDUAL for c in contacts])
    longer = never
    for placed, line, x, c in zip(segment.surfaces, ends, over, contacts, strict=True):
        longer = longer | (x & placed.wrap.on_longer_way(*line, placed.seen(c.P)))
    lone = replace(route, contacts=tuple(choose(x, c, none) for x, c in zip(over, contacts, strict=True)))
    if segment.dividing or _in_given_order(segment):
        one = one & ~longer
    else:  # there are no other starts where the straight line meets this surface alone
        one = one & ~(longer & touches_several([c.on for c in contacts]))
    some = one & reduce(or_, over)  # a straight line that touches none is clear
    beside, clear = _beside(lone, some)
    contacts = [choose(some & ~x, c, own) for x, c, own in zip(over, beside, contacts, strict=True)]
    searched = ~(one & clear)
    nothing = Found.none(replace(route, order=(0.0 * scale,) * len(order)))
    best, doubtful = call_where(_searched, (segment, alone, order), searched, (nothing, never))
    route = Route(segment, *choose(searched, (best.contacts, best.order), (tuple(contacts), order)))
    found, unit = [], scale[..., None]
    for placed, c, through in zip(segment.surfaces, _near_planes(route), best.through, strict=True):
        jump, (P, Q) = np.where(doubtful[..., None], 0.0, unit * c.jump), (unit * placed.seen(x) for x in (c.P, c.Q))
        c = Contact(c.on, P, Q, scale * c.arc, c.inside | through, jump, c.missed)
        found.append(choose(turned, c.reversed, c))
    order = tuple(np.where(turned, -place, place) for place in route.order)
    return tuple(found), order, searched & best.unsolved


def _beside(route: Route, where: Array) -> tuple[list[Contact], Array]:
    """The contacts of the surfaces that a path does not touch between their neighbours on it, and whether (...) the
    path clears all surfaces elsewhere than on them, `where` (...) it is asked for."""
    segment = route.segment
    beside = [choose(c.on, c, route.contact(i, where & ~c.on, rough=True)) for i, c in enumerate(route.contacts)]
    touched = reduce(or_, [c.on & ~on for c, on in zip(beside, route.on, strict=True)])
    blocked = touched | segment.passes_over([c.inside for c in beside])
    found = passed(route, segment.acts, where & ~blocked)
    return beside, ~(blocked | reduce(or_, found.through) | found.crosses)


# ---- slots: surfaces of a search ------------------------------------------------------------------------------


def slots_of(meetings: Iterable[Meeting]) -> tuple[Wrap, ...]:
    """The prototypes of surfaces, in the canonical order."""
    return tuple(m.surface.prototype for m in sorted(meetings, key=_key))


def shared_slots(lists: Iterable[tuple[Wrap, ...]]) -> dict[tuple[Wrap, ...], tuple[Wrap, ...]]:
    """Of every list of prototypes the one whose search it shares: a longer list that holds it, so that few searches are
    compiled. What more it holds has no sides to be searched and no order."""
    kept: list[tuple[Wrap, ...]] = []
    shared: dict[tuple[Wrap, ...], tuple[Wrap, ...]] = {}
    for own in sorted(dict.fromkeys(lists), key=len, reverse=True):  # a set has no order that two processes share
        wider = [more for more in kept if not Counter(own) - Counter(more) and _are_plain(Counter(more) - Counter(own))]
        shared[own] = min(wider, key=len, default=own)
        kept += [own] if not wider else []
    return shared


def _are_plain(surfaces: Iterable[Wrap]) -> bool:
    return not any(own.divides or own.ring or own.hint is not None for own in surfaces)


def _slot_numbers(meetings: Sequence[Meeting], slots: Sequence[Wrap]) -> list[int]:
    """The number of the slot of each surface; equal ones take theirs in the canonical order."""
    left, found = list(range(len(slots))), [0] * len(meetings)
    for i in sorted(range(len(meetings)), key=lambda i: _key(meetings[i])):
        found[i] = next(k for k in left if slots[k] == meetings[i].surface.prototype)
        left.remove(found[i])
    return found


def _key(meeting: Meeting) -> tuple[bool | str, ...]:
    """By what surfaces are listed: those without a side first, the long ones last, then by names."""
    wrap = meeting.wrap
    return wrap.quadrant != "all", wrap.divides, wrap.kind, wrap.rule, wrap.quadrant, wrap.body, wrap.name


# ---- the segment ---------------------------------------------------------------------------------------------


def _normalized(segment: Segment, given: Order) -> tuple[Segment, Order, Array, Array]:
    """A segment in its own unit of length, from the end that is nearer to the middle of the surfaces.

    With it: the first order of these, from the given one; that unit (...) [m]; and where (...) both ends are exchanged.
    The unit is the way from one end over the middle of the surfaces to the other. The order is whole numbers from 0.
    """
    A, B, flags = segment.start, segment.end, [np.where(x, 1.0, 0.0) for x in segment.acts]
    count = np.maximum(sum(flags), 1.0)[..., None]
    middle = sum(x[..., None] * p.origin for x, p in zip(flags, segment.surfaces, strict=True)) / count
    before, after = size(A - middle), size(B - middle)
    scale, turned = before + after, before > after
    scale = np.where(scale > 0, scale, 1.0)
    unit = 1.0 / scale[..., None]
    start, end = choose(turned, (B, A), (A, B))
    start, end = unit * (start - middle), unit * (end - middle)
    surfaces = tuple(
        PlacedSurface(p.axes, unit * (p.origin - middle), unit * p.numbers, p.prototype) for p in segment.surfaces
    )
    opposite = (~always(scale),) * len(segment.dividing)
    free = tuple(on & ~(p.holds(start) | p.holds(end)) for on, p in zip(segment.acts, surfaces, strict=True))
    if _in_given_order(segment):
        order = tuple(np.where(turned, float(len(given) - 1) - x, x) for x in given)
    else:
        middles = [p.in_world(p.wrap.middle(p.seen(start), p.seen(end))) for p in surfaces]
        order = ranks([dot(x - start, end - start) for x in middles])
    return Segment(start, end, surfaces, segment.acts, free, opposite), order, scale, turned


def _in_given_order(segment: Segment) -> bool:
    return any(own.ring or own.hint is not None for own in segment.types)


# ---- the list of starts --------------------------------------------------------------------------------------


@frozen
class _Alone:
    """The path over one surface alone: its contact, and its length (...), zero where it does not touch. A start knows
    no length of the contact."""

    contact: Contact
    length: Array

    @classmethod
    def of(cls, segment: Segment, c: Contact) -> "_Alone":
        """From the contact of a surface with the straight line between the ends."""
        length = size(c.P - segment.start) + c.arc + size(segment.end - c.Q)
        return cls(replace(c, arc=0.0 * c.arc), np.where(c.on, length, 0.0))


@frozen
class _Starts:
    """What the starts of a segment are made of.

    segment  with the sides of the straight line
    order    (...) each, the order of the surfaces along the path
    alone    the paths over each surface alone
    turned   those over each surface that divides, on its opposite side
    """

    segment: Segment
    order: Order
    alone: tuple[_Alone, ...]
    turned: tuple[_Alone, ...]

    @property
    def selections(self) -> list[tuple[int, ...]]:
        """Which surfaces are passed on the side opposite to that of the straight line: none, each one that divides,
        each two, and so on. At the end it is none again, in the order of the path found, or with a ring in the
        reverse order."""
        dividing = self.segment.dividing
        found = [own for k in range(len(dividing) + 1) for own in itertools.combinations(dividing, k)]
        return [*found, ()] if dividing or self.reverses else found

    @property
    def reverses(self) -> bool:
        """Whether a path through a ring comes to the surfaces in any of two orders."""
        surfaces = self.segment.types
        return any(own.ring for own in surfaces) and all(own.hint is None for own in surfaces)

    @property
    def singles(self) -> int:
        """How many starts over single surfaces a selection has: the longest, and each one."""
        return len(self.alone) + 1

    def bound(self, opposite: Sequence[int]) -> Array:
        """(...) the length of the longest path over a single surface without a side, on these sides."""
        dividing = self.segment.dividing
        of_round = [self.alone[i].length for i in self.segment.round]
        of_long = [self.turned[k].length if i in opposite else self.alone[i].length for k, i in enumerate(dividing)]
        return reduce(np.maximum, [*of_round, *of_long], 0.0 * self.segment.start[..., 0])


@frozen
class _Search:
    """The search.

    sides     (...) the number of the selection of sides that is tried
    number    (...) of the next start on these
    best      the shortest path so far
    here      the shortest one on these sides
    given_up  (...) the length of the shortest one that is not the answer, though it is shorter
    other     (...) the length of the shortest other local minimum
    """

    sides: Array
    number: Array
    best: Found
    here: Found
    given_up: Array
    other: Array

    def may_be_shortened(self, bound: Array) -> Array:
        """(...) whether a path may be better, none of which is shorter than a bound (...)."""
        return (self.best.rank != 0) | (self.best.length > bound + SAME_LENGTH)


def _searched(problem: tuple[Segment, tuple[_Alone, ...], Order]) -> tuple[Found, Array]:
    """The best path of a segment, from the paths over its surfaces alone and the order of these at first, and whether
    (...) its length may jump nearby."""
    segment, alone, order = problem
    zero, none = 0.0 * segment.start[..., 0], Contact.none(0.0 * segment.start)
    untouched = Route(segment, (none,) * len(alone), (zero,) * len(alone))
    nothing, opposite = Found.none(untouched), tuple(~x for x in segment.opposite)
    across = replace(untouched, segment=replace(segment, opposite=opposite))
    turned = tuple(_Alone.of(segment, across.contact(i)) for i in segment.dividing)
    starts = _Starts(segment, order, alone, turned)
    begin = _Search(zero, zero, nothing, nothing, zero + np.inf, zero + np.inf)
    steps = len(starts.selections) * (starts.singles + TURNS * len(segment.round))
    search = while_loop(_goes_on, _tried, begin, starts, max_steps=steps)
    return search.best, _beside_a_jump(search, segment)


def _goes_on(search: _Search) -> Array:
    result: Array = search.sides < np.inf
    return result


def _tried(search: _Search, starts: _Starts) -> _Search:
    """The search after the start of its number."""
    number, here, best, alone, order = search.number, search.here, search.best, list(starts.alone), starts.order
    never, chosen = ~always(number), [search.sides == float(n) for n in range(len(starts.selections))]
    opposite = []
    for i, turned in zip(starts.segment.dividing, starts.turned, strict=True):
        opposite.append(reduce(or_, [x for x, own in zip(chosen, starts.selections, strict=True) if i in own]))
        alone[i] = choose(opposite[-1], turned, alone[i])
    segment, again = replace(starts.segment, opposite=tuple(opposite)), never
    if opposite or starts.reverses:
        again = chosen[-1]
        reverse = tuple(float(len(order) - 1) - x for x in order)
        order = choose(again, reverse if starts.reverses else best.order, order)
    in_plane, none, contacts = number >= float(starts.singles), Contact.none(0.0 * segment.start), []
    for i, (own, longest) in enumerate(zip(alone, _longest(alone), strict=True)):
        contacts.append(choose(((number == 0.0) & longest) | (number == float(i + 1)), own.contact, none))
    route, planar, skipped = Route(segment, tuple(contacts), choose(in_plane, here.order, order)), never, never
    if segment.round:
        start, planar = _in_plane(here.route(segment), number - float(starts.singles), in_plane)
        route = replace(route, contacts=choose(in_plane, start.contacts, route.contacts))
        limit = np.where(best.unsolved, np.inf, MAX_START_RATIO * best.length)
        skipped = in_plane & ~(planar & (route.length <= limit))
    route = replace(route, order=_freely_placed(route))
    known = Known(segment, best.contacts, np.where(best.rank == 0, best.length, np.inf), best.rank < np.inf)
    found = descended(Found.none(route), known, never | _in_given_order(segment), planar, ~skipped)
    shorter = _is_better(found, here) & ~skipped
    compared = _compared(search, found, segment)
    if starts.reverses:  # in the other order only a start in a plane tells more
        again = again & ~(in_plane & _is_better(found, best))
        other, given_up = choose(again, (search.other, search.given_up), (compared.other, compared.given_up))
        compared = replace(compared, other=other, given_up=given_up)
    search = choose(skipped, search, compared)
    here = choose((number == 0.0) | shorter, found, here)
    return _with_next(replace(search, here=here, number=number), starts, alone)


def _with_next(search: _Search, starts: _Starts, alone: Sequence[_Alone]) -> _Search:
    """The search with the next start, and endless `sides` where there is none."""
    segment, best, on, never = starts.segment, search.best, search.here.on, ~always(search.number)
    curved = touches_several(on) | reduce(or_, [on[i] for i in segment.round], never)
    usable = [never, *((x.length > 0) & ~own for x, own in zip(alone, _longest(alone), strict=True))]
    for i in segment.round:  # a surface that is touched alone has the ends as neighbours
        among = curved & reduce(or_, [x for j, x in enumerate(on) if j != i], never)
        usable += [*[curved] * (PLANES - 1), *[among] * (END_PLANES - 1)]
    number = _following(search.number, usable)
    asked = []
    for n, own in enumerate(starts.selections):
        open_ = search.may_be_shortened(starts.bound(own))
        number = np.where((search.sides == float(n)) & ~open_, np.inf, number)
        if n and not own and not starts.reverses:
            elsewhere = reduce(or_, [x != y for x, y in zip(best.order, starts.order, strict=True)])
            open_ = open_ & elsewhere & reduce(or_, best.opposite)
        for i in own:  # a surface touched on neither side has one
            turned = starts.turned[segment.dividing.index(i)].length > 0
            open_ = open_ & ((starts.alone[i].length > 0) | ((best.rank == 0) & turned) | best.on[i])
        asked.append(open_)
    done = number == np.inf
    sides = np.where(done, _following(search.sides, asked), search.sides)
    return replace(search, sides=sides, number=np.where(done, 0.0, number))


def _following(number: Array, usable: Sequence[Array]) -> Array:
    """(...) the first number above this one that is usable; infinite where there is none."""
    candidates = [np.where(x & (number < float(n)), float(n), np.inf) for n, x in enumerate(usable)]
    return reduce(np.minimum, candidates)


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
    for i, own in enumerate(route.segment.types):
        if own.sided:
            touched = route.contact(i, ~route.on[i], rough=True).on
            for place in range(len(route.order)):
                rank = np.where(route.order[i] > place, place - 0.5, place + 0.5)
                moved = replace(route, order=ranks([*route.order[:i], rank, *route.order[i + 1 :]]))
                free = touched & ~moved.contact(i, touched, rough=True).on
                route, touched = replace(route, order=choose(free, moved.order, route.order)), touched & ~free
    return route.order


# ---- choice --------------------------------------------------------------------------------------------------


def _compared(search: _Search, found: Found, segment: Segment) -> _Search:
    """The search with one path more.

    Whether a one-sided surface is touched depends on where a path comes from. Where that is all that decides, the other
    path counts as equally long.
    """
    best, first, better = search.best, ~(search.best.rank < np.inf), _is_better(found, search.best)
    loser, winner = choose(better, (best, found), (found, best))
    given_up = found.unsolved & ~differs(found.contacts, best.contacts, BACK)
    other, length = ~first & differs(found.contacts, best.contacts) & ~given_up, loser.length
    valid = loser.rank == winner.rank
    pairs = zip(segment.types, found.on, best.on, strict=True)
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


# ---- planes --------------------------------------------------------------------------------------------------


def _in_plane(route: Route, number: Array, where: Array) -> tuple[Route, Array]:
    """A path that passes a sphere or an ellipsoid in another plane through its neighbours on the path, or through the
    ends, and (...) whether there is one.

    The `number` (...) counts the planes, surface by surface. A plane is turned from the one through the centre. The
    path touches the other surfaces where the shortest paths to its tangent points do. On the side opposite to that of
    the path it touches them as before, since the surface may hold its neighbours there.
    """
    segment, none, mine, asked = route.segment, Contact.none(0.0 * route.segment.start), {}, ~always(number)
    guess, turn, ends = none, {}, asked
    for k, i in enumerate(segment.round):
        plane = number - float(TURNS * k)
        mine[i], at_ends = where & (plane >= 0.0) & (plane < float(TURNS)), plane >= float(PLANES - 1)
        turn[i] = np.where(at_ends, (plane - float(PLANES - 2)) / END_PLANES, (plane + 1.0) / PLANES)
        ends = ends | (mine[i] & at_ends)
    route = replace(route, contacts=tuple(choose(ends, none, c) for c in route.contacts))
    for i, here in mine.items():
        problem = segment.surfaces[i], route.neighbours(i), turn[i]
        guess = call_where(_plane_path, problem, here & segment.acts[i], guess)
        asked = asked | (here & (ends | (turn[i] != OPPOSITE)))
    start, asked = route, guess.on & asked
    for i, here in mine.items():
        start = start.touching(i, choose(here, guess, start.contacts[i]))
    for j in range(len(route.contacts)):
        moves = asked & ~mine[j] if j in mine else asked
        start = start.touching(j, choose(moves, start.contact(j, moves, rough=True, raised=True), start.contacts[j]))
    return start, guess.on


def _plane_path(plane: tuple[PlacedSurface, Line, Array]) -> Contact:
    """Where a plane path meets a surface. It is `on` where the straight line between its ends runs into the surface.

    plane  the surface, the ends (..., 3), and the turn (...) of the plane from the one through the centre, as a part of
           a turn
    """
    placed, (A, B), turn = plane
    axes = placed.wrap.half_axes
    assert axes is not None  # the surface is round
    a, b, angle = placed.seen(A) / axes, placed.seen(B) / axes, 2 * np.pi * turn
    x = nearest(a, b)
    through = (dot(x, x) < 1.0) & (dot(a, a) > 1.0) & (dot(b, b) > 1.0)
    a, b = (np.where(through[..., None], y, np.array(far)) for y, far in ((a, (2.0, 0.5, 0.0)), (b, (-2.0, 0.5, 0.0))))
    chord = Chord.between(a, b, axes)
    path = chord.path_at(np.cos(angle), np.sin(angle))
    P, Q = (placed.in_world(x * axes) for x in chord.ends_of(path))
    return replace(Contact.none(0.0 * A), on=through, P=P, Q=Q, arc=path.arc)


# ---- flags ---------------------------------------------------------------------------------------------------


def _beside_a_jump(search: _Search, segment: Segment) -> Array:
    """(...) whether the length may jump nearby. A path past a wrong side is taken where no other was found."""
    best = search.best
    length, on = best.length, best.on
    curved = reduce(or_, [on[i] for i in segment.round], ~always(length))
    clear = best.rank < 2.0
    asked = clear & (touches_several(on) | curved)
    lost = best.crosses | (search.given_up < length - SAME_LENGTH)
    route = best.route(segment)
    tie: Array = search.other < (1.0 + NEARLY_AS_SHORT) * length
    return tie | lost | (call_where(pencil_width, route, asked, length + np.inf) <= MIN_WIDTH)


def _near_planes(route: Route) -> list[Contact]:
    """The contacts of a path; those with rings take account of the path on other surfaces.

    Their `jump` is also how far that path is from the plane outside of the ring, where the length jumps.
    """
    contacts = list(route.contacts)
    others = list(zip(*route.tangent_points, route.on, strict=True))
    for i, placed in enumerate(route.segment.surfaces):
        for *points, on in (x for j, x in enumerate(others) if placed.prototype.ring and j != i):
            for x in points:
                near = np.where(on, placed.wrap.distance_from_plane(placed.seen(x)), np.inf)
                contacts[i] = replace(contacts[i], jump=np.minimum(contacts[i].jump, near[..., None]))
    return contacts
