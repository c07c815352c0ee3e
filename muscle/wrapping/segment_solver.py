"""One piece of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours, and which surfaces are touched, and in which order (`ordering`), is part of the answer. From a first
guess the path is pulled taut in `rounds`. Where it then runs through a surface it is looked for again, and where
another path may be taut as well, that one too (`rivals`): the shorter one is the answer.

In a compiled kernel every kind of surface is one function (`touch`), and a sweep is one for all pieces over the same
kinds in the same order: the surfaces' places and numbers are data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import matvec
from myoquat.kernels import iterate
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.alternative_minima import shortest
from myoquat.muscle.wrapping.fixed_point_iteration import SOLVED, Chain, Sweep, unswept
from myoquat.muscle.wrapping.outer_iterations import LAST, tightened
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.surface_order import guessed, moved, started
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap

__all__ = ["Piece", "alone", "taut"]

TRIES = 2  # times that a path is looked for, where it runs through surfaces


@dataclass(frozen=True)
class Piece:
    """A solved piece: contacts in their bodies' frames, whose places tell the order of the path.

    unsolved (...): the path may not be the shortest, since a solver did not settle.
    """

    wraps: tuple[Wrap, ...] = ()
    contacts: tuple[Contact, ...] = ()
    unsolved: Array | bool = False


def alone(wrap: Wrap, contact: Contact) -> Piece:
    """The piece over one surface, from its contact in its body's frame."""
    return Piece((wrap,), (contact,), np.logical_not(contact.missed <= SOLVED))


def taut(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The taut path from `start` over several surfaces to `end`, touching those that it must; in this order if one is a
    ring, or has a hint, as the obstacles of a path that comes to them in their order."""
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    kinds, count = tuple(wrap.prototype for wrap in wraps), len(wraps)
    given = joined([start.world, end.world, *(x for wrap in wraps for x in _placed(wrap, poses))])
    nothing, none = unswept(given, count), 0.0 * given[..., :1]
    told = any(wrap.ring or wrap.hint is not None for wrap in wraps)
    places = none + np.arange(float(count)) if told else guessed(kinds, given)
    tries = 1 if told else TRIES
    begin = joined([nothing, places, none + np.zeros(count), places, none + float(tries)])
    state = iterate(partial(_tried, kinds), begin, given, tries, left=-1)
    found, places, cut, _ = np.split(state[..., :-1], np.cumsum([nothing.shape[-1], count, count]), axis=-1)
    clear = (np.sum(cut, axis=-1) <= 0) & ~Sweep(found, kinds).unsolved
    sweep = Sweep(shortest(kinds, found, given, places, clear), kinds)
    pairs = enumerate(zip(wraps, sweep.contacts, strict=True))
    contacts = tuple(_in_body(wrap, c, places[..., i], cut[..., i] > 0) for i, (wrap, c) in pairs)
    return Piece(wraps, contacts, sweep.unsolved)


def _tried(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of a `Sweep`, the places of the surfaces, 1 for one that the path runs through, their places for the
    next try, and how many are left: none where the path is solved and runs through none.

    The next try begins from the surface that the path of this one runs through, in its place there; where it ends
    without a solution the one before stays. Which surfaces are passed over, where no path touches all, is left to the
    last.
    """
    count = len(kinds)
    through, places, left = before[..., -2 * count - 1 : -count - 1], before[..., -count - 1 : -1], before[..., -1]
    X, all_of_them = started(kinds, given, through), 0.0 * places + 1.0
    state, taken = tightened(kinds, given, X, places, all_of_them, np.where(left == 1.0, LAST, 0.0))
    sweep = Sweep(state, kinds)
    there, cut = moved(Chain(kinds, joined([given, places, taken])), sweep.X)
    some, unsolved = np.sum(cut, axis=-1) > 0, sweep.unsolved
    rest = np.where(some, left - 1.0, np.where(unsolved & (left > 1.0), 1.0, 0.0))
    found = joined([state, places, cut, np.where(some[..., None], there, places), rest[..., None]])
    stays = unsolved & (np.sum(through, axis=-1) > 0) & ~Sweep(before, kinds).unsolved
    return np.where(stays[..., None], joined([before[..., :-1], 0.0 * before[..., -1:]]), found)


def _in_body(wrap: Wrap, c: Contact, place: Array, through: Array) -> Contact:
    inside = c.inside | through
    return Contact(c.on, wrap.in_body(c.P), wrap.in_body(c.Q), c.arc, inside, c.jump, c.missed, place)


def _placed(wrap: Wrap, poses: Poses) -> list[Array]:
    """The surface's frame in the world, row by row, its origin, and its numbers."""
    R, p = poses[wrap.body]
    axes = [wrap.direction_in_body(e) for e in np.eye(3)]
    columns = [matvec(R, axis) for axis in axes]
    return [*columns, p + matvec(R, as_array(wrap.position)), np.stack([as_array(x) for x in wrap.numbers()], axis=-1)]
