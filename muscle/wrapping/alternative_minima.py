"""Other taut paths between the same ends: of a path that was found and its rivals, the shortest.

A path over several surfaces may be taut and not the shortest, which may pass an ellipsoid on the other way, or do
without a surface: one that is passed on its side alone is touched or not according to where the path comes from, and so
may keep the path on another surface that leads it there. A path is therefore looked for on the other way past each
ellipsoid, and without each one-sided surface, where rough sweeps tell that the path would not touch it then. Where it
would, it takes this surface up again, and may come to lie on the other side of it, or on another flank of one that is
round: where a surface that is passed on a side alone leads the path on, both ways may be taut.

Past several surfaces without a side, spheres and ellipsoids, the length has few local minima, which differ in the side
on which each is passed. They are looked for from initial guesses that pass one surface in a plane through a line: the
line between its neighbours on the path, or between the ends of the path. The lengths of guesses in PLANES at equal
angles are compared, and the minimization starts only from local minima among them, and beside a saddle point.
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
    Path,
    Sweep,
    length,
    path_length,
    path_of,
    points,
    round_ones,
    touching,
    two_ways,
)
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.outer_iterations import HELD, HELD_LONG, roughly, tightened
from myoquat.muscle.wrapping.surface_order import moved
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.planar_paths import Chord
from myoquat.muscle.wrapping.surfaces.vectors import dot, nearest

__all__ = ["shortest"]

ROUGHLY = 3  # sweeps without a surface, at most: over one other a single one is enough
PLANES = 8  # of initial guesses through one line, at equal angles
NEIGHBOURS, ENDS = 1.0, 0.0  # which points the line connects: the surface's neighbours on the path, or its ends
LINES = NEIGHBOURS, ENDS
MAX_SADDLE_RATIO = 0.1  # rise of the length over one plane to that over two; 0.29 for a cosine, less at a saddle point
MAX_GUESS_RATIO = 1.1  # length of an initial guess to that of the path found: a longer guess is not used
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
    to_do = joined([np.where(x & where, 1.0, 0.0)[..., None] for x in _to_do(Chain(kinds, all_of_them), found, where)])
    count = to_do.shape[-1]
    begin = joined([found, _next(to_do, float(count + 1) + 0.0 * found[..., 0])[..., None]])
    step = partial(_either, kinds)
    return iterate(step, begin, joined([to_do, given, places]), count, left=-1)[..., :-1]


def _to_do(chain: Chain, found: Array, where: Array) -> list[Array]:
    """(...) each, whether the attempt of a number, from 1 on, is made: without each one-sided surface, on the other way
    past each with two, and from each tilted start, where the path touches these."""
    kinds = chain.kinds
    on = touching(Sweep(found, kinds).X, len(kinds))
    several = _several(on)
    tilted = [several & x for x in _promising(chain, Sweep(found, kinds), several & where)]
    return [*(on[i] for i in _one_sided(kinds)), *(several & on[i] for i in two_ways(kinds)), *tilted]


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
    X, there, tilted, how = _from_tilted(chain, was, number, X, there)
    taken = _taken(without)
    found, _ = tightened(kinds, given, X, places, taken, how, there)
    sweep = Sweep(found, kinds)
    taut = there & ~sweep.unsolved & ~_wanted(sweep, without) & ~_passes_over(sweep, was)
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
    step, both = partial(_taken_up, kinds), joined([chain.given, was.X, 0.0 * X[..., :1] + HELD])
    for sweeps, cosine in AGAIN:
        found = iterate(step, joined([X, 0.0 * X[..., :1] + np.array([0.0, 1.0])]), both, sweeps, where=again)
        X, again = found[..., :-2], again & (found[..., -1] < cosine)
    return X, [x & ~stopped for x in without], (asked & ~stopped) | again


def _from_tilted(chain: Chain, was: Sweep, number: Array, X: Array, there: Array) -> tuple[Array, Array, Array, Array]:
    """X of the initial guess of the attempt of a `number`, `there` (...) whether it is used, whether it is tilted, and
    how its ways past surfaces are kept.

    X and `there` are returned as they are where the attempt has no tilted initial guess. A tilted one is not used where
    a few rough iterations lead to the path that was found, or leave a path that is longer by MAX_LENGTH_RATIO. No
    iteration makes a path longer, so a path that is shorter already cannot lead back.
    """
    kinds, count, own = chain.kinds, len(chain.kinds), length(chain, was)
    Y, tilted, how = X, there & ~there, 0.0 * number + HELD
    first = len(_one_sided(kinds)) + len(two_ways(kinds)) + 1
    for i in round_ones(kinds):
        mine = [(number == float(n), line, part) for n, (j, line, part) in enumerate(_tilts(kinds), first) if i == j]
        line, part = (sum((np.where(x[0], x[n], 0.0) for x in mine), 0.0 * number) for n in (1, 2))
        path, _, exists = _tilted_start(chain, was.X, i, line, part, reduce(or_, [x[0] for x in mine]))
        Y, tilted = np.where(exists[..., None], _x_of(path), Y), tilted | exists
        how = np.where(exists & (line == ENDS), HELD_LONG, how)
    used, step, both = tilted, partial(_taken_up, kinds), joined([chain.given, was.X, how[..., None]])
    for iterations, cosine in ITERATIONS:
        found = iterate(step, joined([Y, 0.0 * Y[..., :1] * np.ones(2)]), both, iterations, where=used)
        Y, shorter, alike = found[..., :-2], found[..., -2] < own - ALIKE, found[..., -1] > cosine
        changed = np.sum(np.abs(Y[..., 3::WHERE] - was.X[..., 3::WHERE]), axis=-1) > 0
        used = used & (changed | shorter | ~alike)
    bare, places = chain.given[..., : -2 * count], chain.given[..., -2 * count : -count]
    last = Sweep(roughly(kinds, bare, Y, places, chain.given[..., -count:], 1, used, how), kinds)
    used = used & (length(chain, last) < MAX_LENGTH_RATIO * own)
    return np.where(tilted[..., None], last.X, X), there | used, tilted, how


def _tilted_start(chain: Chain, X: Array, i: int, line: Array, part: Array, where: Array) -> tuple[Path, Array, Array]:
    """An initial guess that passes the surface of number i in a plane; its length (...) [m]; and (...) whether there is
    one.

    The plane is turned about a line by a `part` (...) of a turn. line (...): NEIGHBOURS or ENDS, on the path X. where
    (...): only there it is asked.

    The other surfaces are solved once, in the order of the list: an iteration from the first one would lose the tilt.
    """
    count, placed = len(chain.kinds), chain.surfaces()[i]
    P, Q, on = path_of(X * line[..., None], count)
    start, end = chain.ends
    ends = before(chain.places, on, i, Q, start), after(chain.places, on, i, P, end)
    given = joined([*(placed.seen(x) for x in ends), part[..., None], placed.numbers])
    found = iterate(partial(_tilted, placed.kind), 0.0 * given[..., :1] * np.ones(WHERE + 1), given, 1, where=where)
    exists = where & (found[..., 3] > 0)
    near, arcs = nowhere(0.0 * part, exists | ~exists), [found[..., WHERE]] * count
    P[i], Q[i], on[i] = placed.in_world(found[..., :3]), placed.in_world(found[..., 4:7]), exists
    for j, other in enumerate(chain.surfaces()):
        if j != i:
            c = Touch.unpacked(chain.met(j, (P, Q, on), near, exists))
            P[j], Q[j], on[j], arcs[j] = other.in_world(c.P), other.in_world(c.Q), c.on, c.arc
    return (P, Q, on), path_length(chain, (P, Q, on), arcs), exists


def _tilted(kind: Wrap, _: Array, given: Array) -> Array:
    """(..., WHERE + 1) where a plane path comes onto a surface with half axes, in its frame; 1 if the straight line
    between its ends runs into the surface; where the path leaves it, and its length on it [m].

    given: both ends, the part of a turn by which its plane is turned from the one through the centre, and the surface's
    numbers.
    """
    axes = kind.shaped(given[..., 7:]).half_axes
    if axes is None:
        raise TypeError(f"a {kind.kind} with a side has no half axes")
    a, b, angle = given[..., 0:3] / axes, given[..., 3:6] / axes, 2 * np.pi * given[..., 6]
    x = nearest(a, b)
    through = (dot(x, x) < 1.0) & (dot(a, a) > 1.0) & (dot(b, b) > 1.0)
    a, b = (np.where(through[..., None], y, np.array(far)) for y, far in ((a, (2.0, 0.5, 0.0)), (b, (-2.0, 0.5, 0.0))))
    chord = Chord.between(a, b, axes)
    bow = chord.bow(np.cos(angle), np.sin(angle))
    P, Q = chord.ends_of(bow)
    return joined([P * axes, np.where(through, 1.0, 0.0)[..., None], Q * axes, bow.arc[..., None]])


def _promising(chain: Chain, found: Sweep, where: Array) -> list[Array]:
    """(...) each, whether the minimization starts from an initial guess of `_tilts`, `where` (...) it may: where the
    guess is shorter than those in the planes beside it, or beside the plane of a path that lies at a saddle point.

    The plane through the neighbours and the centre holds the path found, or nearly so, and is left out.
    """
    kinds, own, result = chain.kinds, length(chain, found), []
    begin = 0.0 * found.X[..., :1] * np.ones(len(_tilts(kinds)) + 1)
    lengths = iterate(partial(_compared, kinds), begin, joined([chain.given, found.X]), PLANES, where=where)
    for first in range(0, len(_tilts(kinds)), PLANES):
        l, line = [lengths[..., first + k] for k in range(PLANES)], _tilts(kinds)[first][1]
        chosen = [(l[k] < l[k - 1]) & (l[k] <= l[(k + 1) % PLANES]) for k in range(PLANES)]
        if line == NEIGHBOURS:
            chosen[0] = where & ~where
            for way in (1, -1):
                chosen[way] = chosen[way] | (l[way] - l[0] < MAX_SADDLE_RATIO * (l[2 * way] - l[0]))
        result += [x & (y < MAX_GUESS_RATIO * own) for x, y in zip(chosen, l, strict=True)]
    return result


def _compared(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The lengths [m] of the initial guesses of `_tilts`, those in one plane more than before, zero where none is;
    and the number of planes that are done."""
    count, number = len(kinds), state[..., -1]
    chain, X = Chain(kinds, given[..., : -WHERE * count]), given[..., -WHERE * count :]
    on, found = touching(X, count), []
    for first in range(0, len(_tilts(kinds)), PLANES):
        i, line, _ = _tilts(kinds)[first]
        _, own, exists = _tilted_start(chain, X, i, 0.0 * number + line, number / PLANES, on[i])
        here = (number[..., None] == np.arange(float(PLANES))) & exists[..., None]
        found.append(np.where(here, own[..., None], state[..., first : first + PLANES]))
    return joined([*found, (number + 1.0)[..., None]])


