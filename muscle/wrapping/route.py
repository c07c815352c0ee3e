"""Paths over several surfaces: a segment, where a path touches its surfaces, and in which order.

All points are in the world. What needs the frame of a surface is one function for each type (`call_where`). The unit of
length is the segment's size, so that every tolerance is relative. A surface's numbers and pose, and the order along the
path, are data: one kernel serves all surfaces of a type and quadrant, and every order.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add, or_
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import call_where, choose, static
from myoquat.kernels.symbolic.arrays import as_array

from .surfaces.base import MAX_DISTANCE_M, Contact, Line, Near, Wrap
from .surfaces.vectors import always, differ, size, with_batch

SAME_POINT = 1e-3  # how far apart the tangent points of one path may be found: those of other minima lie farther away

Flags = tuple[Array, ...]  # (...) each, of all surfaces
Order = tuple[Array, ...]  # (...) each, of all surfaces: the less, the sooner a path comes to it
Swaps = list[tuple[int, Array]]  # pairs of neighbours, (i, i + 1), that are exchanged where the condition holds
Record = TypeVar("Record")


@frozen
class PlacedSurface:
    """A surface by the rows (..., 3, 3) of its frame's axes and its origin (..., 3) in the world, its own numbers
    (..., n), and its prototype."""

    axes: Array
    origin: Array
    numbers: Array
    prototype: Wrap = static()

    @classmethod
    def of(cls, wrap: Wrap) -> "PlacedSurface":
        """A surface in the frame of its body. That of a cylinder with a quadrant is turned so that x is ahead: one
        formula serves all four."""
        x, y, z = (wrap.direction_in_body(e) for e in np.eye(3))
        x, y = {"-x": (-x, -y), "+y": (y, -x), "-y": (-y, x)}.get(wrap.quadrant if wrap.sided else "", (x, y))
        prototype = replace(wrap.prototype, quadrant="+x") if wrap.sided else wrap.prototype
        return cls(np.stack([x, y, z], axis=-2), as_array(wrap.position), wrap.numbers(), prototype)

    def spread(self, batch: tuple[int, ...]) -> "PlacedSurface":
        """The same with these batch axes."""
        axes, origin, numbers = (
            with_batch(x, batch, n) for x, n in ((self.axes, 2), (self.origin, 1), (self.numbers, 1))
        )
        return PlacedSurface(axes, origin, numbers, self.prototype)

    def moved(self, R: Array, p: Array) -> "PlacedSurface":
        """A surface of a body's frame in the world, from the pose of the body."""
        axes = np.stack([matvec(R, self.axes[..., i, :]) for i in range(3)], axis=-2)
        return replace(self, axes=axes, origin=p + matvec(R, self.origin))

    @property
    def wrap(self) -> Wrap:
        return self.prototype.shaped(self.numbers)

    def seen(self, x: Array) -> Array:
        """(..., 3) a point of the world in the surface's frame."""
        return matvec(self.axes, x - self.origin)

    def in_world(self, x: Array) -> Array:
        """(..., 3) a point of the surface's frame in the world."""
        result: Array = self.origin + vecmat(x, self.axes)
        return result

    def placed(self, c: Contact) -> Contact:
        """A contact of the surface's frame in the world."""
        return replace(c, P=self.in_world(c.P), Q=self.in_world(c.Q))

    def contact(
        self, ends: Line, line: Line, near: Near | None = None, where: Array | bool = True, raised: bool = False
    ) -> Contact:
        """The contact with a path between two points, `where` (...) it is asked for; elsewhere none. The `line` tells
        the side. If `raised`, a point inside the surface is put onto it."""
        zero = 0.0 * ends[0]
        begin = Near.unknown(zero) if near is None else near
        return call_where(partial(_contact, raised), (self, ends, line, begin), where, Contact.none(zero))

    def is_cut(self, line: Line, where: Array) -> Array:
        """(...) `Wrap.cut` for a line between two points, `where` it is asked for."""
        return call_where(_cut, (self, line), where, ~always(line[0][..., 0]))

    def is_crossed(self, line: Line, where: Array) -> Array:
        """(...) `Wrap.crossed` for a line between two points, `where` it is asked for."""
        return call_where(_crossed, (self, line), where, ~always(line[0][..., 0]))

    def holds(self, x: Array) -> Array:
        """(...) whether a point (..., 3) lies inside."""
        return self.wrap.holds(self.seen(x))


