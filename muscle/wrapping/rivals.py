"""Other taut paths between the same ends: of a path that was found and its rivals, the shortest.

A path over several surfaces may be taut and not the shortest, which may pass an ellipsoid on the other way, or do
without a surface: one that is passed on its side alone is touched or not according to where the path comes from, and so
may keep the path on another surface that leads it there. A path is therefore looked for on the other way past each
ellipsoid, and without each one-sided surface, where rough sweeps tell that the path would not touch it then.
"""

from dataclasses import replace
from functools import partial, reduce
from operator import add, or_

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Wrap
from myoquat.muscle.wrapping.ordering import moved
from myoquat.muscle.wrapping.rounds import HELD, roughly, tightened
from myoquat.muscle.wrapping.sweeping import WHERE, Chain, Sweep, length, path_of, touching, two_ways
from myoquat.muscle.wrapping.touch import Touch, nowhere

__all__ = ["shortest"]

ROUGHLY = 3  # sweeps without a surface, at most: over one other a single one is enough
ALIKE = 1e-8  # [m] by which the lengths of two paths differ that are one


def shortest(kinds: tuple[Wrap, ...], found: Array, given: Array, places: Array, where: Array) -> Array:
    """The numbers of a `Sweep` of the shortest of the path that was found, also as such, and its rivals, `where` (...)
    it is sure. Where there is a rival the length may jump between poses beside each other: at one of them the rival
    may not be found.

    given, places: as for `tightened`.
    """
    count = len(_one_sided(kinds)) + len(two_ways(kinds))
    if not count:
        return found
    on = touching(Sweep(found, kinds).X, len(kinds))
    some = reduce(or_, [on[i] for i in _one_sided(kinds)], _several(on))
    begin = joined([found, 0.0 * found[..., :1] + float(count)])
    step = partial(_either, kinds)
    return iterate(step, begin, joined([given, places]), count, where=where & some, left=-1)[..., :-1]


def _either(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of a `Sweep` of the shorter one of a path and a rival, and how many rivals are left."""
    count, was, left = len(kinds), Sweep(state[..., :-1], kinds), state[..., -1]
    given, places = given[..., :-count], given[..., -count:]
    all_of_them = 0.0 * places + 1.0
    chain = Chain(kinds, joined([given, places, all_of_them]))
    on = touching(was.X, count)
    without = _without(kinds, on, left)
    taken = joined([np.where(x, 0.0, 1.0)[..., None] for x in without])
    asked = reduce(or_, without)
    X = was.X * joined([taken[..., i, None] * np.ones(WHERE) for i in range(count)])
    rough = Sweep(roughly(kinds, given, X, places, taken, min(count - 1, ROUGHLY), asked), kinds)
    X, there = rough.X, asked & ~_stopped(chain, rough.X, without)
    for number, i in enumerate(two_ways(kinds), len(_one_sided(kinds)) + 1):
        other, exists = _turned(chain, was.X, i, _several(on) & (left == float(number)))
        X, there = np.where(exists[..., None], other, X), there | exists
    found, _ = tightened(kinds, given, X, places, taken, 0.0 * left + HELD, there)
    sweep = Sweep(found, kinds)
    taut = there & ~sweep.unsolved & ~_wanted(sweep, without)
    _, cut = moved(Chain(kinds, joined([given, places, np.where(taut[..., None], all_of_them, 0.0)])), sweep.X)
    longer = np.where(taut & (np.sum(cut, axis=-1) <= 0), length(chain, was) - length(chain, sweep), 0.0)
    shorter = Sweep(np.where((longer > 0)[..., None], found, was.numbers), kinds)
    return joined([shorter.beside_a_jump(np.abs(longer) > ALIKE).numbers, left[..., None] - 1.0])


def _one_sided(kinds: tuple[Wrap, ...]) -> list[int]:
    """The numbers of the surfaces that a path passes on one side, or through: others it cannot do without but by
    slipping over them."""
    return [i for i, kind in enumerate(kinds) if kind.ring or kind.quadrant != "all" or kind.hint is not None]


def _without(kinds: tuple[Wrap, ...], on: list[Array], left: Array) -> list[Array]:
    """(...) each, whether the rival of the number that is left does without this surface, which the path touches."""
    never, numbers = left != left, {i: float(n) for n, i in enumerate(_one_sided(kinds), 1)}
    return [x & (left == numbers[i]) if i in numbers else never for i, x in enumerate(on)]


def _several(on: list[Array]) -> Array:
    """(...) whether a path touches more than one surface."""
    result: Array = reduce(add, [np.where(x, 1.0, 0.0) for x in on]) > 1
    return result


def _stopped(chain: Chain, X: Array, without: list[Array]) -> Array:
    """(...) whether a rough path without a surface would touch it, or begins inside."""
    never = without[0] & ~without[0]
    path, near = path_of(X, len(chain.kinds)), nowhere(0.0 * X[..., 0], ~never)
    touches = [(Touch.unpacked(chain.met(i, path, near, without[i])), without[i]) for i in _one_sided(chain.kinds)]
    return reduce(or_, [(c.on | c.inside) & where for c, where in touches], never)


def _wanted(sweep: Sweep, without: list[Array]) -> Array:
    """(...) whether the path without a surface would touch it."""
    return reduce(or_, [x & c.inside for x, c in zip(without, sweep.contacts, strict=True)])


def _turned(chain: Chain, X: Array, number: int, where: Array) -> tuple[Array, Array]:
    """(..., WHERE k) about the X of a sweep with the path led past the surface of this number on the other way, `where`
    (...) that is asked and it is touched; and (...) whether there is one that may be as short."""
    path, i, none = path_of(X, len(chain.kinds)), number, 0.0 * X[..., 0]
    placed, asked = chain.surfaces()[i], where & path[2][i]
    near = replace(nowhere(none, none <= 0), P=placed.seen(path[0][i]), way=none - 1.0)
    c = Touch.unpacked(chain.met(i, path, near, asked))
    found = joined([placed.in_world(c.P), 1.0 + none[..., None], placed.in_world(c.Q)])
    there = asked & c.on
    own = np.where(there[..., None], found, X[..., WHERE * i : WHERE * (i + 1)])
    return joined([X[..., : WHERE * i], own, X[..., WHERE * (i + 1) :]]), there
