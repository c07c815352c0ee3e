"""One segment of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours, and which surfaces are touched, and in which order (`surface_order`), is part of the answer. From an
initial guess the length is minimised (`outer_iterations`). Where the path then runs through a surface it is sought
again, and where another local minimum may exist (`alternative_minima`), that one too: the shorter one is the answer.

In a compiled kernel every surface type is one function (`contact_solve`), and an iteration is one for all segments over
the same types in the same order: the poses and the numbers of the surfaces are data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.vectors import matvec
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.alternative_minima import shortest
from myoquat.muscle.wrapping.contact_solve import SolvedContact
from myoquat.muscle.wrapping.fixed_point_iteration import (
    MAX_RESIDUAL_M,
    Iterate,
    OrderedSegment,
    Segment,
    TangentPoints,
)
from myoquat.muscle.wrapping.geodesic_segments import PlacedSurface
from myoquat.muscle.wrapping.outer_iterations import Mode, minimised
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.surface_order import guessed_order, moved_in_order, start_over_one_surface
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always

__all__ = ["Piece", "over_one_surface", "over_surfaces"]

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
    """An iterate; the order of the surfaces; which one (...) the path runs through; the order of the next try; how many
    tries are left: none where the path is solved and runs through no surface; and the length (...) [m] of the longest
    of the paths over one surface without a side each."""

    iterate: Iterate
    order: tuple[Array, ...]
    through: tuple[Array, ...]
    next_order: tuple[Array, ...]
    left: Array
    longest: Array


def over_surfaces(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The shortest path from `start` over several surfaces to `end`, touching those that it must; in this order if one
    is a ring, or has a hint, as the obstacles of a path that comes to them in their order."""
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    segment = _segment(wraps, start, end, poses)
    zero = 0.0 * segment.start[..., 0]
    never, none = ~always(zero), [TangentPoints.none(0.0 * segment.start) for _ in wraps]
    prescribed = any(wrap.ring or wrap.hint is not None for wrap in wraps)
    order = tuple(zero + float(i) for i in range(len(wraps))) if prescribed else guessed_order(segment)
    tries = 1 if prescribed else MAX_TRIES
    begin = _Try(Iterate.at(none), order, (never,) * len(wraps), order, zero + float(tries), zero)
    found = while_loop(_any_left, _tried, begin, segment, max_steps=tries)
    clear = ~reduce(or_, found.through) & ~found.iterate.unsolved
    iterate = shortest(OrderedSegment.over_all(segment, found.order), found.iterate, found.longest, clear)
    contacts = zip(wraps, iterate.contacts, found.order, found.through, strict=True)
    return Piece(wraps, tuple(_in_body(*each) for each in contacts), iterate.unsolved)


def _any_left(state: _Try) -> Array:
    result: Array = state.left > 0
    return result


def _tried(before: _Try, segment: Segment) -> _Try:
    """The next try. It begins from the surface that the path of the last one runs through, in its place there; where it
    ends without a solution the one before stays. Which surfaces are passed over, where no path touches all, is left to
    the last try."""
    through, order, left = before.through, before.next_order, before.left
    (X, longest), all_surfaces = start_over_one_surface(segment, through), OrderedSegment.over_all(segment, order)
    iterate, active = minimised(all_surfaces, X, Mode(left == 1.0, 0.0 * left))
    next_order, cut = moved_in_order(replace(all_surfaces, active=active), iterate.points)
    some, unsolved = reduce(or_, cut), iterate.unsolved
    rest = np.where(some, left - 1.0, np.where(unsolved & (left > 1.0), 1.0, 0.0))
    found = _Try(iterate, order, cut, choose(some, next_order, order), rest, longest)
    stays = unsolved & reduce(or_, through) & ~before.iterate.unsolved
    return choose(stays, replace(before, left=0.0 * left), found)


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

    surfaces = (PlacedSurface(spread(p.axes, 2), spread(p.origin), spread(p.numbers), p.prototype) for p in placed)
    return Segment(spread(start.world), spread(end.world), tuple(surfaces))


def _placed(wrap: Wrap, poses: Poses) -> PlacedSurface:
    R, p = poses[wrap.body]
    axes = np.stack([matvec(R, wrap.direction_in_body(e)) for e in np.eye(3)], axis=-2)
    numbers = np.stack([as_array(x) for x in wrap.numbers()], axis=-1)
    return PlacedSurface(axes, p + matvec(R, as_array(wrap.position)), numbers, wrap.prototype)
