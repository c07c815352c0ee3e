"""Fixed-point iteration over the surfaces of a path segment, each solved between its neighbours.

For every surface, let X hold the points where the path comes onto it and leaves it, and whether it is touched. Phi(X)
solves one surface after the other between its neighbours on the path. These are the point where the path left the last
touched surface, and the point where it comes onto the next one. Between them the path touches the surface or passes it
by. No application of Phi makes the path longer, so that the iteration X <- Phi(X) minimises its length. A displacement
of X along the path changes nothing to first order, so Phi removes it. Across the path Phi converges only linearly.
Anderson's method accelerates it with one iterate in memory (D. G. Anderson, J. ACM 12, 547, 1965).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import call_where, choose, fixed_point, while_loop
from myoquat.muscle.wrapping.contact_solve import SolvedContact, solve_contact, unknown_start
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.surfaces.base import Near, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always, differ, size

__all__ = [
    "MAX_RESIDUAL_M",
    "TOLERANCE_M",
    "Iterate",
    "OrderedSegment",
    "Points",
    "Segment",
    "TangentPoints",
    "accelerated",
    "applied",
    "dividing_surfaces",
    "fewer_surfaces",
    "first_applied",
    "length_of",
    "path_length",
    "points_of",
    "round_surfaces",
    "two_sided_surfaces",
]

MAX_FORWARD_SHARE, MAX_BACKWARD_SHARE = 4.0, 0.5  # of the way between two iterates, by which the next is extrapolated
WATCHED_ITERATIONS = 4  # in which surfaces are reported that are touched inside others, or touched and then not
TOLERANCE_M = 1e-10  # [m] change of the last iteration
MAX_RESIDUAL_M = 1e-9  # bound on |Phi(X) - X| of a converged path: ten times the tolerance

Points = tuple[list[Array], list[Array], list[Array]]  # of all surfaces, P and Q (..., 3), and whether they are touched


@dataclass(frozen=True)
class TangentPoints:
    """Where the path comes onto a surface and leaves it, P and Q (..., 3) in the world, and whether (...) it does: zero
    where not."""

    P: Array
    on: Array
    Q: Array

    @classmethod
    def none(cls, zero: Array) -> "TangentPoints":
        """Of a surface that is not touched; zero (..., 3)."""
        return cls(zero, ~always(zero[..., 0]), zero)

    def numbers(self) -> Array:
        """(..., 7) P, 1 where the path touches, and Q."""
        return joined([self.P, np.where(self.on, 1.0, 0.0)[..., None], self.Q])


@dataclass(frozen=True)
class Iterate:
    """The tangent points X of all surfaces after an iteration; the contacts in the surfaces' frames; and by how much
    (...) [m] the iteration changed X."""

    points: tuple[TangentPoints, ...]
    contacts: tuple[SolvedContact, ...]
    moved: Array

    @classmethod
    def at(cls, points: Sequence[TangentPoints]) -> "Iterate":
        """The iterate before the first iteration from tangent points, without contacts."""
        zero = 0.0 * points[0].P
        return cls(tuple(points), tuple(SolvedContact.none(zero) for _ in points), zero[..., 0] + np.inf)

    @property
    def converging(self) -> Array:
        """(...) whether the last iteration changed X by more than the tolerance, or there was none."""
        result: Array = self.moved > TOLERANCE_M
        return result

    @property
    def on(self) -> list[Array]:
        """(...) each, whether the path touches a surface."""
        return [x.on for x in self.points]

    @property
    def unsolved(self) -> Array:
        """(...) whether X is no solution, or the contact of a surface is none."""
        missed = np.logical_not(self.moved <= MAX_RESIDUAL_M)
        for contact in self.contacts:
            missed = missed | np.logical_not(contact.missed <= MAX_RESIDUAL_M)
        return missed

    def beside_a_jump(self, where: Array) -> "Iterate":
        """The same whose length may jump here, `where` (...) that is so."""
        near = tuple(replace(c, jump=np.where(where[..., None], 0.0 * c.jump, c.jump)) for c in self.contacts)
        return replace(self, contacts=near)


@dataclass(frozen=True)
class Segment:
    """A segment of a path: its start and end (..., 3), and the surfaces between.

    opposite: for each surface that divides, whether (...) the path passes it on the side opposite to that of the
    straight line between the ends.
    """

    start: Array
    end: Array
    surfaces: tuple[PlacedSurface, ...]
    opposite: tuple[Array, ...] = ()

    @property
    def types(self) -> tuple[Wrap, ...]:
        """The surfaces' prototypes."""
        return tuple(placed.prototype for placed in self.surfaces)

    def line(self, number: int) -> tuple[Array, Array]:
        """Two points (..., 3), in the frame of the surface of this number, whose line tells the side if it divides.

        They are the ends, or for the opposite side the reflections of the ends in the origin.
        """
        A, B = (self.surfaces[number].seen(x) for x in (self.start, self.end))
        dividing = dividing_surfaces(self.types)
        if number not in dividing:
            return A, B
        sign = np.where(self.opposite[dividing.index(number)], -1.0, 1.0)[..., None]
        return sign * A, sign * B


