"""One piece of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours, and which surfaces are touched, and in which order (`ordering`), is part of the answer. Some rough
sweeps (`sweeping`) mostly tell which are; then Newton's method (`variations`) pulls the path over these taut, and a
sweep from there is the judge: where it finds the same path again, that is the solution. Elsewhere sweeps go on, and
Newton's method from where they lead. Where the path then runs through a surface it is looked for again.

No path touches all that it should where surfaces overlap, so that one would be touched inside another, or where a path
slips off the end of a cylinder only while another surface is touched: sweeps then go round in circles. There a surface
is passed over, one whose contact lies inside another before one that comes and goes, until what is left settles.

In a compiled kernel every kind of surface is one function (`touch`), and a sweep is one for all pieces over the same
kinds in the same order: the surfaces' places and numbers are data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import matvec
from myoquat.kernels import iterate
from myoquat.kernels.arrays import as_array
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Wrap
from myoquat.muscle.wrapping.geodesics import finite
from myoquat.muscle.wrapping.ordering import guessed, moved, started
from myoquat.muscle.wrapping.sites import Poses, Site
from myoquat.muscle.wrapping.sweeping import (
    SETTLED,
    SOLVED,
    WHERE,
    Chain,
    Sweep,
    at_rest,
    at_start,
    drawn,
    fewer,
    swept,
    touching,
    unswept,
)
from myoquat.muscle.wrapping.variations import begun, near, varied

__all__ = ["Piece", "alone", "taut"]

ROUGHLY = 3  # sweeps
ROUNDS = 3  # over all surfaces, over those that rough sweeps leave, and over those that full ones do
SWEEPS = 8  # of a round
STEPS = 3  # of a round: times that Newton's method leads on, with a sweep behind it
NEWTON = 7  # steps of it, until
STILL = 1e-7  # [m, rad] is the most that one moves
CHOICES = 6  # times that a surface is passed over, where no path touches all
TRIES = 2  # times that a path is looked for, where it runs through surfaces
LAST = 1.0  # tries left with the last one


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
    size = nothing.shape[-1]
    sweep, places, through = Sweep(state[..., :size], kinds), state[..., size:], state[..., size + count :] > 0
    found = enumerate(zip(wraps, sweep.contacts, strict=True))
    contacts = tuple(_in_body(wrap, c, places[..., i], through[..., i]) for i, (wrap, c) in found)
    return Piece(wraps, contacts, sweep.unsolved)


def _tried(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of a `Sweep`, the places of the surfaces, 1 for one that the path runs through, their places for the
    next try, and how many are left: none where the path is solved and runs through none.

    The next try begins from the surface that the path of this one runs through, in its place there; where it ends
    without a solution the one before stays. Which surfaces are passed over, where no path touches all, is left to the
    last.
    """
    count = len(kinds)
    through, places, left = before[..., -2 * count - 1 : -count - 1], before[..., -count - 1 : -1], before[..., -1:]
    X = started(kinds, given, through)
    given = joined([given, np.where(left == LAST, 1.0, 0.0), X, places])
    begin = joined([at_start(X, count), 0.0 * left + np.array([1.0] * count + [float(ROUNDS)])])
    state = iterate(partial(_round, kinds), begin, given, ROUNDS, left=-1)
    state, taken = state[..., : -count - 1], state[..., -count - 1 : -1]
    sweep = Sweep(state, kinds)
    there, cut = moved(Chain(kinds, joined([given, taken])), sweep)
    some, unsolved = np.sum(cut, axis=-1)[..., None] > 0, sweep.unsolved[..., None]
    fewer = np.where(some, left - 1.0, np.where(unsolved & (left > LAST), LAST, 0.0))
    found = joined([state, places, cut, np.where(some, there, places), fewer])
    stays = unsolved & (np.sum(through, axis=-1)[..., None] > 0) & ~Sweep(before, kinds).unsolved[..., None]
    return np.where(stays, joined([before[..., :-1], 0.0 * left]), found)


