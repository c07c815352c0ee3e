"""One piece of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours, and which surfaces are touched is part of the answer. Let X hold, for every surface, the point where the
path comes onto it, and whether it is touched. A *sweep* Phi(X) takes the surfaces in order and solves
each between its neighbours, the last point where the path left a surface and the next X of one that is touched: the
path touches it there or passes it by. No sweep makes the path longer, so sweeps pull the string taut. A displacement of
X along the path changes nothing to first order, so Phi removes it; across the path Phi converges only linearly, which
Anderson's method makes faster with one sweep in memory (D. G. Anderson, J. ACM 12, 547, 1965). Where that does not
settle, Newton's method, while the touched surfaces stay the same, takes the lateral directions b:

    X <- X + r + D (1 - b^T D)^-1 b^T r,    r = Phi(X) - X,    D = dPhi/dX b.

A. Scholz, M. Sherman, I. Stavness, S. Delp, A. Kecskemethy, A fast multi-obstacle muscle wrapping method using natural
geodesic variations, Multibody System Dynamics 36, 2016, solve the same problem by Newton's method on the conditions at
all tangent points, for given contacts; here each surface keeps its own solution, which leaves one unknown per surface
but the first.

No path touches all that it should where surfaces overlap, so that one would be touched inside another, or where a path
slips off the end of a cylinder only while another surface is touched: sweeps then go round in circles. There a surface
is passed over, one whose contact lies inside another before one that comes and goes, until what is left settles.

In a compiled kernel every kind of surface is one function (`touch`), and a sweep is one for all pieces over the same
kinds in the same order: the surfaces' places and numbers are data. k surfaces take at most ROUNDS (SWEEPS + STEPS
(k + 1)) + CHOICES WATCHED sweeps; most poses settle within a few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels import iterate
from myoquat.kernels.arrays import as_array
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Wrap
from myoquat.muscle.wrapping.sites import Poses, Site
from myoquat.muscle.wrapping.touch import SIZE, Touch, touched

__all__ = ["Piece", "alone", "taut"]

ROUNDS = 2  # of sweeps alone and then with Newton's method
SWEEPS = 8  # which mostly suffice
STEPS = 6  # of Newton's method, each with a sweep behind it that brings X back onto the surfaces
CHOICES = 6  # times that a surface is passed over, where no path touches all,
WATCHED = 4  # after so many sweeps in which what is touched went on changing
DIFFERENCE = 1e-6  # for slopes, of the distance between the ends
BEYOND, BETWEEN = 4.0, 0.5  # how far sweeps are drawn on, or back, of the way between two
MEMORY = 12  # numbers of the sweep before, for each surface
SETTLED = 1e-10  # [m] by which the last step may move X
SOLVED = 1e-9  # [m] by which X may miss Phi(X)
FAINT = 2.0**-40  # so little of a number that its changes do not count as moves


@dataclass(frozen=True)
class Piece:
    """A solved piece: contacts (in their bodies' frames) in the order of the path.

    unsolved (...): the path may not be the shortest, since a solver did not settle.
    """

    wraps: tuple[Wrap, ...] = ()
    contacts: tuple[Contact, ...] = ()
    unsolved: Array | bool = False


def alone(wrap: Wrap, contact: Contact) -> Piece:
    """The piece over one surface, from its contact in its body's frame."""
    return Piece((wrap,), (contact,), np.logical_not(contact.missed <= SOLVED))


def taut(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The taut path from `start` over several surfaces, in this order, to `end`, touching those that it must."""
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    kinds = tuple(wrap.prototype for wrap in wraps)
    given = joined([start.world, end.world, *(x for wrap in wraps for x in _placed(wrap, poses))])
    taken = 0.0 * given[..., :1] + np.ones(len(wraps))
    state = 0.0 * given[..., :1] * np.ones((4 + SIZE + MEMORY) * len(wraps) + 1)
    unsolved: Array | bool = True
    for again in range(ROUNDS):
        if again:
            start_again = joined([_Sweep(state, kinds).X, taken])
            taken = iterate(partial(_fewer, kinds), start_again, given, CHOICES, 0.0, unsolved)[..., 4 * len(wraps) :]
        whole = joined([given, taken])
        state = iterate(partial(_swept, kinds), state, whole, SWEEPS, SETTLED, unsolved)
        state = iterate(partial(_newton, kinds), state, whole, STEPS, SETTLED, _Sweep(state, kinds).unsolved)
        unsolved = _Sweep(state, kinds).unsolved
    contacts = tuple(_in_body(wrap, c) for wrap, c in zip(wraps, _Sweep(state, kinds).contacts, strict=True))
    return Piece(wraps, contacts, unsolved)


def _alone(wrap: Wrap, start: Site, end: Site, poses: Poses) -> Piece:
    """The path over one surface."""
    A, B = (wrap.seen(site.seen_from(poses, wrap.body)) for site in (start, end))
    if not wrap.solved:
        return Piece((wrap,), (_in_body(wrap, wrap.contact(A, B)),))
    numbers = np.stack([as_array(x) for x in wrap.numbers()], axis=-1)
    contact = Touch.unpacked(touched(wrap, numbers, (A, B), (A, B)))
    return Piece((wrap,), (_in_body(wrap, contact),), np.logical_not(contact.missed <= SOLVED))


def _in_body(wrap: Wrap, c: Contact) -> Contact:
    return Contact(c.on, wrap.in_body(c.P), wrap.in_body(c.Q), c.arc, c.inside, c.jump, c.missed)


def _placed(wrap: Wrap, poses: Poses) -> list[Array]:
    """The surface's frame in the world, row by row, its origin, and its numbers."""
    R, p = poses[wrap.body]
    axes = [wrap.direction_in_body(e) for e in np.eye(3)]
    columns = [matvec(R, axis) for axis in axes]
    return [*columns, p + matvec(R, as_array(wrap.position)), np.stack([as_array(x) for x in wrap.numbers()], axis=-1)]


@dataclass(frozen=True)
class _Sweep:
    """The numbers of a sweep (..., n): X (..., 4 k), where the path comes onto each surface, in the world, and 1 where
    it touches it; the contacts in the surfaces' frames; how far X was from where it came out; and, times FAINT, what it
    moved, and the X and the moves of the sweep before, zero where there was none."""

    numbers: Array
    kinds: tuple[Wrap, ...]

    @property
    def X(self) -> Array:
        return self.numbers[..., : 4 * len(self.kinds)]

    @property
    def contacts(self) -> list[Touch]:
        rest = self.numbers[..., 4 * len(self.kinds) :]
        return [Touch.unpacked(rest[..., SIZE * i : SIZE * (i + 1)]) for i in range(len(self.kinds))]

    @property
    def unsolved(self) -> Array:
        """(...) whether X is no solution, or the contact of a surface is none."""
        missed = np.logical_not(self.numbers[..., (4 + SIZE) * len(self.kinds)] <= SOLVED * FAINT)
        for contact in self.contacts:
            missed = missed | np.logical_not(contact.missed <= SOLVED)
        return missed


@dataclass(frozen=True)
class _Chain:
    """Surfaces by their prototypes, and all numbers of a piece as one array: its ends, then of every surface the axes
    and the origin of its frame in the world, and its numbers; and 1 for each that is not passed over."""

    kinds: tuple[Wrap, ...]
    given: Array

    @property
    def ends(self) -> tuple[Array, Array]:
        """(..., 3) each."""
        return self.given[..., 0:3], self.given[..., 3:6]

    @property
    def taken(self) -> list[Array]:
        """(...) each, whether a surface is not passed over."""
        return [self.given[..., i - len(self.kinds)] > 0 for i in range(len(self.kinds))]

    def surfaces(self) -> list[tuple[Wrap, Array, Array, Array]]:
        """Prototype, rows of the frame's axes (..., 3, 3), origin and numbers of each."""
        found, first = [], 6
        for kind in self.kinds:
            last = first + 12 + len(kind.numbers())
            x = self.given[..., first:last]
            rows = np.stack([x[..., 0:3], x[..., 3:6], x[..., 6:9]], axis=-2)
            found.append((kind, rows, x[..., 9:12], x[..., 12:]))
            first = last
        return found

    def hides(self, number: int, x: Array) -> Array:
        """(...) whether a point (..., 3) lies inside a surface other than the one of this number."""
        found = [
            kind.shaped(numbers).holds(matvec(axes, x - origin)) & taken
            for i, ((kind, axes, origin, numbers), taken) in enumerate(zip(self.surfaces(), self.taken, strict=True))
            if i != number
        ]
        return reduce(or_, found)

    def sweep(self, X: Array, frozen: bool = False) -> tuple[Array, list[Array]]:
        """The numbers of a sweep from X, and the directions across the path where it comes onto each surface, zero
        where it does not. frozen: what is touched stays touched, bending backwards where it must, and nothing else."""
        start, end = self.ends
        P = [X[..., 4 * i : 4 * i + 3] for i in range(len(self.kinds))]
        on = _touching(X, len(self.kinds))
        afters = [end]
        for point, touching in zip(reversed(P[1:]), reversed(on[1:]), strict=True):
            afters.append(np.where(touching[..., None], point, afters[-1]))
        before, found, arrivals, lateral = start, [], [], []
        for (kind, axes, origin, numbers), after, held, taken in zip(
            self.surfaces(), reversed(afters), on, self.taken, strict=True
        ):
            A, B, *line = (matvec(axes, x - origin) for x in (before, after, start, end))
            contact = touched(kind, numbers, (A, B), (line[0], line[1]), held if frozen else True, frozen)
            c = Touch.unpacked(contact).passed_over(~taken)
            found.append(c.packed(contact))
            touching = (held if frozen else c.on)[..., None]
            came, left = (origin + vecmat(x, axes) for x in (c.P, c.Q))
            side = _direction(cross(vecmat(as_array(c.across), axes), came - before))
            arrivals += [np.where(touching, came, 0.0), np.where(touching, 1.0, 0.0)]
            lateral.append(np.where(touching, side, 0.0))
            before = np.where(touching, left, before)
        r = joined(arrivals) - X
        return joined([*arrivals, *found, FAINT * np.sqrt(np.sum(r * r, axis=-1))[..., None]]), lateral


def _swept(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """The numbers of Phi(X), X being drawn on from the last two sweeps where both touch the same surfaces."""
    X, k = _Sweep(state, kinds).X, len(kinds)
    r, X_before, r_before = (x / FAINT for x in np.split(state[..., -MEMORY * k :], 3, axis=-1))
    better = _accelerated(X, r, X_before, r_before)
    numbers = _sweep(kinds, better, given)[0]
    return joined([numbers, *(FAINT * x for x in (_Sweep(numbers, kinds).X - better, X, r))])


def _fewer(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """X after some sweeps, and 1 for each surface that is not passed over: where what is touched goes on changing, one
    more is. It is the first whose contact lies inside another one, or else the first that was touched and then not."""
    count = len(kinds)
    X, taken = state[..., : 4 * count], state[..., 4 * count :]
    chain = _Chain(kinds, joined([given, taken]))
    hidden, lost = ([X[..., 0] > np.inf] * count for _ in range(2))
    for _ in range(WATCHED):
        after = _Sweep(_sweep(kinds, X, chain.given)[0], kinds).X
        for i, touching in enumerate(_touching(X, count)):
            hidden[i] = hidden[i] | (touching & chain.hides(i, X[..., 4 * i : 4 * i + 3]))
        X, before = after, X
        lost = [a | (b & ~c) for a, b, c in zip(lost, _touching(before, count), _touching(X, count), strict=True)]
    some_hidden, settled = reduce(or_, hidden), ~reduce(or_, lost)
    kept = []
    for i in range(count):
        passed = ~settled & np.where(some_hidden, hidden[i], lost[i])
        settled = settled | passed
        kept.append(np.where(passed, 0.0, taken[..., i])[..., None])
    return joined([X, *kept])


def _touching(X: Array, count: int) -> list[Array]:
    """(...) each, whether the path touches a surface."""
    return [X[..., 4 * i + 3] > 0 for i in range(count)]


def _sweep(kinds: tuple[Wrap, ...], X: Array, given: Array, frozen: bool = False) -> tuple[Array, list[Array]]:
    """`_Chain.sweep`; where a surface is solved, which takes far longer than to hand over the numbers, it stands once
    in a kernel for all sweeps over the same kinds."""
    if not any(kind.solved for kind in kinds):
        return _Chain(kinds, given).sweep(X, frozen)
    size = (4 + SIZE) * len(kinds) + 1
    start = 0.0 * X[..., :1] * np.ones(size + 3 * len(kinds))
    found = iterate(partial(_whole_sweep, kinds, frozen), start, joined([X, given]), 1)
    return found[..., :size], [found[..., size + 3 * i : size + 3 * i + 3] for i in range(len(kinds))]


def _whole_sweep(kinds: tuple[Wrap, ...], frozen: bool, before: Array, given: Array) -> Array:
    """The numbers of a sweep from X, which stands in front of the given ones, and the directions across the path."""
    edge = 4 * len(kinds)
    numbers, lateral = _Chain(kinds, given[..., edge:]).sweep(given[..., :edge], frozen)
    return joined([numbers, *lateral])


def _accelerated(X: Array, r: Array, X_before: Array, r_before: Array) -> Array:
    """Anderson's method with one sweep in memory: the X of the line through both sweeps whose move would be least."""
    d = r - r_before
    flags = [x[..., 3::4] for x in (r, r_before, X - X_before)]
    steady = np.sum(sum(np.abs(x) for x in flags), axis=-1) <= 0.0
    square = np.where(steady, np.sum(d * d, axis=-1), 0.0)
    part = np.sum(r * d, axis=-1) / np.where(square > 0, square, 1.0)
    part = np.where(square > 0, np.minimum(np.maximum(part, -BEYOND), BETWEEN), 0.0)
    result: Array = X - part[..., None] * (X - X_before)
    return result


def _newton(kinds: tuple[Wrap, ...], state: Array, given: Array) -> Array:
    """A step of Newton's method for the surfaces that are touched, and a sweep that may change these.

    The slopes D are differences: they only steer, the solution is where Phi(X) = X.
    """
    start, end = _Chain(kinds, given).ends
    X, count = _Sweep(state, kinds).X, len(kinds) - 1
    numbers, lateral = _sweep(kinds, X, given, frozen=True)
    arrived = _Sweep(numbers, kinds).X
    r = arrived - X
    line = end - start
    h = (DIFFERENCE * np.sqrt(np.sum(line * line, axis=-1)))[..., None]
    b = [joined([np.zeros(4 * i + 4), s, np.zeros(4 * (count - i) - 3)]) for i, s in enumerate(lateral[1:])]
    moved = [_Sweep(_sweep(kinds, X + h * direction, given, frozen=True)[0], kinds).X for direction in b]
    D = [(x - arrived) / h for x in moved]
    M = [[float(i == j) - np.sum(b[i] * D[j], axis=-1) for j in range(count)] for i in range(count)]
    w = _eliminated(M, [np.sum(b[i] * r, axis=-1) for i in range(count)])
    better = X + r + sum(d * weight[..., None] for d, weight in zip(D, w, strict=True))
    numbers = _sweep(kinds, better, given)[0]
    return joined([numbers, 0.0 * numbers[..., :1] * np.ones(MEMORY * len(kinds))])


def _direction(v: Array) -> Array:
    """v as a unit vector; zero stays zero."""
    square = np.sum(v * v, axis=-1)
    return v / np.sqrt(np.where(square > 0, square, 1.0))[..., None]


def _eliminated(M: list[list[Array]], y: list[Array]) -> list[Array]:
    """M^-1 y for the few unknowns of a chain, on floats and symbols: 1 - b^T D is heavy on its diagonal and needs no
    pivots."""
    rows = [[*row, right] for row, right in zip(M, y, strict=True)]
    for k in range(len(rows)):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [x - rows[i][k] * z for x, z in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
