"""Contact of single surfaces with straight pieces of paths. One formula serves each type.

The contact follows from the two ends, in the surface's frame. In a traced kernel, the surfaces of one type and quadrant
share their code. Those with a closed form are a table (`map_rows`), the others call a solver.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.crossovers import MinRows
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, matvec, rows_of
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.muscle.points import PathPoint

from .newton import moving_contacts
from .route import PlacedSurface, Segment
from .surfaces.base import MAX_DISTANCE_M, Contact, Line, Wrap
from .surfaces.vectors import always, size, with_batch

NUMBERS_PER_CONTACT = 11  # of a contact with a closed form, as packed below


Poses = Mapping[str, tuple[Array, Array]]  # body -> R, p in the world


@frozen
class Site:
    """A point [m]: `world` (..., 3), and `local` in the frame of `body` if it is fixed to one ("" if not)."""

    world: Array
    body: str = ""
    local: Array | None = None


def straight_pieces(
    system: ArticulatedSystem, points: Sequence[PathPoint], q: Array, poses: Poses
) -> Iterator[tuple[Site, Site, Array | bool]]:
    """The ends of the pieces of a path before it meets surfaces, and whether (...) the path takes the second end."""

    def site(point: PathPoint) -> Site:
        (R, p), local = poses[point.body], point.local(system, q)
        return Site(p + matvec(R, local), point.body, local)

    last = site(points[0])
    for point in points[1:]:
        end, on = site(point), point.active(system, q)
        yield last, end, on
        last = end if isinstance(on, bool) else Site(np.where(on[..., None], end.world, last.world))


@frozen
class Meeting:
    """A surface and a straight piece of a path.

    surface  in the frame of its body
    placed   in the world
    sites    the ends of the piece
    ends     the same in the surface's frame
    acts     (...) whether the surface acts on the piece
    contact  of the path over this surface alone, in the surface's frame; None before it is solved
    """

    wrap: Wrap
    surface: PlacedSurface
    placed: PlacedSurface
    sites: tuple[Site, Site]
    ends: Line
    acts: Array | bool
    contact: Contact | None = None

    @classmethod
    def of(cls, wrap: Wrap, start: Site, end: Site, poses: Poses, acts: Array | bool = True) -> "Meeting":
        """Before it is solved. A point of the surface's body stays where it is, whatever the pose."""
        surface = PlacedSurface.of(wrap)
        placed = surface.moved(*poses[wrap.body])
        A, B = (
            placed.seen(site.world) if site.body != wrap.body or site.local is None else surface.seen(site.local)
            for site in (start, end)
        )
        return cls(wrap, surface, placed, (start, end), (A, B), acts)

    @property
    def meets(self) -> Array:
        """(...) whether the path may touch the surface, as far as this is known without a solver."""
        return self.surface.wrap.meets(*self.ends)

    @property
    def touches(self) -> Array:
        """(...) whether the path over this surface alone touches it, as far as this is known."""
        return (self.meets if self.contact is None else self.contact.on) & self.acts

    @property
    def in_the_way(self) -> Array:
        """(...) whether the surface lies in the way of the piece, so that it acts on this one first."""
        found = self.surface.wrap.in_the_way(*self.ends) & self.acts
        return found if self.wrap.ring else found & self.touches

    @property
    def lengthening(self) -> Array:
        """(...) [m] of the piece by its contact; huge where a path was not found, and infinite without contact."""
        assert self.contact is not None
        (A, B), c = self.ends, self.contact
        longer = size(c.P - A) + c.arc + size(B - c.Q) - size(B - A)
        unsolved = np.where(self.meets, MAX_DISTANCE_M, np.inf)
        result: Array = np.where(self.acts, np.where(c.on, longer, unsolved), np.inf)
        return result

    def solved(self, where: Array | bool = True) -> "Meeting":
        """The same with its contact, solved `where` (...) it is asked for. Closed forms are known."""
        if self.contact is not None:
            return self
        straight = self.straight
        asked = always(straight.arc) & where & self.touches
        A, B = (with_batch(x, np.shape(asked)) for x in self.ends)
        surface = replace(PlacedSurface.of(self.surface.prototype), numbers=self.surface.numbers).spread(
            np.shape(asked)
        )
        c = surface.contact((A, B), (A, B), where=asked)
        (c,) = moving_contacts(Segment(A, B, (surface,), (asked,)), (c,), (0.0 * c.arc,))
        jump = np.where(asked[..., None], c.jump, straight.jump)
        return replace(self, contact=replace(c, jump=jump))

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
        A, B = self.ends
        zero = 0.0 * (A + B)
        free = [np.where(self.acts, self.surface.wrap.distance_from_plane(x + zero), np.inf) for x in (A, B)]
        return replace(Contact.none(zero), jump=np.stack(free, axis=-1))


def with_closed_forms(meetings: Sequence[Meeting]) -> list[Meeting]:
    """The same with the contacts of surfaces that have a closed form. Those of one type are a table where the ends are
    symbols. Its rows hold the ends, and the surfaces' numbers if these are symbols."""
    groups: dict[Wrap | int, list[int]] = {}
    for i, m in enumerate(meetings):
        if not m.wrap.solved:
            groups.setdefault(m.surface.prototype if any(map(is_symbolic, m.ends)) else i, []).append(i)
    found: dict[int, Contact] = {}
    for prototype, members in groups.items():
        if isinstance(prototype, int) or not MinRows.FORMULA.reached_by(len(members)):
            found |= {i: meetings[i].surface.wrap.contact(*meetings[i].ends) for i in members}
            continue
        rows, numbers = [joined(meetings[i].ends) for i in members], [meetings[i].surface.numbers for i in members]
        if any(map(is_symbolic, numbers)):
            rows, numbers = [joined(pair) for pair in zip(rows, numbers, strict=True)], [np.zeros(0)] * len(members)
        table = map_rows(partial(_packed, prototype), rows_of(rows), np.stack(numbers), NUMBERS_PER_CONTACT)
        found |= {i: _unpacked(table[..., k, :]) for k, i in enumerate(members)}
    return [replace(m, contact=found.get(i)) for i, m in enumerate(meetings)]


def _packed(prototype: Wrap, row: Array, numbers: Array) -> Array:
    """(..., NUMBERS_PER_CONTACT) the contact of a surface like the prototype, from its ends and numbers."""
    wrap = prototype.shaped(row[..., 6:] if row.shape[-1] > 6 else numbers)
    c = wrap.contact(row[..., 0:3], row[..., 3:6])
    # zero without contact: a loop over rows leaves the operations out that no state needs
    P, Q, arc = np.where(c.on[..., None], c.P, 0.0), np.where(c.on[..., None], c.Q, 0.0), np.where(c.on, c.arc, 0.0)
    flags = [np.where(x, 1.0, 0.0) for x in (c.on, c.inside)]
    return joined([P, Q, *(x[..., None] for x in (arc, *flags)), c.jump])


def _unpacked(x: Array) -> Contact:
    P, Q = (x[..., 3 * i : 3 * i + 3] for i in range(2))
    arc, on, inside = (x[..., i] for i in range(6, 9))
    return Contact(on > 0, P, Q, arc, inside > 0, x[..., 9:NUMBERS_PER_CONTACT])