@dataclass(frozen=True)
class OrderedSegment:
    """A segment, the order of its surfaces along the path (...), and which of them (...) are not passed over."""

    segment: Segment
    order: tuple[Array, ...]
    active: tuple[Array, ...]

    @classmethod
    def over_all(cls, segment: Segment, order: tuple[Array, ...]) -> "OrderedSegment":
        """A segment that passes over no surface."""
        return cls(segment, order, (always(segment.start[..., 0]),) * len(segment.surfaces))

    @property
    def surfaces(self) -> tuple[PlacedSurface, ...]:
        return self.segment.surfaces

    @property
    def ends(self) -> tuple[Array, Array]:
        """(..., 3) each."""
        return self.segment.start, self.segment.end

    def hides(self, number: int, x: Array) -> Array:
        """(...) whether a point (..., 3) lies inside a surface other than the one of this number."""
        found = [
            placed.wrap.holds(placed.seen(x)) & active
            for i, (placed, active) in enumerate(zip(self.surfaces, self.active, strict=True))
            if i != number
        ]
        return reduce(or_, found, ~always(x[..., 0]))

    def contact(self, number: int, points: Points, near: Near, where: Array | bool = True) -> SolvedContact:
        """The contact of a surface between its neighbours on a path, `where` it is asked for."""
        placed, ends = self.surfaces[number], self.neighbours(number, points)
        return solve_contact(placed.prototype, placed.numbers, ends, self.segment.line(number), near, where)

    def neighbours(self, number: int, points: Points) -> tuple[Array, Array]:
        """(..., 3) each, in the frame of a surface: where a path leaves the surface before it and reaches the next one,
        or the ends."""
        (P, Q, on), (start, end), placed = points, self.ends, self.surfaces[number]
        ends = before(self.order, on, number, Q, start), after(self.order, on, number, P, end)
        return placed.seen(ends[0]), placed.seen(ends[1])


def points_of(points: Sequence[TangentPoints]) -> Points:
    """The tangent points of all surfaces: P, Q, and whether the surface is touched."""
    return [x.P for x in points], [x.Q for x in points], [x.on for x in points]


def length_of(segment: OrderedSegment, iterate: Iterate) -> Array:
    """(...) [m] of the path of an iterate."""
    return path_length(segment, points_of(iterate.points), [c.arc for c in iterate.contacts])


def path_length(segment: OrderedSegment, points: Points, arcs: Sequence[Array]) -> Array:
    """(...) [m] of a path, from the lengths of its geodesics on the surfaces, `arcs` (...) [m]."""
    (start, end), count = segment.ends, len(segment.surfaces)
    P, Q, on = points
    order, P, Q, on = [*segment.order, segment.order[0] + count], [*P, end], [*Q, end], [*on, on[0]]
    pieces = [np.where(on[i], arcs[i] + size(P[i] - before(order, on, i, Q, start)), 0.0) for i in range(count)]
    return sum(pieces, size(end - before(order, on, count, Q, start)))


# ---- one iteration -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Application:
    """A segment, the tangent points X from which Phi is applied, and where the solvers of the surfaces begin."""

    segment: OrderedSegment
    points: tuple[TangentPoints, ...]
    near: tuple[Near, ...]


def applied(
    segment: OrderedSegment, points: Sequence[TangentPoints], near: Sequence[Near] = (), rough: Array | bool = False,
    way: Array | None = None,
) -> Iterate:  # fmt: skip
    """Phi(X), which stands once in a kernel for all iterations over the same surface types.

    near   where solvers begin
    rough  (...) where their first guess is enough
    way    (...) of `Near`, past the surfaces on which the path is
    """
    begin = near or _unknown_starts(segment, points, always(points[0].on) & rough, way)
    problem = _Application(segment, tuple(points), tuple(begin))
    return call_where(_applied, problem, True, Iterate.at([TangentPoints.none(0.0 * x.P) for x in points]))


def _unknown_starts(
    segment: OrderedSegment, points: Sequence[TangentPoints], rough: Array, way: Array | None
) -> list[Near]:
    """Where solvers begin that know no contact, or the side of a surface on which the path is."""
    types = segment.segment.types
    found = [unknown_start(0.0 * points[0].P[..., 0], rough)] * len(types)
    if way is not None:
        for i in two_sided_surfaces(types):
            P = segment.surfaces[i].seen(points[i].P)
            found[i] = replace(found[i], P=P, way=np.where(points[i].on, way, 0.0))
    return found


