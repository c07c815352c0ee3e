"""Other taut paths between the same ends: of a path that was found and its rivals, the shortest.

A path over several surfaces may be taut and not the shortest, which may pass an ellipsoid on the other way, or do
without a surface: one that is passed on its side alone is touched or not according to where the path comes from, and so
may keep the path on another surface that leads it there. A path is therefore looked for on the other way past each
ellipsoid, and without each one-sided surface, where rough sweeps tell that the path would not touch it then. Where it
would, it takes this surface up again, and may come to lie on the other side of it, or on another flank of one that is
round: where a surface that is passed on a side alone leads the path on, both ways may be taut.
"""

from dataclasses import replace
from functools import partial, reduce
from operator import add, or_

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.base import Wrap
from myoquat.muscle.wrapping.ordering import moved
from myoquat.muscle.wrapping.rounds import HELD, roughly, tightened
from myoquat.muscle.wrapping.sweeping import WHERE, Chain, Sweep, length, path_of, points, touching, two_ways
from myoquat.muscle.wrapping.touch import Touch, nowhere
from myoquat.muscle.wrapping.vectors import dot

__all__ = ["shortest"]

ROUGHLY = 3  # sweeps without a surface, at most: over one other a single one is enough
AGAIN = (1, 0.8), (2, 0.95)  # sweeps with it again; and cosine of the angle between normals, beyond which paths differ
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
    X, without, there = _begun(chain, was, _without(kinds, on, left))
    for number, i in enumerate(two_ways(kinds), len(_one_sided(kinds)) + 1):
        other, exists = _turned(chain, was.X, i, _several(on) & (left == float(number)))
        X, there = np.where(exists[..., None], other, X), there | exists
    taken = _taken(without)
    found, _ = tightened(kinds, given, X, places, taken, 0.0 * left + HELD, there)
    sweep = Sweep(found, kinds)
    taut = there & ~sweep.unsolved & ~_wanted(sweep, without)
    _, cut = moved(Chain(kinds, joined([given, places, np.where(taut[..., None], all_of_them, 0.0)])), sweep.X)
    longer = np.where(taut & (np.sum(cut, axis=-1) <= 0), length(chain, was) - length(chain, sweep), 0.0)
    shorter = Sweep(np.where((longer > 0)[..., None], found, was.numbers), kinds)
    return joined([shorter.beside_a_jump(np.abs(longer) > ALIKE).numbers, left[..., None] - 1.0])


def _begun(chain: Chain, was: Sweep, without: list[Array]) -> tuple[Array, list[Array], Array]:
    """X from which to look for the rival that begins without a surface, `without` (...) each it is this one; (...)
    each, whether it does without it to the end; and (...) whether there is one.

    It does where a rough path over the others would not touch the surface. Elsewhere it takes it up again, and is a
    rival where it comes to lie on another side of a surface, or on another flank, than the path that was found.
    """
    kinds, count = chain.kinds, len(chain.kinds)
    given, places = chain.given[..., : -2 * count], chain.given[..., -2 * count : -count]
    asked, taken = reduce(or_, without), _taken(without)
    X = was.X * joined([taken[..., i, None] * np.ones(WHERE) for i in range(count)])
    X = Sweep(roughly(kinds, given, X, places, taken, min(count - 1, ROUGHLY), asked), kinds).X
    stopped = _stopped(chain, X, without)
    again = asked & stopped & _several(touching(was.X, count))
    step, both = partial(_taken_up, kinds), joined([chain.given, was.X])
    for sweeps, cosine in AGAIN:
        found = iterate(step, joined([X, 0.0 * X[..., :1] + 1.0]), both, sweeps, where=again)
        X, again = found[..., :-1], again & (found[..., -1] < cosine)
    return X, [x & ~stopped for x in without], (asked & ~stopped) | again


def _taken_up(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """X after one more rough sweep over all surfaces, and the cosine by which it is off the X of another path.

    given: the numbers of a `Chain` over all, and that X.
    """
    count = len(kinds)
    chain, other = Chain(kinds, given[..., : -WHERE * count]), given[..., -WHERE * count :]
    places, taken = chain.given[..., -2 * count : -count], chain.given[..., -count:]
    bare = chain.given[..., : -2 * count]
    X = Sweep(roughly(kinds, bare, state[..., :-1], places, taken, 1, taken[..., 0] > 0), kinds).X
    return joined([X, _cosine(chain, X, other)[..., None]])


def _taken(without: list[Array]) -> Array:
    """(..., k) 1 for each surface that the path does not do without."""
    return joined([np.where(x, 0.0, 1.0)[..., None] for x in without])


def _cosine(chain: Chain, X: Array, Y: Array) -> Array:
    """(...) the least cosine of the angles between a surface's normals where two paths that both touch it come onto it,
    or leave it."""
    count, least = len(chain.kinds), 1.0 + 0.0 * X[..., 0]
    on = [a & b for a, b in zip(touching(X, count), touching(Y, count), strict=True)]
    for leaving in (False, True):
        ends = points(X, count, leaving), points(Y, count, leaving)
        for placed, x, y, here in zip(chain.surfaces(), *ends, on, strict=True):
            n, m = (placed.wrap.normal(placed.seen(p)) for p in (x, y))
            square = np.where(here, dot(n, n) * dot(m, m), 1.0)
            least = np.where(here, np.minimum(least, dot(n, m) / np.sqrt(square)), least)
    return least


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
