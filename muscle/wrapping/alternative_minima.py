"""Other taut paths between the same ends: of a path that was found and its rivals, the shortest.

A path over several surfaces may be taut and not the shortest, which may pass an ellipsoid on the other way, or do
without a surface: one that is passed on its side alone is touched or not according to where the path comes from, and so
may keep the path on another surface that leads it there. A path is therefore looked for on the other way past each
ellipsoid, and without each one-sided surface, where rough sweeps tell that the path would not touch it then. Where it
would, it takes this surface up again, and may come to lie on the other side of it, or on another flank of one that is
round: where a surface that is passed on a side alone leads the path on, both ways may be taut.

Past several surfaces without a side, spheres and ellipsoids, the length has few local minima, which differ in the side
on which each is passed. They are looked for from an initial guess over each surface alone, and from guesses that pass
one of them in a plane turned by a right angle, either way, or by two.
"""

from dataclasses import replace
from functools import partial, reduce
from operator import add, or_

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.contact_solve import Touch, nowhere
from myoquat.muscle.wrapping.fixed_point_iteration import (
    WHERE,
    Chain,
    Sweep,
    length,
    path_of,
    points,
    round_ones,
    touching,
    two_ways,
)
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.outer_iterations import HELD, roughly, tightened
from myoquat.muscle.wrapping.surface_order import moved
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.planar_paths import Bow, Chord
from myoquat.muscle.wrapping.surfaces.vectors import dot, nearest

__all__ = ["shortest"]

ROUGHLY = 3  # sweeps without a surface, at most: over one other a single one is enough
ALONE = 0.0  # instead of an angle: the initial guess touches one surface alone
TILTS = ALONE, 2.0, 1.0, -1.0  # right angles by which the plane of a path is turned at a surface
TILTS_OF_ONE = 1.0, -1.0  # where only one surface has no side
ITERATIONS = (1, 0.995), (1, 0.98)  # rough ones from there; cosine of the angle beyond which it is the path found
MAX_LENGTH_RATIO = 1.01  # of a path after these to the path found: a longer one is given up
AGAIN = (1, 0.8), (2, 0.95)  # sweeps with it again; and cosine of the angle between normals, beyond which paths differ
ALIKE = 1e-8  # [m] by which the lengths of two paths differ that are one


def shortest(kinds: tuple[Wrap, ...], found: Array, given: Array, places: Array, where: Array) -> Array:
    """The numbers of a `Sweep` of the shortest of the path that was found, also as such, and its rivals, `where` (...)
    it is sure. Where there is a rival the length may jump between poses beside each other: at one of them the rival
    may not be found.

    given, places: as for `tightened`.
    """
    if not (_one_sided(kinds) or round_ones(kinds)):
        return found
    all_of_them = joined([given, places, 0.0 * places + 1.0])
    to_do = joined([np.where(x & where, 1.0, 0.0)[..., None] for x in _to_do(Chain(kinds, all_of_them), found)])
    count = to_do.shape[-1]
    begin = joined([found, _next(to_do, float(count + 1) + 0.0 * found[..., 0])[..., None]])
    step = partial(_either, kinds)
    return iterate(step, begin, joined([to_do, given, places]), count, left=-1)[..., :-1]


def _to_do(chain: Chain, found: Array) -> list[Array]:
    """(...) each, whether the attempt of a number, from 1 on, is made: without each one-sided surface, on the other way
    past each with two, and from each tilted start, where the path touches these."""
    kinds = chain.kinds
    on = touching(Sweep(found, kinds).X, len(kinds))
    several = _several(on)
    turned, tilted = two_ways(kinds), [i for i, _ in _tilts(kinds)]
    return [*(on[i] for i in _one_sided(kinds)), *(several & on[i] for i in (*turned, *tilted))]


def _next(to_do: Array, before: Array) -> Array:
    """(...) the greatest number of an attempt to be made that is less than the one `before`; 0 where there is none."""
    numbers = [np.where((to_do[..., n] > 0) & (before > n + 1.0), n + 1.0, 0.0) for n in range(to_do.shape[-1])]
    result: Array = reduce(np.maximum, numbers)
    return result


