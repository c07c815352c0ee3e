"""Rounds in which a path over several surfaces is pulled taut, from a first guess.

Some rough sweeps (`sweeping`) mostly tell which surfaces are touched; then Newton's method (`variations`) pulls the
path over these taut, and a sweep from there is the judge: where it finds the same path again, that is the solution.
Elsewhere sweeps go on, and Newton's method from where they lead.

No path touches all that it should where surfaces overlap, so that one would be touched inside another, or where a path
slips off the end of a cylinder only while another surface is touched: sweeps then go round in circles. There a surface
is passed over, one whose contact lies inside another before one that comes and goes, until what is left settles.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.fixed_point_iteration import (
    SETTLED,
    WHERE,
    Chain,
    Sweep,
    at_rest,
    at_start,
    drawn,
    fewer,
    round_ones,
    swept,
    touching,
)
from myoquat.muscle.wrapping.newton import begun, near, varied
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.geodesics import finite

__all__ = ["HELD", "HELD_LONG", "LAST", "roughly", "tightened"]

ROUGHLY = 3  # sweeps
ROUNDS = 3  # over all surfaces, over those that rough sweeps leave, and over those that full ones do
SWEEPS = 5  # of a round
PATIENCE = 120  # sweeps of a round that nothing else has solved, until
NEAR = 1e-5  # [m] is the most that one moves
STEPS = 3  # of a round: times that Newton's method leads on, with a sweep behind it
NEWTON = 7  # steps of it, until
STILL = 1e-7  # [m, rad] is the most that one moves
CHOICES = 6  # times that a surface is passed over, where no path touches all
LAST = 1.0  # where surfaces may be passed over
HELD, HELD_LONG = (
    -1.0,
    -2.0,
)  # where the path keeps its ways past surfaces, also a way that is longer than the other one


def tightened(
    kinds: tuple[Wrap, ...], given: Array, X: Array, places: Array, taken: Array, how: Array, where: Array | bool = True
) -> tuple[Array, Array]:
    """The numbers of a `Sweep` of the path that is found from X, and (..., k) 1 for each surface that is not passed
    over in the end, `where` (...) it is looked for.

    given: the numbers of a `Chain` but for places and what is passed over; taken (..., k): 1 for each that is not at
    first. how (...): LAST, HELD, or 0.
    """
    left = 0.0 * how[..., None] + float(ROUNDS)
    begin = joined([at_start(X, len(kinds)), taken, left])
    whole = joined([given, how[..., None], X, places])
    state = iterate(partial(_round, kinds), begin, whole, ROUNDS, where=where, left=-1)
    return state[..., : -len(kinds) - 1], state[..., -len(kinds) - 1 : -1]


def roughly(
    kinds: tuple[Wrap, ...],
    given: Array,
    X: Array,
    places: Array,
    taken: Array,
    count: int,
    where: Array,
    how: Array | float = HELD,
) -> Array:
    """The numbers of a `Sweep` after a `count` of rough ones from X, which keep the ways past surfaces."""
    whole = joined([given, (0.0 * X[..., 0] + how)[..., None], X, places, taken])
    return iterate(partial(_roughly, kinds), at_start(X, len(kinds)), whole, count, where=where)


def _round(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of a `Sweep`, 1 for each surface that is not passed over, and how many rounds are left: none where
    the path is solved."""
    count = len(kinds)
    state, taken, left = before[..., : -count - 1], before[..., -count - 1 : -1], before[..., -1]
    taken = _fewer(kinds, state, given, np.where(left[..., None] < ROUNDS, 1.0, taken), left)
    whole, unsolved = joined([given, taken]), left > 0
    first = at_start(given[..., -(WHERE + 1) * count : -count], count)
    phases: list[tuple[Any, int]] = [(_roughly, ROUGHLY), (_drawn, SWEEPS)]
    if not any(kind.solved for kind in kinds):
        phases = phases[::-1]  # sweeps take no longer than a step of Newton's method
    for step, times in phases:
        state = np.where(unsolved[..., None], first, state)
        asked = unsolved
        if step is _roughly:
            state, times = iterate(partial(step, kinds), state, whole, 1, where=asked), times - 1
            asked = asked & (_how(kinds, whole) > HELD)
        state = iterate(partial(step, kinds), state, whole, times, SETTLED, asked)
        state = _pulled(kinds, state, whole)
        unsolved = Sweep(state, kinds).unsolved
    patient = unsolved & (_how(kinds, whole) > HELD)
    state = _patient(kinds, np.where(patient[..., None], first, state), whole, patient)
    unsolved = Sweep(state, kinds).unsolved
    again = unsolved & (_how(kinds, whole) == LAST)
    return joined([state, taken, np.where(again, left - 1.0, 0.0)[..., None]])


def _fewer(kinds: tuple[Wrap, ...], state: Array, given: Array, taken: Array, left: Array) -> Array:
    """(..., k) 1 for each surface that is not passed over; in the first round none is, in the second rough sweeps
    tell."""
    start = joined([Sweep(state, kinds).X, taken])
    rough = np.where(left == ROUNDS - 1, 1.0, 0.0)[..., None]
    found = iterate(partial(fewer, kinds), start, joined([given, rough]), CHOICES, where=left < ROUNDS)
    return found[..., -len(kinds) :]


def _roughly(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of a sweep for which the first guess of solvers will do."""
    held = _held(kinds, given)
    return at_rest(swept(kinds, Sweep(state, kinds).X, given, rough=True, held=held), len(kinds))


def _drawn(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    return drawn(kinds, state, given, _held(kinds, given))


def _how(kinds: tuple[Wrap, ...], given: Array) -> Array:
    """(...) LAST, HELD or 0, from the numbers that are given for a round and 1 for each surface that is not passed
    over."""
    result: Array = given[..., -(WHERE + 2) * len(kinds) - 1]
    return result


def _held(kinds: tuple[Wrap, ...], given: Array) -> Array:
    """(...) the `way` of `Near` for surfaces that are touched."""
    how, several = _how(kinds, given), 2.0 if len(round_ones(kinds)) > 1 else 1.0
    return np.where(how == HELD, several, np.where(how == HELD_LONG, 2.0, 0.0))


def _patient(kinds: tuple[Wrap, ...], state: Array, given: Array, where: Array) -> Array:
    """The numbers of a sweep after many, and Newton's method from there: near a path that is taut, but from which
    others are shorter, sweeps first leave that at their leisure."""
    begin = joined([state, 0.0 * state[..., :1] + float(PATIENCE)])
    found = iterate(partial(_patiently, kinds), begin, given, PATIENCE, where=where, left=-1)[..., :-1]
    return _pulled(kinds, found, given)


def _patiently(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of one more sweep, and how many are left: none where it touches other surfaces than the one before,
    as sweeps do that go round in circles, or where it has come near."""
    X, count = Sweep(before[..., :-1], kinds).X, len(kinds)
    found = at_rest(swept(kinds, X, given), count)
    sweep, first = Sweep(found, kinds), before[..., -1] == float(PATIENCE)
    changed = np.sum(np.abs(X[..., 3::WHERE] - sweep.X[..., 3::WHERE]), axis=-1) > 0
    goes = (first | ~changed) & (sweep.moved > NEAR)
    return joined([found, np.where(goes, before[..., -1] - 1.0, 0.0)[..., None]])


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