def _contact(raised: bool, problem: tuple[PlacedSurface, Line, Line, Near]) -> Contact:
    placed, *lines, near = problem
    (A, B), line = ((placed.seen(x), placed.seen(y)) for x, y in lines)
    if raised:
        A, B = (np.where(placed.wrap.holds(x)[..., None], placed.wrap.onto(x), x) for x in (A, B))
    near = replace(near, P=placed.seen(near.P), Q=placed.seen(near.Q))
    c = placed.placed(placed.wrap.contact(A, B, line, near=near))
    missed = np.minimum(c.missed + 0.0 * c.arc, MAX_DISTANCE_M)
    return replace(c, jump=np.minimum(c.jump, MAX_DISTANCE_M), missed=missed)


def _cut(problem: tuple[PlacedSurface, Line]) -> Array:
    placed, (A, B) = problem
    return placed.wrap.cut(placed.seen(A), placed.seen(B))


def _crossed(problem: tuple[PlacedSurface, Line]) -> Array:
    placed, (A, B) = problem
    return placed.wrap.crossed(placed.seen(A), placed.seen(B))


@frozen
class Segment:
    """A segment of a path: its start and end (..., 3), and the surfaces between.

    acts      whether (...) each surface acts
    free      whether (...) each acts, and no end of the segment lies inside
    opposite  for each surface that divides, whether (...) the path passes it on the side opposite to that of the
              straight line between the ends
    """

    start: Array
    end: Array
    surfaces: tuple[PlacedSurface, ...]
    acts: Flags
    free: Flags = ()
    opposite: Flags = ()

    @property
    def types(self) -> tuple[Wrap, ...]:
        """The surfaces' prototypes."""
        return tuple(placed.prototype for placed in self.surfaces)

    @property
    def dividing(self) -> list[int]:
        """The numbers of the surfaces without a side whose two sides are searched one by one: long cylinders."""
        return [i for i, own in enumerate(self.types) if own.divides]

    @property
    def round(self) -> list[int]:
        """The numbers of the surfaces without a side that a path may pass anywhere around: spheres and ellipsoids."""
        return [i for i, own in enumerate(self.types) if own.half_axes is not None]

    def passes_over(self, inside: Sequence[Array]) -> Array:
        """(...) whether a path passes a surface over, since its neighbours on the path lie `inside` (...), not the
        ends, as for every path."""
        return reduce(or_, [x & free for x, free in zip(inside, self.free, strict=True)])

    def inside_another(self, number: int, x: Array, active: Flags) -> Array:
        """(...) whether a point (..., 3) lies inside an `active` (...) surface other than the one of this number."""
        others = [placed.holds(x) & active[i] for i, placed in enumerate(self.surfaces) if i != number]
        return reduce(or_, others, ~always(x[..., 0]))

    def line(self, number: int) -> tuple[Array, Array]:
        """Two points (..., 3) whose line tells the side of the surface of this number if it divides.

        They are the ends, or for the opposite side the reflections of the ends in its origin.
        """
        A, B = self.start, self.end
        if number not in self.dividing:
            return A, B
        opposite, center = self.opposite[self.dividing.index(number)][..., None], self.surfaces[number].origin
        return np.where(opposite, 2.0 * center - A, A), np.where(opposite, 2.0 * center - B, B)


