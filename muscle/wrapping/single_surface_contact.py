"""Contact of single surfaces with straight pieces of paths. One formula serves each type.

The contact follows from the two ends, in the frame of the surface's body. In a traced kernel, the surfaces of one type
and quadrant share their code. Those with a closed form are a table (`map_rows`), the others call a solver.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from myoquat.core import Array, frozen, unchecked
from myoquat.joints.crossovers import MinRows
from myoquat.joints.vectors import joined, matvec, vecmat
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic

from .newton import moving_contacts
from .route import PlacedSurface, Segment
from .surfaces.base import MAX_DISTANCE_M, Contact, Line, Wrap
from .surfaces.vectors import always, size

NUMBERS_PER_CONTACT = 11  # of a contact with a closed form, as packed below


Poses = Mapping[str, tuple[Array, Array]]  # body -> R, p in the world


@frozen
class Site:
    """A point [m]: `world` (..., 3), and `local` in the frame of `body` if it is fixed to one ("" if not)."""

    world: Array
    body: str = ""
    local: Array | None = None

    @classmethod
    def of(cls, poses: Poses, body: str, local: Array) -> "Site":
        """The point `local` (..., 3) of a body."""
        R, p = poses[body]
        return cls(p + matvec(R, local), body, local)

    def seen_from(self, poses: Poses, body: str) -> Array:
        """(..., 3) the point in the frame of a body."""
        if body == self.body and self.local is not None:
            return self.local
        R, p = poses[body]
        return vecmat(self.world - p, R)

    def or_else(self, condition: Array | bool, other: "Site") -> "Site":
        """This point where the condition holds, elsewhere another."""
        if isinstance(condition, bool):
            return self
        return Site(np.where(condition[..., None], self.world, other.world))


@frozen
class Meeting:
    """A surface and a straight piece of a path.

    ends     of the piece, in the frame of the surface's body
    acts     (...) whether the surface acts on the piece
    contact  of the path over this surface alone, in that frame; None before it is solved
    """

    wrap: Wrap
    ends: Line
    acts: Array | bool
    contact: Contact | None = None

    @classmethod
    def of(cls, wrap: Wrap, start: Site, end: Site, poses: Poses, acts: Array | bool = True) -> "Meeting":
        """Before it is solved."""
        return cls(wrap, (start.seen_from(poses, wrap.body), end.seen_from(poses, wrap.body)), acts)

    @property
    def seen(self) -> Line:
        """The ends in the surface's frame."""
        return self.wrap.seen(self.ends[0]), self.wrap.seen(self.ends[1])

    @property
    def touches(self) -> Array:
        """(...) whether the path over this surface alone touches it, as far as this is known."""
        return (self.wrap.meets(*self.seen) if self.contact is None else self.contact.on) & self.acts

    @property
    def in_the_way(self) -> Array:
        """(...) whether the surface lies in the way of the piece, so that it acts on this one first."""
        found = self.wrap.in_the_way(*self.seen) & self.acts
        return found if self.wrap.ring else found & self.touches

    @property
    def lengthening(self) -> Array:
        """(...) [m] of the piece by its contact; huge where a path was not found, and infinite without contact."""
        assert self.contact is not None
        (A, B), c = self.ends, self.contact
        longer = size(c.P - A) + c.arc + size(B - c.Q) - size(B - A)
        unsolved = np.where(self.wrap.meets(*self.seen), MAX_DISTANCE_M, np.inf)
        result: Array = np.where(self.acts, np.where(c.on, longer, unsolved), np.inf)
        return result

    def solved(self, where: Array | bool = True) -> "Meeting":
        """The same with its contact, solved `where` (...) it is asked for. Closed forms are known."""
        if self.contact is not None:
            return self
        wrap, seen, straight = self.wrap, self.seen, self.straight
        asked = always(straight.arc) & where & self.touches
        batch = np.shape(asked)
        A, B = (np.broadcast_to(x, (*batch, 3), subok=True) for x in seen)
        numbers = np.broadcast_to(wrap.numbers(), (*batch, wrap.numbers().shape[-1]), subok=True)
        surface = PlacedSurface(np.broadcast_to(np.eye(3), (*batch, 3, 3)), 0.0 * A, numbers, wrap.prototype)
        c = surface.contact((A, B), (A, B), where=asked)
        (c,) = moving_contacts(Segment(A, B, (surface,), (asked,)), (c,), (0.0 * c.arc,))
        jump = np.where(asked[..., None], c.jump, straight.jump)
        return replace(self, contact=_placed(wrap, replace(c, jump=jump)))

    @property
    def result(self) -> Contact:
        """The contact, with none and no flags where the surface does not act."""
        c, acts = self.contact, self.acts
        assert c is not None
        if isinstance(acts, bool):
            return c
        jump = np.where(acts[..., None], c.jump, np.inf)
        return replace(c, on=c.on & acts, inside=c.inside & acts, jump=jump, missed=np.where(acts, c.missed, 0.0))

    @property
    def straight(self) -> Contact:
        """The contact where the surface is not touched."""
        if self.contact is not None:
            return self.result
        A, B = self.seen
        zero = 0.0 * (A + B)
        free = [np.where(self.acts, self.wrap.distance_from_plane(x + zero), np.inf) for x in (A, B)]
        return replace(Contact.none(zero), jump=np.stack(free, axis=-1))