@dataclass(frozen=True)
class _FirstApplication:
    """What the first application of Phi needs.

    segment  the segment
    points   the tangent points X from which Phi is applied
    alone    the rough contacts of each surface alone
    rough    (...) where the first guess of solvers is enough
    """

    segment: OrderedSegment
    points: tuple[TangentPoints, ...]
    alone: tuple[SolvedContact, ...]
    rough: Array


def first_applied(
    segment: OrderedSegment, points: Sequence[TangentPoints], alone: Sequence[SolvedContact], rough: Array,
    where: Array | bool,
) -> Iterate:  # fmt: skip
    """Phi(X), `where` (...) it is asked for.

    alone  the rough contacts of each surface alone, which are those on a path that touches no other one
    rough  (...) where the first guess of solvers is enough between neighbours too
    """
    problem = _FirstApplication(segment, tuple(points), tuple(alone), rough)
    return call_where(_first_applied, problem, where, Iterate.at(points))


def _first_applied(problem: _FirstApplication) -> Iterate:
    segment = problem.segment
    never = ~always(problem.points[0].on)
    near = unknown_start(0.0 * problem.points[0].P[..., 0], problem.rough)

    def solved(i: int, points: Points) -> SolvedContact:
        if segment.surfaces[i].prototype.ring:
            return segment.contact(i, points, near)
        others = reduce(or_, [x for j, x in enumerate(points[2]) if j != i], never)
        return choose(others, segment.contact(i, points, near, others), problem.alone[i])

    return _all_solved(segment, problem.points, solved)


def _applied(problem: _Application) -> Iterate:
    """Phi(X)."""
    segment, near = problem.segment, problem.near
    return _all_solved(segment, problem.points, lambda i, points: segment.contact(i, points, near[i]))


def _all_solved(
    segment: OrderedSegment, X: Sequence[TangentPoints], solved: Callable[[int, Points], SolvedContact]
) -> Iterate:
    """Phi(X), of which `solved` gives the contact of the surface of a number on a path."""
    P, Q, on = points_of(X)
    contacts, new = [], []
    for i, (placed, active) in enumerate(zip(segment.surfaces, segment.active, strict=True)):
        c = solved(i, (P, Q, on)).passed_over(~active)
        here = c.on[..., None]
        P[i], Q[i], on[i] = (*(np.where(here, placed.in_world(x), 0.0) for x in (c.P, c.Q)), c.on)
        contacts.append(c)
        new.append(TangentPoints(P[i], c.on, Q[i]))
    r = joined([x.numbers() - y.numbers() for x, y in zip(new, X, strict=True)])
    return Iterate(tuple(new), tuple(contacts), np.sqrt(np.sum(r * r, axis=-1)))


# ---- iteration with Anderson's method ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Displacement:
    """By how much (..., 3) an iteration moved the tangent points of a surface, and whether (...) the path began or
    ceased to touch it."""

    P: Array
    Q: Array
    changed: Array

    @classmethod
    def between(cls, old: TangentPoints, new: TangentPoints) -> "_Displacement":
        return cls(new.P - old.P, new.Q - old.Q, differ(new.on, old.on))


@dataclass(frozen=True)
class _Memory:
    """The memory of Anderson's method.

    iterate           the iterate
    residuals         Phi(X) - X of the last iteration
    before            the X of the iteration before, zero where there was none
    residuals_before  the residuals of the iteration before
    """

    iterate: Iterate
    residuals: tuple[_Displacement, ...]
    before: tuple[TangentPoints, ...]
    residuals_before: tuple[_Displacement, ...]


@dataclass(frozen=True)
class _AndersonProblem:
    """A segment, and the `way` (...) of `Near` past the surfaces on which the path is."""

    segment: OrderedSegment
    way: Array


def accelerated(iterate: Iterate, segment: OrderedSegment, way: Array, max_steps: int, where: Array) -> Iterate:
    """The iterate after at most so many iterations with Anderson's method, `where` (...) the path is sought."""
    none = tuple(TangentPoints.none(0.0 * x.P) for x in iterate.points)
    still = tuple(_Displacement.between(x, x) for x in none)
    begin, problem = _Memory(iterate, still, none, still), _AndersonProblem(segment, way)
    found = fixed_point(
        _accelerated, begin, problem, tolerance=TOLERANCE_M, max_steps=max_steps, where=where, watched=_unknowns
    )
    return found.iterate


def _unknowns(memory: _Memory) -> tuple[tuple[TangentPoints, ...], tuple[SolvedContact, ...]]:
    return memory.iterate.points, memory.iterate.contacts