@frozen
class Route:
    """Where a path touches the surfaces of a segment: contacts in the world, and in which order it comes to them."""

    segment: Segment
    contacts: tuple[Contact, ...]
    order: Order

    @property
    def on(self) -> list[Array]:
        """(...) each, whether the path touches a surface."""
        return [c.on for c in self.contacts]

    @property
    def tangent_points(self) -> tuple[list[Array], list[Array]]:
        """(..., 3) each, where the path comes onto the surfaces, and where it leaves them."""
        return [c.P for c in self.contacts], [c.Q for c in self.contacts]

    def neighbours(self, number: int) -> tuple[Array, Array]:
        """(..., 3) each: where the path leaves the surface before a surface and reaches the next one, or the ends."""
        P, Q = self.tangent_points
        A = before(self.order, self.on, number, Q, self.segment.start)
        return A, after(self.order, self.on, number, P, self.segment.end)

    def contact(
        self,
        number: int,
        where: Array | bool = True,
        known: Array | bool = False,
        rough: Array | bool = False,
        raised: bool = False,
    ) -> Contact:
        """The contact of a surface between its neighbours, `where` (...) it is asked for.

        Its solver begins from the present one where that is `known`. Its first guess will do where `rough`. If
        `raised`, a neighbour inside the surface is put onto it.
        """
        placed, c, never = self.segment.surfaces[number], self.contacts[number], ~always(self.segment.start[..., 0])
        near = Near(c.P, c.Q, c.arc, never | known, never | rough)
        acts = self.segment.acts[number] & where
        return placed.contact(self.neighbours(number), self.segment.line(number), near, acts, raised)

    def touching(self, number: int, contact: Contact) -> "Route":
        """The path with another contact of a surface."""
        return replace(self, contacts=(*self.contacts[:number], contact, *self.contacts[number + 1 :]))

    @property
    def length(self) -> Array:
        """(...) of the path."""
        count, end, (P, Q) = len(self.order), self.segment.end, self.tangent_points
        order, on = [*self.order, 0.0 * self.order[0] + count], [*self.on, ~always(end[..., 0])]
        from_ = [before(order, on, i, [*Q, end], self.segment.start) for i in range(count + 1)]
        pieces = [
            np.where(c.on, c.arc + size(p - a), 0.0) for c, p, a in zip(self.contacts, P, from_[:count], strict=True)
        ]
        return sum(pieces, size(end - from_[count]))


def differs(X: Sequence[Contact], Y: Sequence[Contact], apart: float = SAME_POINT) -> Array:
    """(...) whether two paths touch different surfaces, or a surface farther apart."""
    pairs = list(zip(X, Y, strict=True))
    moved = [x.on & (size(x.P - y.P) + size(x.Q - y.Q) > apart) for x, y in pairs]
    return reduce(or_, [differ(x.on, y.on) for x, y in pairs] + moved)


def touches_several(on: Sequence[Array]) -> Array:
    """(...) whether a path touches more than one surface."""
    result: Array = reduce(add, [np.where(x, 1.0, 0.0) for x in on]) > 1
    return result


def first_of(flags: Sequence[Array]) -> Flags:
    """(...) each, whether it is the first that holds."""
    found, earlier = [], ~always(flags[0])
    for own in flags:
        found.append(own & ~earlier)
        earlier = earlier | own
    return tuple(found)


def ranks(x: Sequence[Array]) -> Order:
    """(...) each, how many of the others come before: those that are less, or equal and earlier in the list."""
    found = []
    for i, own in enumerate(x):
        earlier = [np.where(y <= own, 1.0, 0.0) for y in x[:i]] + [np.where(y < own, 1.0, 0.0) for y in x[i + 1 :]]
        found.append(sum(earlier, 0.0 * own))
    return tuple(found)


# ---- what a path runs through ---------------------------------------------------------------------------------


@frozen
class Passed:
    """What a path runs through.

    through  (...) each, whether it is the first surface that the path runs through elsewhere than on it
    crosses  (...) whether the path runs past a wrong side on another surface
    order    (...) each, the order in which that surface has its place there
    """

    through: Flags
    crosses: Array
    order: Order


def passed(route: Route, active: Flags, where: Array) -> Passed:
    """What a path runs through of the `active` (...) surfaces, `where` (...) that is asked."""
    never = ~always(route.segment.start[..., 0])
    nothing = Passed((never,) * len(active), never, route.order)
    return call_where(_passed, (route, active), where, nothing)


