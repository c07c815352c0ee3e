"""Sweeps over the surfaces of a piece of a path, each solved between its neighbours.

Let X hold, for every surface, the points where the path comes onto it and leaves it, and whether it is touched. A
*sweep* Phi(X) solves one surface after the other between its neighbours on the path, where it left the last one that is
touched and comes onto the next: the path touches it there or passes it by. No sweep makes the path longer, so sweeps
pull the string taut. A displacement of X along the path changes nothing to first order, so Phi removes it; across the
path Phi converges only linearly, which Anderson's method makes faster with one sweep in memory (D. G. Anderson, J. ACM
12, 547, 1965).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.contact_solve import JUMP, SIZE, START, Touch, nowhere, packed_near, touched, unpacked_near
from myoquat.muscle.wrapping.geodesic_segments import Placed
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.surfaces.base import Near, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import size

__all__ = [
    "SETTLED",
    "SOLVED",
    "WHERE",
    "Chain",
    "Path",
    "Sweep",
    "at_rest",
    "at_start",
    "drawn",
    "fewer",
    "length",
    "path_length",
    "path_of",
    "points",
    "round_ones",
    "swept",
    "touching",
    "two_ways",
    "unswept",
]

BEYOND, BETWEEN = 4.0, 0.5  # how far sweeps are drawn on, or back, of the way between two
WHERE = 7  # numbers of X for each surface
MEMORY = 3 * WHERE  # numbers of the sweep before, for each surface
WATCHED = 4  # sweeps in which what is touched went on changing
SETTLED = 1e-10  # [m] by which the last sweep may move X
SOLVED = 1e-9  # [m] by which X may miss Phi(X)
Path = tuple[list[Array], list[Array], list[Array]]  # of all surfaces, P and Q (..., 3), and whether they are touched
FAINT = 2.0**-40  # so little of a number that its changes do not count as moves


@dataclass(frozen=True)
class Sweep:
    """The numbers of a sweep (..., n): X (..., WHERE k), where the path comes onto each surface and leaves it, in the
    world, and 1 where it touches it; the contacts in the surfaces' frames; how far X was from where it came out; and,
    times FAINT, what it moved, and the X and the moves of the sweep before, zero where there was none."""

    numbers: Array
    kinds: tuple[Wrap, ...]

    @property
    def X(self) -> Array:
        return self.numbers[..., : WHERE * len(self.kinds)]

    @property
    def contacts(self) -> list[Touch]:
        rest = self.numbers[..., WHERE * len(self.kinds) :]
        return [Touch.unpacked(rest[..., SIZE * i : SIZE * (i + 1)]) for i in range(len(self.kinds))]

    @property
    def moved(self) -> Array:
        """(...) [m] how far X was from where it came out."""
        result: Array = self.numbers[..., (WHERE + SIZE) * len(self.kinds)] / FAINT
        return result

    def beside_a_jump(self, where: Array) -> "Sweep":
        """The same whose length may jump here, `where` (...) that is so."""
        kept = np.ones(self.numbers.shape[-1])
        for i in range(len(self.kinds)):
            kept[WHERE * len(self.kinds) + SIZE * i :][JUMP] = 0.0
        return Sweep(np.where(where[..., None], self.numbers * kept, self.numbers), self.kinds)

    @property
    def unsolved(self) -> Array:
        """(...) whether X is no solution, or the contact of a surface is none."""
        missed = np.logical_not(self.moved <= SOLVED)
        for contact in self.contacts:
            missed = missed | np.logical_not(contact.missed <= SOLVED)
        return missed


@dataclass(frozen=True)
class Chain:
    """Surfaces by their prototypes, and all numbers of a piece as one array: its ends, then of every surface the axes
    and the origin of its frame in the world, and its numbers; its place along the path; and 1 if it is not passed
    over."""

    kinds: tuple[Wrap, ...]
    given: Array

    @property
    def ends(self) -> tuple[Array, Array]:
        """(..., 3) each."""
        return self.given[..., 0:3], self.given[..., 3:6]

    @property
    def places(self) -> list[Array]:
        """(...) each, where along the path the surfaces come."""
        return [self.given[..., i - 2 * len(self.kinds)] for i in range(len(self.kinds))]

    @property
    def taken(self) -> list[Array]:
        """(...) each, whether a surface is not passed over."""
        return [self.given[..., i - len(self.kinds)] > 0 for i in range(len(self.kinds))]

    def surfaces(self) -> list[Placed]:
        """Each where it is."""
        found, first = [], 6
        for kind in self.kinds:
            last = first + 12 + len(kind.numbers())
            found.append(Placed(kind, self.given[..., first:last]))
            first = last
        return found

    def hides(self, number: int, x: Array) -> Array:
        """(...) whether a point (..., 3) lies inside a surface other than the one of this number."""
        found = [
            placed.wrap.holds(placed.seen(x)) & taken
            for i, (placed, taken) in enumerate(zip(self.surfaces(), self.taken, strict=True))
            if i != number
        ]
        return reduce(or_, found)

    def met(self, number: int, path: Path, near: Near, where: Array | bool = True) -> Array:
        """(..., SIZE) the numbers of the touch of a surface between its neighbours on a path, `where` it is asked."""
        (P, Q, on), (start, end), placed = path, self.ends, self.surfaces()[number]
        ends = before(self.places, on, number, Q, start), after(self.places, on, number, P, end)
        A, B, *line = (placed.seen(x) for x in (*ends, start, end))
        return touched(placed.kind, placed.numbers, (A, B), (line[0], line[1]), near, where)

    def sweep(self, X: Array, near: Sequence[Near]) -> Array:
        """The numbers of a sweep from X, each surface solved from near a contact."""
        P, Q, on = path_of(X, len(self.kinds))
        found: list[Array] = []
        Y: list[Array] = []
        for i, (placed, taken, begin) in enumerate(zip(self.surfaces(), self.taken, near, strict=True)):
            contact = self.met(i, (P, Q, on), begin)
            c = Touch.unpacked(contact).passed_over(~taken)
            found.append(c.packed(contact))
            here = c.on[..., None]
            P[i], Q[i], on[i] = (*(np.where(here, placed.in_world(x), 0.0) for x in (c.P, c.Q)), c.on)
            Y += [P[i], np.where(here, 1.0, 0.0), Q[i]]
        r = joined(Y) - X
        return joined([*Y, *found, FAINT * np.sqrt(np.sum(r * r, axis=-1))[..., None]])


def length(chain: Chain, sweep: Sweep) -> Array:
    """(...) [m] of the path of a sweep."""
    return path_length(chain, path_of(sweep.X, len(chain.kinds)), [c.arc for c in sweep.contacts])


def path_length(chain: Chain, path: Path, arcs: Sequence[Array]) -> Array:
    """(...) [m] of a path, from the lengths of its geodesics on the surfaces, `arcs` (...) [m]."""
    (start, end), count = chain.ends, len(chain.kinds)
    P, Q, on = path
    places, P, Q, on = [*chain.places, chain.places[0] + count], [*P, end], [*Q, end], [*on, on[0]]
    pieces = [np.where(on[i], arcs[i] + size(P[i] - before(places, on, i, Q, start)), 0.0) for i in range(count)]
    return sum(pieces, size(end - before(places, on, count, Q, start)))


def swept(
    kinds: tuple[Wrap, ...],
    X: Array,
    given: Array,
    near: Sequence[Near] = (),
    rough: Array | bool = False,
    held: Array | None = None,
) -> Array:
    """The numbers of a `Sweep` without those of the sweep before: `Chain.sweep`, which stands once in a kernel for all
    sweeps over the same kinds.

    given: the numbers of a `Chain`. near: where solvers begin. rough (...): where their first guess will do. held
    (...): where the path keeps the way past a surface on which it is.
    """
    none = 0.0 * X[..., 0]
    begin = [packed_near(x) for x in near or _unknown(kinds, X, given, (none <= 0) & rough, held)]
    numbers = none[..., None] * np.ones((WHERE + SIZE) * len(kinds) + 1)
    return iterate(partial(_swept, kinds), numbers, joined([X, *begin, given]), 1)


def _unknown(kinds: tuple[Wrap, ...], X: Array, given: Array, rough: Array, held: Array | None) -> list[Near]:
    """Where solvers begin that know nothing, or the way past a surface on which the path is."""
    count = len(kinds)
    found = [nowhere(0.0 * X[..., 0], rough)] * count
    if held is not None:
        P, on, surfaces = points(X, count), touching(X, count), Chain(kinds, given).surfaces()
        for i in two_ways(kinds):
            found[i] = replace(found[i], P=surfaces[i].seen(P[i]), way=np.where(on[i], held, 0.0))
    return found


def _swept(kinds: tuple[Wrap, ...], before: Array, given: Array) -> Array:
    """The numbers of a sweep from X and from what is near, which stand in front of the given ones."""
    count = len(kinds)
    first, last = WHERE * count, (WHERE + START) * count
    near = [unpacked_near(given[..., i : i + START]) for i in range(first, last, START)]
    return Chain(kinds, given[..., last:]).sweep(given[..., :first], near)


def drawn(kinds: tuple[Wrap, ...], state: Array, given: Array, held: Array) -> Array:
    """The numbers of Phi(X), X being drawn on from the last two sweeps where both touch the same surfaces."""
    X, k = Sweep(state, kinds).X, len(kinds)
    r, X_before, r_before = (x / FAINT for x in np.split(state[..., -MEMORY * k :], 3, axis=-1))
    better = _accelerated(X, r, X_before, r_before)
    numbers = swept(kinds, better, given, held=held)
    return joined([numbers, *(FAINT * x for x in (Sweep(numbers, kinds).X - better, X, r))])


def unswept(given: Array, count: int) -> Array:
    """The numbers of a `Sweep` over so many surfaces before the first, where none is touched; for each of a batch."""
    return at_rest(0.0 * given[..., :1] * np.ones((WHERE + SIZE) * count + 1), count)


def at_start(X: Array, count: int) -> Array:
    """The numbers of a `Sweep` over so many surfaces whose X is given, and nothing else."""
    return at_rest(joined([X, 0.0 * X[..., :1] * np.ones(SIZE * count + 1)]), count)


def at_rest(numbers: Array, count: int) -> Array:
    """The numbers of a `Sweep` over so many surfaces from its own, as though there had been none before it."""
    return joined([numbers, 0.0 * numbers[..., :1] * np.ones(MEMORY * count)])


def fewer(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """X after some sweeps, and 1 for each surface that is not passed over: where what is touched goes on changing, one
    more is. It is the first whose contact lies inside another one, or else the first that was touched and then not.

    given: the numbers of a `Chain` but the last, and 1 where rough sweeps tell.
    """
    count = len(kinds)
    X, taken, rough = state[..., : WHERE * count], state[..., WHERE * count :], given[..., -1] > 0
    begin = joined([X, 0.0 * X[..., :1] * np.ones(2 * count)])
    whole = joined([given[..., :-1], taken, np.where(rough, 1.0, 0.0)[..., None]])
    found = iterate(partial(_watched, kinds), begin, whole, WATCHED)
    X, flags = found[..., : -2 * count], [found[..., i - 2 * count] > 0 for i in range(2 * count)]
    hidden, lost = flags[:count], flags[count:]
    some_hidden, settled = reduce(or_, hidden), ~reduce(or_, lost)
    kept = []
    for i in range(count):
        passed = ~settled & np.where(some_hidden, hidden[i], lost[i])
        settled = settled | passed
        kept.append(np.where(passed, 0.0, taken[..., i])[..., None])
    return joined([X, *kept])


def _watched(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """X after a sweep more, and 1 for each surface that was touched inside another one, and for each that was touched
    and then not."""
    count, rough = len(kinds), given[..., -1] > 0
    chain, X, told = Chain(kinds, given[..., :-1]), state[..., : -2 * count], state[..., -2 * count :]
    after = Sweep(swept(kinds, X, chain.given, rough=rough), kinds).X
    before, on = touching(X, count), touching(after, count)
    hidden = [here & chain.hides(i, P) for i, (here, P) in enumerate(zip(before, points(X, count), strict=True))]
    lost = [a & ~b for a, b in zip(before, on, strict=True)]
    now = joined([np.where(x, 1.0, 0.0)[..., None] for x in (*hidden, *lost)])
    return joined([after, np.maximum(told, now)])


def two_ways(kinds: tuple[Wrap, ...]) -> list[int]:
    """The numbers of the surfaces that a path may pass on two ways."""
    return [i for i, kind in enumerate(kinds) if kind.both_ways]


def round_ones(kinds: tuple[Wrap, ...]) -> list[int]:
    """The numbers of the surfaces without a side: spheres and ellipsoids that a path may pass anywhere around."""
    return [i for i, kind in enumerate(kinds) if kind.half_axes is not None]


def touching(X: Array, count: int) -> list[Array]:
    """(...) each, whether the path touches a surface."""
    return [X[..., WHERE * i + 3] > 0 for i in range(count)]


def path_of(X: Array, count: int) -> Path:
    """Where the path comes onto the surfaces, where it leaves them, and which it touches."""
    return points(X, count), points(X, count, leaving=True), touching(X, count)


def points(X: Array, count: int, leaving: bool = False) -> list[Array]:
    """(..., 3) each, where the path comes onto the surfaces, or leaves them."""
    first = 4 if leaving else 0
    return [X[..., WHERE * i + first : WHERE * i + first + 3] for i in range(count)]


def _accelerated(X: Array, r: Array, X_before: Array, r_before: Array) -> Array:
    """Anderson's method with one sweep in memory: the X of the line through both sweeps whose move would be least."""
    d = r - r_before
    flags = [x[..., 3::WHERE] for x in (r, r_before, X - X_before)]
    steady = np.sum(sum(np.abs(x) for x in flags), axis=-1) <= 0.0
    square = np.where(steady, np.sum(d * d, axis=-1), 0.0)
    part = np.sum(r * d, axis=-1) / np.where(square > 0, square, 1.0)
    part = np.where(square > 0, np.minimum(np.maximum(part, -BEYOND), BETWEEN), 0.0)
    result: Array = X - part[..., None] * (X - X_before)
    return result