def _accelerated(memory: _Memory, problem: _AndersonProblem) -> _Memory:
    """One iteration, from where the last two lead if both touch the same surfaces."""
    points = memory.iterate.points
    start = _extrapolated(memory)
    iterate = applied(problem.segment, start, way=problem.way)
    residuals = [_Displacement.between(old, new) for old, new in zip(start, iterate.points, strict=True)]
    return _Memory(iterate, tuple(residuals), points, memory.residuals)


def _extrapolated(memory: _Memory) -> list[TangentPoints]:
    """Anderson's method with one iterate in memory: the X of the line through both whose residual would be least."""
    points, before = memory.iterate.points, memory.before
    changes = [differ(x.on, y.on) for x, y in zip(points, before, strict=True)]
    steady = ~reduce(or_, [*(r.changed for r in (*memory.residuals, *memory.residuals_before)), *changes])
    r, r_before = (
        joined([x for d in every for x in (d.P, d.Q)]) for every in (memory.residuals, memory.residuals_before)
    )
    d = r - r_before
    square = np.where(steady, np.sum(d * d, axis=-1), 0.0)
    share = np.sum(r * d, axis=-1) / np.where(square > 0, square, 1.0)
    share = np.where(square > 0, np.minimum(np.maximum(share, -MAX_FORWARD_SHARE), MAX_BACKWARD_SHARE), 0.0)[..., None]
    return [
        TangentPoints(x.P - share * (x.P - y.P), x.on, x.Q - share * (x.Q - y.Q))
        for x, y in zip(points, before, strict=True)
    ]


# ---- which surfaces are passed over --------------------------------------------------------------------------


@dataclass(frozen=True)
class _WatchedPoints:
    """Tangent points; which surfaces (...) were touched inside another one, or touched and then not; and by how much
    (...) [m] the last iteration changed the points."""

    points: tuple[TangentPoints, ...]
    hidden: tuple[Array, ...]
    lost: tuple[Array, ...]
    moved: Array


@dataclass(frozen=True)
class _RoughSegment:
    """A segment, and where (...) the first guess of solvers is enough."""

    segment: OrderedSegment
    rough: Array


Selection = tuple[tuple[TangentPoints, ...], tuple[Array, ...]]  # X, and which surfaces (...) are not passed over


def fewer_surfaces(selection: Selection, problem: tuple[Segment, tuple[Array, ...], Array]) -> Selection:
    """X after some iterations, and which surfaces are not passed over.

    Where the touched surfaces go on changing, one more is passed over. It is the first whose contact lies inside
    another one, or else the first that was touched and then not.

    The problem is a segment, the order of its surfaces, and where (...) the first guess of solvers is enough.
    """
    (points, active), (segment, order, rough) = selection, problem
    never, count = ~always(rough), len(active)
    begin = _WatchedPoints(points, (never,) * count, (never,) * count, 0.0 * points[0].P[..., 0] + np.inf)
    whole = _RoughSegment(OrderedSegment(segment, order, active), rough)
    found = while_loop(_any_moves, _watched, begin, whole, max_steps=WATCHED_ITERATIONS)
    some_hidden, converged = reduce(or_, found.hidden), ~reduce(or_, found.lost)
    kept = []
    for own, hidden, lost in zip(active, found.hidden, found.lost, strict=True):
        passed = ~converged & ((some_hidden & hidden) | (~some_hidden & lost))
        converged = converged | passed
        kept.append(own & ~passed)
    return found.points, tuple(kept)


def _any_moves(watched: _WatchedPoints) -> Array:
    result: Array = watched.moved > 0
    return result


def _watched(watched: _WatchedPoints, problem: _RoughSegment) -> _WatchedPoints:
    """The tangent points after one more iteration, and what it tells."""
    segment = problem.segment
    iterate = applied(segment, watched.points, rough=problem.rough)
    new = iterate.points
    pairs = list(zip(watched.points, new, strict=True))
    hidden = [was.on & segment.hides(i, was.P) for i, was in enumerate(watched.points)]
    lost = [was.on & ~now.on for was, now in pairs]
    return _WatchedPoints(
        new,
        tuple(a | b for a, b in zip(watched.hidden, hidden, strict=True)),
        tuple(a | b for a, b in zip(watched.lost, lost, strict=True)),
        iterate.moved,
    )


def two_sided_surfaces(types: Sequence[Wrap]) -> list[int]:
    """The numbers of the surfaces that a path may pass on two sides."""
    return [i for i, surface in enumerate(types) if surface.both_ways]


def dividing_surfaces(types: Sequence[Wrap]) -> list[int]:
    """The numbers of the surfaces without a side whose two sides are searched one by one: long cylinders."""
    return [i for i, surface in enumerate(types) if surface.divides]


def round_surfaces(types: Sequence[Wrap]) -> list[int]:
    """The numbers of the surfaces without a side: spheres and ellipsoids that a path may pass anywhere around."""
    return [i for i, surface in enumerate(types) if surface.half_axes is not None]