def _passed(asked: tuple[Route, Flags]) -> Passed:
    route, active = asked
    segment, count, (P, Q) = route.segment, len(route.contacts), route.tangent_points
    start, end = segment.start, segment.end
    never = ~always(start[..., 0])
    order = [0.0 * route.order[0] - 1.0, *route.order]  # the start comes before all
    on, P, Q = [~never, *route.on], [start, *P], [start, *Q]
    numbers = [own[..., None] for own in order]
    last = 0.0 * numbers[0] + float(count)
    stops = [np.concatenate([p, own], axis=-1) for p, own in zip(P, numbers, strict=True)]
    behind = [after(order, on, j, stops, np.concatenate([end, last], axis=-1)) for j in range(count + 1)]
    lines = [(Q[j], behind[j][..., :3], on[j]) for j in range(count + 1)]
    outside, found, through, done = [], [], [], never
    for i, placed in enumerate(segment.surfaces, start=1):
        free = active[i - 1] & segment.free[i - 1]
        own, rank, met = before(order, on, i, numbers, numbers[0])[..., 0], order[i], never
        for j, (a, b, here) in enumerate(lines):
            if j != i:
                asked_here = free & here & (own != order[j]) & ~met & ~done
                cut = placed.is_cut((a, b), asked_here)
                rank, met = np.where(cut, (order[j] + behind[j][..., 3]) / 2.0, rank), met | cut
        outside.append(free)
        found.append(rank)
        through.append(met)
        done = done | met
    return Passed(tuple(through), ~done & _crosses(route, outside, lines), ranks(found))


def _crosses(route: Route, outside: Sequence[Array], lines: Sequence[tuple[Array, Array, Array]]) -> Array:
    """(...) whether a path runs past the wrong side of a surface on another one.

    The chord between the points where a path comes onto another surface and leaves it stands for the geodesic. Both lie
    in that body. If it is convex and apart from this one, the geodesic can be moved onto the chord within it. The
    straight `lines` of the path are asked for with a ring; elsewhere `Wrap.cut` asks for them.
    """
    found = ~always(route.segment.start[..., 0])
    for i, (placed, free) in enumerate(zip(route.segment.surfaces, outside, strict=True)):
        if placed.prototype.ahead is not None or placed.prototype.ring:
            pieces = [x for j, x in enumerate(zip(*route.tangent_points, route.on, strict=True)) if j != i]
            for a, b, here in [*pieces, *(lines if placed.prototype.ring else ())]:
                found = found | placed.is_crossed((a, b), free & here)
    return found


# ---- in which order a path comes to surfaces, as numbers ------------------------------------------------------
#
# Of two surfaces the path comes first to the one whose number is less, or to the first of the list where both are
# equal.


def before(order: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], start: Array) -> Array:
    """(..., n) the x of the last touched surface before the surface of this number, or `start` where there is none.

    on  (...) each, whether a surface is touched
    x   (..., n) of all surfaces
    """
    latest = -np.inf + 0.0 * order[number]
    for i, own in enumerate(order):
        if i != number:
            ahead = own <= order[number] if i < number else own < order[number]
            later = on[i] & ahead & (own >= latest)
            latest, start = np.where(later, own, latest), np.where(later[..., None], x[i], start)
    return start


def after(order: Sequence[Array], on: Sequence[Array], number: int, x: Sequence[Array], end: Array) -> Array:
    """(..., n) of all surfaces' x (..., n) that of the first one that is touched after the surface of this number, or
    `end` where none is."""
    turned = [-own for own in reversed(order)]
    return before(turned, on[::-1], len(order) - 1 - number, x[::-1], end)


def in_order(order: Sequence[Array], x: Sequence[Record]) -> tuple[list[Record], Callable[[Sequence[Any]], list[Any]]]:
    """The records of all surfaces in the order of the path, and a function that puts others back."""
    order, swaps = list(order), []
    for last in range(len(order) - 1, 0, -1):
        for i in range(last):
            swap = (i, order[i] > order[i + 1])
            swaps.append(swap)
            order = _swapped(order, [swap])
    return _swapped(x, swaps), lambda x: _swapped(x, swaps[::-1])


def _swapped(x: Sequence[Record], swaps: Swaps) -> list[Record]:
    x = list(x)
    for i, condition in swaps:
        x[i], x[i + 1] = choose(condition, x[i + 1], x[i]), choose(condition, x[i], x[i + 1])
    return x