def _tilts(kinds: tuple[Wrap, ...]) -> list[tuple[int, float, float]]:
    """The tilted initial guesses: a surface's number, the line about which the plane is turned, and the part of a turn
    by which it is."""
    return [(i, line, number / PLANES) for i in round_ones(kinds) for line in LINES for number in range(PLANES)]


def _x_of(path: Path) -> Array:
    """(..., WHERE k) the X of a path."""
    P, Q, on = path
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in on]
    return joined([x for p, q, flag in zip(P, Q, flags, strict=True) for x in (flag * p, flag, flag * q)])


def _taken_up(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """X after one more rough sweep over all surfaces, the length of its path [m], and the cosine by which it is off the
    X of another path.

    given: the numbers of a `Chain` over all, that X, and how the ways past surfaces are kept.
    """
    count = len(kinds)
    chain, other = Chain(kinds, given[..., : -WHERE * count - 1]), given[..., -WHERE * count - 1 : -1]
    places, taken = chain.given[..., -2 * count : -count], chain.given[..., -count:]
    bare = chain.given[..., : -2 * count]
    sweep = Sweep(roughly(kinds, bare, state[..., :-2], places, taken, 1, taken[..., 0] > 0, given[..., -1]), kinds)
    numbers = length(chain, sweep), _cosine(chain, sweep.X, other)
    return joined([sweep.X, *(x[..., None] for x in numbers)])


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


def _passes_over(sweep: Sweep, was: Sweep) -> Array:
    """(...) whether the path passes over a surface that another path does not pass over."""
    return reduce(or_, [a.inside & ~b.inside for a, b in zip(sweep.contacts, was.contacts, strict=True)])


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
