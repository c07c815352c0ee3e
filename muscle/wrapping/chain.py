"""One piece of a path, from one path point to the next, over the wrapping surfaces between them.

With one surface, the surface's own formula is the answer. With several, the tangent points of each depend on those of
its neighbours. Let X hold, for every surface but the first, the point where the path comes onto it, and Phi(X) the same
points after every surface has been solved between its neighbours. A displacement of X along the path changes nothing to
first order, so Phi removes it; across the path Phi converges only linearly, and Newton's method takes the lateral
directions b:

    X <- X + r + D (1 - b^T D)^-1 b^T r,    r = Phi(X) - X,    D = dPhi/dX b.

A. Scholz, M. Sherman, I. Stavness, S. Delp, A. Kecskemethy, A fast multi-obstacle muscle wrapping method using natural
geodesic variations, Multibody System Dynamics 36, 2016, solve the same problem by Newton's method on the conditions at
all tangent points, for given contacts; here each surface keeps its own solution, which leaves one unknown per surface
but the first, and which surfaces are touched is part of the answer.

Which surfaces are touched: a path over some of them, bending the right way on each, is the shortest one if the others
were not there. The others can only make it longer, so the longest of these paths is the one that passes them all. Once
such a path runs into none of the others, paths over more surfaces are not tried.

Cost: k surfaces have 2^k - 1 subsets. All of them are in a compiled kernel, but a pose runs the larger ones only while
it is unsolved. A subset of n > 1 surfaces takes at most SWEEPS + (n + 1) STEPS + 1 evaluations of Phi, each of n
contacts. k is the number of surfaces that act between the same two path points: rarely more than three.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Wrap
from myoquat.muscle.wrapping.sites import Poses, Site, distance

__all__ = ["Piece", "taut"]

SWEEPS = 4  # of Phi alone, which bring X near
STEPS = 5  # of Newton's method, each with one of Phi behind it that brings X back onto the surfaces
DIFFERENCE = 1e-6  # for slopes, of the distance between the ends
SETTLED = 1e-8  # [m] by which the last but one step may move X
SOLVED = 1e-9  # [m] by which X may miss Phi(X)


@dataclass(frozen=True)
class Piece:
    """A solved piece: contacts (in their bodies' frames) in the order of the path.

    unsolved (...): the path may not be the shortest, since a solver did not settle or a surface was left in its way.
    """

    wraps: tuple[Wrap, ...] = ()
    contacts: tuple[Contact, ...] = ()
    unsolved: Array | bool = False


def taut(wraps: Sequence[Wrap], start: Site, end: Site, poses: Poses) -> Piece:
    """The taut path from `start` over the surfaces, in this order, to `end`, touching those that it must."""
    wraps = tuple(wraps)
    if not wraps:
        return Piece()
    if len(wraps) == 1:
        A, B = (wraps[0].seen(site.seen_from(poses, wraps[0].body)) for site in (start, end))
        contact = wraps[0].contact(A, B)
        return Piece(wraps, (_in_body(wraps[0], contact),), contact.missed > SOLVED)
    if any(wrap.varies for wrap in wraps):
        raise ValueError("numbers of surfaces that act together on a piece of a path cannot vary in a compiled kernel")
    whole = _Chain(wraps, start, end, poses)
    size = np.sqrt(np.sum((end.world - start.world) ** 2, axis=-1))
    chosen: list[Contact] = []
    unsolved = size >= 0.0
    for count in range(1, len(wraps) + 1):
        paths = {
            members: _Chain(tuple(wraps[i] for i in members), start, end, poses).solved(unsolved)
            for members in combinations(range(len(wraps)), count)
        }
        if not chosen:
            chosen = [replace(path.contacts[0], on=size < 0.0) for path in paths.values()]
        for members, path in paths.items():
            better = unsolved & path.valid & (path.length > size)
            size = np.where(better, path.length, size)
            found = dict(zip(members, path.contacts, strict=True))
            chosen = [_either(better, unsolved, found.get(i), c) for i, c in enumerate(chosen)]
        unsolved = unsolved & _in_the_way(whole, chosen, unsolved)
    contacts = tuple(_in_body(wrap, c) for wrap, c in zip(wraps, chosen, strict=True))
    return Piece(wraps, contacts, unsolved)


def _in_the_way(chain: "_Chain", found: list[Contact], needed: Array) -> Array:
    """(...) whether the path runs into a surface that it does not touch, or one that it touches did not settle; where
    it is `needed`."""
    contacts = [_in_body(wrap, c) for wrap, c in zip(chain.wraps, found, strict=True)]
    P, Q = (
        [Site.of(chain.poses, wrap.body, x) for wrap, x in zip(chain.wraps, ends, strict=True)]
        for ends in ([c.P for c in contacts], [c.Q for c in contacts])
    )
    before, hits = chain.start, contacts[0].on & False
    for i, (wrap, contact) in enumerate(zip(chain.wraps, contacts, strict=True)):
        after = chain.end
        for j in reversed(range(i + 1, len(contacts))):
            after = P[j].or_else(contacts[j].on, after)
        met = chain.touched(wrap, before, after, needed & ~contact.on)[0]
        hit = (met.on & (met.arc > SOLVED)) | (met.inside & ~contact.inside)
        hits = hits | np.where(contact.on, contact.missed > SOLVED, hit)
        before = Q[i].or_else(contact.on, before)
    return hits


def _in_body(wrap: Wrap, contact: Contact) -> Contact:
    return replace(contact, P=wrap.in_body(contact.P), Q=wrap.in_body(contact.Q))


def _either(better: Array, sought: Array, found: Contact | None, old: Contact) -> Contact:
    """The contact that was found where it is better; a surface that was left out is not touched there. A jump of any
    path that was sought counts."""
    if found is None:
        return replace(old, on=old.on & ~better)
    column = better[..., None]
    return replace(
        old,
        on=np.where(better, found.on, old.on),
        P=np.where(column, found.P, old.P),
        Q=np.where(column, found.Q, old.Q),
        arc=np.where(better, found.arc, old.arc),
        jump=np.minimum(old.jump, np.where(sought, found.jump, np.inf)),
        missed=np.where(better, found.missed, old.missed),
    )


@dataclass(frozen=True)
class _Sweep:
    """Every surface solved between its neighbours: contacts in their own frames, where the path comes onto all but the
    first, (..., 3 (k - 1)), the directions across it there, and the length of the path."""

    contacts: list[Contact]
    X: Array
    lateral: list[Array]
    length: Array
    valid: Array | bool = True


@dataclass(frozen=True)
class _Chain:
    """A path that touches every one of the surfaces, bending backwards where it must."""

    wraps: tuple[Wrap, ...]
    start: Site
    end: Site
    poses: Poses

    @classmethod
    def unpacked(cls, wraps: tuple[Wrap, ...], given: Array) -> "_Chain":
        """From the numbers of `packed`."""
        parts = [given[..., 3 * i : 3 * i + 3] for i in range(given.shape[-1] // 3)]
        poses = {}
        for i, body in enumerate(_bodies(wraps)):
            rows = parts[4 * i + 2 : 4 * i + 6]
            poses[body] = np.stack(rows[:3], axis=-2), rows[3]
        return cls(wraps, Site(parts[0]), Site(parts[1]), poses)

    def packed(self) -> Array:
        """All that the solution depends on, as one array (..., n)."""
        poses = [self.poses[body] for body in _bodies(self.wraps)]
        rows = [row for R, p in poses for row in (R[..., 0, :], R[..., 1, :], R[..., 2, :], p)]
        return joined([self.start.world, self.end.world, *rows])

    def solved(self, where: Array) -> _Sweep:
        """The contacts that agree with each other, for what is not false in `where`; valid where the path bends
        around no surface backwards."""
        if len(self.wraps) == 1:
            contact, P, Q = self.touched(self.wraps[0], self.start, self.end, where)
            length = distance(self.start, P) + contact.arc + distance(Q, self.end)
            return _Sweep([contact], self.start.world[..., :0], [], length, contact.on)
        starts = [self.touched(wrap, self.start, self.end, where, backwards=True)[1].world for wrap in self.wraps[1:]]
        given = self.packed()
        X = iterate(partial(_relaxed, self.wraps), joined(starts), given, SWEEPS, SETTLED, where)
        X = iterate(partial(_newton, self.wraps), X, given, STEPS, SETTLED, where)
        sweep = self.swept(X, where)
        r = sweep.X - X
        valid = np.sum(r * r, axis=-1) < SOLVED**2
        for contact in sweep.contacts:
            valid = valid & contact.on
        return replace(sweep, valid=valid)

    def swept(self, X: Array, where: Array | bool = True) -> _Sweep:
        """Phi(X) and what belongs to it."""
        targets = [Site(X[..., 3 * i : 3 * i + 3]) for i in range(len(self.wraps) - 1)]
        before, contacts, arrivals, lateral = self.start, [], [], []
        length: Array = np.zeros(())
        for wrap, after in zip(self.wraps, [*targets, self.end], strict=True):
            contact, P, Q = self.touched(wrap, before, after, where, backwards=True)
            d = P.world - before.world
            length = length + distance(before, P) + contact.arc
            normal = matvec(self.poses[wrap.body][0], wrap.direction_in_body(wrap.normal(contact.P)))
            lateral.append(_direction(cross(normal, d)))
            arrivals.append(P.world)
            contacts.append(contact)
            before = Q
        return _Sweep(contacts, joined(arrivals[1:]), lateral[1:], length + distance(before, self.end))

    def touched(
        self, wrap: Wrap, before: Site, after: Site, where: Array | bool, backwards: bool = False
    ) -> tuple[Contact, Site, Site]:
        """The contact of one surface between two points, and its ends."""
        A, B, *line = (wrap.seen(x.seen_from(self.poses, wrap.body)) for x in (before, after, self.start, self.end))
        contact = wrap.contact(A, B, (line[0], line[1]), where, backwards)
        P, Q = (Site.of(self.poses, wrap.body, wrap.in_body(x)) for x in (contact.P, contact.Q))
        return contact, P, Q


def _bodies(wraps: tuple[Wrap, ...]) -> list[str]:
    return list(dict.fromkeys(wrap.body for wrap in wraps))


def _relaxed(wraps: tuple[Wrap, ...], X: Array, given: Array) -> Array:
    """Phi(X)."""
    return _Chain.unpacked(wraps, given).swept(X).X


def _newton(wraps: tuple[Wrap, ...], X: Array, given: Array) -> Array:
    """X after one step of Newton's method, brought back onto the surfaces by Phi.

    The slopes D are differences: they only steer, the solution is where Phi(X) = X.
    """
    chain = _Chain.unpacked(wraps, given)
    sweep = chain.swept(X)
    r = sweep.X - X
    line = chain.end.world - chain.start.world
    h = (DIFFERENCE * np.sqrt(np.sum(line * line, axis=-1)))[..., None]
    count, zero = len(wraps) - 1, np.zeros(3)
    b = [joined([side if i == j else zero for j in range(count)]) for i, side in enumerate(sweep.lateral)]
    D = [(chain.swept(X + h * direction).X - sweep.X) / h for direction in b]
    M = [[float(i == j) - np.sum(b[i] * D[j], axis=-1) for j in range(count)] for i in range(count)]
    w = _eliminated(M, [np.sum(b[i] * r, axis=-1) for i in range(count)])
    better = X + r + sum(d * weight[..., None] for d, weight in zip(D, w, strict=True))
    return chain.swept(better).X


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