def _either(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of a `Sweep` of the shorter one of a path and a rival, and the number of the next attempt."""
    count, was, number = len(kinds), Sweep(state[..., :-1], kinds), state[..., -1]
    attempts = len(_one_sided(kinds)) + len(two_ways(kinds)) + len(_tilts(kinds))
    to_do, given, places = given[..., :attempts], given[..., attempts:-count], given[..., -count:]
    all_of_them = 0.0 * places + 1.0
    chain = Chain(kinds, joined([given, places, all_of_them]))
    on = touching(was.X, count)
    X, without, there = _begun(chain, was, _without(kinds, on, number))
    for n, i in enumerate(two_ways(kinds), len(_one_sided(kinds)) + 1):
        other, exists = _turned(chain, was.X, i, _several(on) & (number == float(n)))
        X, there = np.where(exists[..., None], other, X), there | exists
    X, there, tilted = _from_tilted(chain, was, number, X, there)
    taken = _taken(without)
    found, _ = tightened(kinds, given, X, places, taken, 0.0 * number + HELD, there)
    sweep = Sweep(found, kinds)
    taut = there & ~sweep.unsolved & ~_wanted(sweep, without)
    _, cut = moved(Chain(kinds, joined([given, places, np.where(taut[..., None], all_of_them, 0.0)])), sweep.X)
    longer = np.where(taut & (np.sum(cut, axis=-1) <= 0), length(chain, was) - length(chain, sweep), 0.0)
    shorter = Sweep(np.where((longer > 0)[..., None], found, was.numbers), kinds)
    told = (longer > ALIKE) | (~tilted & (longer < -ALIKE))
    return joined([shorter.beside_a_jump(told).numbers, _next(to_do, number)[..., None]])


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


def _from_tilted(chain: Chain, was: Sweep, number: Array, X: Array, there: Array) -> tuple[Array, Array, Array]:
    """X of the initial guess of the attempt of a `number`, `there` (...) whether it is used, and whether it is tilted.

    X and `there` are returned as they are where the attempt has no tilted initial guess. A tilted one is not used where
    a few rough iterations lead to the path that was found, or leave a path that is longer by MAX_LENGTH_RATIO.
    """
    kinds, count = chain.kinds, len(chain.kinds)
    Y, tilted = X, there & ~there
    first = len(_one_sided(kinds)) + len(two_ways(kinds)) + 1
    for i in round_ones(kinds):
        mine = [(number == float(n), turns) for n, (j, turns) in enumerate(_tilts(kinds), first) if i == j]
        turns = sum((np.where(here, x, 0.0) for here, x in mine), 0.0 * number)
        start, exists = _tilted_start(chain, was.X, i, turns, reduce(or_, [here for here, _ in mine]))
        Y, tilted = np.where(exists[..., None], start, Y), tilted | exists
    used, step, both = tilted, partial(_taken_up, kinds), joined([chain.given, was.X])
    for iterations, cosine in ITERATIONS:
        found = iterate(step, joined([Y, 0.0 * Y[..., :1]]), both, iterations, where=used)
        Y, alike = found[..., :-1], found[..., -1] > cosine
        changed = np.sum(np.abs(Y[..., 3::WHERE] - was.X[..., 3::WHERE]), axis=-1) > 0
        used = used & (changed | ~alike)
    bare, places = chain.given[..., : -2 * count], chain.given[..., -2 * count : -count]
    last = Sweep(roughly(kinds, bare, Y, places, chain.given[..., -count:], 1, used), kinds)
    used = used & (length(chain, last) < MAX_LENGTH_RATIO * length(chain, was))
    return np.where(tilted[..., None], last.X, X), there | used, tilted


def _tilted_start(chain: Chain, X: Array, i: int, turns: Array, where: Array) -> tuple[Array, Array]:
    """(..., WHERE k) the X of an initial guess that passes the surface of number i in a plane turned about the line
    between its neighbours on the path X, by so many right angles, `turns` (...); and (...) whether there is one.

    Where `turns` is ALONE, the neighbours are the ends of the path. where (...): only there it is asked.

    The other surfaces are solved once, in the order of the list: an iteration from the first one would lose the tilt.
    """
    count, placed = len(chain.kinds), chain.surfaces()[i]
    kept = np.where(turns == ALONE, 0.0, 1.0)[..., None]
    P, Q, on = path_of(joined([X[..., : WHERE * i] * kept, X[..., WHERE * i :] * kept]), count)
    start, end = chain.ends
    ends = before(chain.places, on, i, Q, start), after(chain.places, on, i, P, end)
    given = joined([*(placed.seen(x) for x in ends), turns[..., None], placed.numbers])
    found = iterate(partial(_tilted, placed.kind), 0.0 * given[..., :1] * np.ones(WHERE), given, 1, where=where)
    exists = where & (found[..., 3] > 0)
    near = nowhere(0.0 * turns, exists | ~exists)
    P[i], Q[i], on[i] = placed.in_world(found[..., :3]), placed.in_world(found[..., 4:]), exists
    for j, other in enumerate(chain.surfaces()):
        if j != i:
            c = Touch.unpacked(chain.met(j, (P, Q, on), near, exists))
            P[j], Q[j], on[j] = other.in_world(c.P), other.in_world(c.Q), c.on
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in on]
    return joined([x for p, q, flag in zip(P, Q, flags, strict=True) for x in (flag * p, flag, flag * q)]), exists


def _tilted(kind: Wrap, _: Array, given: Array) -> Array:
    """(..., WHERE) where a plane path comes onto a surface with half axes, in its frame; 1 if the straight line between
    its ends runs into the surface; and where the path leaves it.

    given: both ends, the right angles by which its plane is turned from the one through the centre, and the surface's
    numbers.
    """
    axes = kind.shaped(given[..., 7:]).half_axes
    if axes is None:
        raise TypeError(f"a {kind.kind} with a side has no half axes")
    a, b, turns = given[..., 0:3] / axes, given[..., 3:6] / axes, given[..., 6]
    x = nearest(a, b)
    through = (dot(x, x) < 1.0) & (dot(a, a) > 1.0) & (dot(b, b) > 1.0)
    a, b = (np.where(through[..., None], y, np.array(far)) for y, far in ((a, (2.0, 0.5, 0.0)), (b, (-2.0, 0.5, 0.0))))
    cos, sin = 1.0 - np.abs(turns), turns * (2.0 - np.abs(turns))
    P, Q = Chord.between(a, b, 1.0 + 0.0 * axes).ends_of(Bow(cos, sin, 0.0 * cos, 0.0 * cos))
    return joined([P * axes, np.where(through, 1.0, 0.0)[..., None], Q * axes])


def _tilts(kinds: tuple[Wrap, ...]) -> list[tuple[int, float]]:
    """The tilted initial guesses: a surface's number and right angles each."""
    without_side = round_ones(kinds)
    return [(i, tilt) for i in without_side for tilt in (TILTS if len(without_side) > 1 else TILTS_OF_ONE)]


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