def contacts_alone(meetings: Sequence[Meeting]) -> list[Contact]:
    """The contacts of surfaces that have a closed form."""
    wraps, ends = [m.wrap for m in meetings], [m.ends for m in meetings]
    found: dict[int, Contact] = {}
    for prototype, members in _grouped(wraps, ends).items():
        if prototype is not None and MinRows.FORMULA.reached_by(len(members)):
            contacts = _together(prototype, [wraps[i] for i in members], [ends[i] for i in members])
            found |= dict(zip(members, contacts, strict=True))
        else:
            found |= {i: _placed(wraps[i], wraps[i].contact(*meetings[i].seen)) for i in members}
    return [found[i] for i in range(len(wraps))]


def _grouped(wraps: Sequence[Wrap], ends: Sequence[Line]) -> dict[Wrap | None, list[int]]:
    """The indices of the surfaces by prototype; None holds those with numeric ends."""
    groups: dict[Wrap | None, list[int]] = {}
    for i, (wrap, line) in enumerate(zip(wraps, ends, strict=True)):
        prototype = wrap.prototype if any(map(is_symbolic, line)) else None
        groups.setdefault(prototype, []).append(i)
    return groups


def _placed(wrap: Wrap, c: Contact) -> Contact:
    """A contact in the surface's frame in its body's."""
    return replace(c, P=wrap.in_body(c.P), Q=wrap.in_body(c.Q))


def _together(prototype: Wrap, wraps: Sequence[Wrap], ends: Sequence[Line]) -> list[Contact]:
    """The contacts of surfaces of one type. Rows hold the ends, and the surfaces' numbers if these are symbols."""
    numbers = [joined([as_array(wrap.position), as_array(wrap.orientation), wrap.numbers()]) for wrap in wraps]
    rows: list[list[Array]] = [list(line) for line in ends]
    fixed = np.zeros((len(wraps), 0))
    if any(map(is_symbolic, numbers)):
        rows = [[*line, own] for line, own in zip(rows, numbers, strict=True)]
    else:
        fixed = np.stack(numbers)
    stacked = np.stack(np.broadcast_arrays(*map(joined, rows), subok=True), axis=-2)
    results = map_rows(partial(_packed, prototype), stacked, fixed, NUMBERS_PER_CONTACT)
    return [_unpacked(results[..., k, :]) for k in range(len(wraps))]


def _packed(prototype: Wrap, row: Array, numbers: Array) -> Array:
    """(..., NUMBERS_PER_CONTACT) the contact of a surface like the prototype, from its ends, frame and numbers."""
    own = row[..., 6:] if row.shape[-1] > 6 else numbers
    wrap: Wrap = unchecked(prototype.shaped(own[..., 7:]), {"position": own[..., :3], "orientation": own[..., 3:7]})
    c = _placed(wrap, wrap.contact(wrap.seen(row[..., 0:3]), wrap.seen(row[..., 3:6])))
    P, Q, arc = np.where(c.on[..., None], c.P, 0.0), np.where(c.on[..., None], c.Q, 0.0), np.where(c.on, c.arc, 0.0)
    flags = [np.where(x, 1.0, 0.0) for x in (c.on, c.inside)]
    return joined([P, Q, *(x[..., None] for x in (arc, *flags)), c.jump])


def _unpacked(x: Array) -> Contact:
    P, Q = (x[..., 3 * i : 3 * i + 3] for i in range(2))
    arc, on, inside = (x[..., i] for i in range(6, 9))
    return Contact(on > 0, P, Q, arc, inside > 0, x[..., 9:NUMBERS_PER_CONTACT])