def _round(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of a `Sweep`, 1 for each surface that is not passed over, and how many rounds are left: none where
    the path is solved."""
    count = len(kinds)
    state, taken, left = before[..., : -count - 1], before[..., -count - 1 : -1], before[..., -1]
    taken = _fewer(kinds, state, given, np.where(left[..., None] < ROUNDS, 1.0, taken), left)
    whole, unsolved = joined([given, taken]), left > 0
    first = at_start(given[..., -(WHERE + 1) * count : -count], count)
    phases: list[tuple[Any, int]] = [(_roughly, ROUGHLY), (drawn, SWEEPS)]
    if not any(kind.solved for kind in kinds):
        phases = phases[::-1]  # sweeps take no longer than a step of Newton's method
    for step, times in phases:
        state = np.where(unsolved[..., None], first, state)
        state = iterate(partial(step, kinds), state, whole, times, SETTLED, unsolved)
        state = _pulled(kinds, state, whole)
        unsolved = Sweep(state, kinds).unsolved
    last = given[..., -(WHERE + 1) * count - 1] > 0
    return joined([state, taken, np.where(unsolved & last, left - 1.0, 0.0)[..., None]])


def _fewer(kinds: tuple[Wrap, ...], state: Array, given: Array, taken: Array, left: Array) -> Array:
    """(..., k) 1 for each surface that is not passed over; in the first round none is, in the second rough sweeps
    tell."""
    start = joined([Sweep(state, kinds).X, taken])
    rough = np.where(left == ROUNDS - 1, 1.0, 0.0)[..., None]
    found = iterate(partial(fewer, kinds), start, joined([given, rough]), CHOICES, where=left < ROUNDS)
    return found[..., -len(kinds) :]


def _in_body(wrap: Wrap, c: Contact, place: Array, through: Array) -> Contact:
    inside = c.inside | through
    return Contact(c.on, wrap.in_body(c.P), wrap.in_body(c.Q), c.arc, inside, c.jump, c.missed, place)


def _placed(wrap: Wrap, poses: Poses) -> list[Array]:
    """The surface's frame in the world, row by row, its origin, and its numbers."""
    R, p = poses[wrap.body]
    axes = [wrap.direction_in_body(e) for e in np.eye(3)]
    columns = [matvec(R, axis) for axis in axes]
    return [*columns, p + matvec(R, as_array(wrap.position)), np.stack([as_array(x) for x in wrap.numbers()], axis=-1)]


def _roughly(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of a sweep for which the first guess of solvers will do."""
    return at_rest(swept(kinds, Sweep(state, kinds).X, given, rough=True), len(kinds))


def _pulled(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of the last sweep behind Newton's method, where it had to lead on."""
    unsolved = Sweep(state, kinds).unsolved
    begin = joined([state, 0.0 * state[..., :1] + float(STEPS)])
    return iterate(partial(_tightened, kinds), begin, given, STEPS, where=unsolved, left=-1)[..., :-1]


def _tightened(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of a sweep from where Newton's method leads while the touched surfaces stay the same; and how many
    times are left, none where the path is solved."""
    chain, sweep = Chain(kinds, given), Sweep(state[..., :-1], kinds)
    surfaces = chain.surfaces()
    on = touching(sweep.X, len(kinds))
    contacts = [replace(c, on=o) for c, o in zip(sweep.contacts, on, strict=True)]
    begin = begun(surfaces, contacts, chain.places, chain.ends[0])
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in on]
    z = iterate(partial(_varied, kinds), begin, joined([given, *flags]), NEWTON, STILL)
    z = np.where(finite(z), z, begin)
    beside = [near(z, i, o) for i, o in enumerate(on)]
    X = [
        x
        for placed, flag, c in zip(surfaces, flags, beside, strict=True)
        for x in (flag * placed.in_world(c.P), flag, flag * placed.in_world(c.Q))
    ]
    found = at_rest(swept(kinds, joined(X), given, beside), len(kinds))
    return joined([found, np.where(Sweep(found, kinds).unsolved, state[..., -1] - 1.0, 0.0)[..., None]])


def _varied(kinds: tuple[Wrap, ...], z: Array, given: Array) -> Array:
    """A step of Newton's method for the surfaces that are touched, as 1 each at the end of what is given tells."""
    count = len(kinds)
    chain = Chain(kinds, given[..., :-count])
    on = [given[..., i - count] > 0 for i in range(count)]
    return varied(chain.surfaces(), on, chain.places, chain.ends, z)
