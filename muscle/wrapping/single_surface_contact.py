"""Contact of single surfaces: each one is the only surface between two path points. One formula serves each type.

The contact follows from the two ends, in the frame of the surface's body. In a traced kernel, the surfaces of one type
and quadrant share their code. Those with a closed form are a table (`map_rows`), the others call a solver.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from myoquat.core.records import unchecked
from myoquat.core.typing import Array
from myoquat.joints.crossovers import MinRows
from myoquat.joints.vectors import joined
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.muscle.wrapping.contact_solve import solve_contact
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Wrap

__all__ = ["contacts_alone"]

NUMBERS_PER_CONTACT = 11  # of a contact with a closed form, as packed below


def contacts_alone(wraps: Sequence[Wrap], ends: Sequence[Line]) -> list[Contact]:
    """The contact of every surface with a path between two points (..., 3), all in the frame of the surface's body."""
    found: dict[int, Contact] = {}
    for prototype, members in _grouped(wraps, ends).items():
        if prototype is not None and prototype.solved:
            found |= {i: _called(wraps[i], ends[i]) for i in members}
        elif prototype is not None and MinRows.FORMULA.reached_by(len(members)):
            contacts = _together(prototype, [wraps[i] for i in members], [ends[i] for i in members])
            found |= dict(zip(members, contacts, strict=True))
        else:
            found |= {i: _placed(wraps[i], wraps[i].contact(*_seen(wraps[i], ends[i]))) for i in members}
    return [found[i] for i in range(len(wraps))]


def _grouped(wraps: Sequence[Wrap], ends: Sequence[Line]) -> dict[Wrap | None, list[int]]:
    """The indices of the surfaces by prototype; None holds those with numeric ends."""
    groups: dict[Wrap | None, list[int]] = {}
    for i, (wrap, line) in enumerate(zip(wraps, ends, strict=True)):
        prototype = wrap.prototype if any(map(is_symbolic, line)) else None
        groups.setdefault(prototype, []).append(i)
    return groups


def _seen(wrap: Wrap, ends: Line) -> Line:
    """Two points of the body's frame in the surface's."""
    return wrap.seen(ends[0]), wrap.seen(ends[1])


def _placed(wrap: Wrap, c: Contact) -> Contact:
    """A contact in the surface's frame in its body's."""
    return replace(c, P=wrap.in_body(c.P), Q=wrap.in_body(c.Q))


def _numbers(wrap: Wrap) -> Array:
    return np.stack([as_array(x) for x in wrap.numbers()], axis=-1)


def _called(wrap: Wrap, ends: Line) -> Contact:
    """The contact of a surface that is solved."""
    seen = _seen(wrap, ends)
    numbers = np.broadcast_to(_numbers(wrap), (*seen[0].shape[:-1], len(wrap.numbers())), subok=True)
    c = solve_contact(wrap, numbers, seen, seen)
    return _placed(wrap, Contact(c.on, c.P, c.Q, c.arc, c.inside, c.jump, c.missed))


def _together(prototype: Wrap, wraps: Sequence[Wrap], ends: Sequence[Line]) -> list[Contact]:
    """The contacts of surfaces of one type. Rows hold the ends, and the surfaces' numbers if these are symbols."""
    numbers = [joined([as_array(wrap.position), as_array(wrap.orientation), _numbers(wrap)]) for wrap in wraps]
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
    c = _placed(wrap, wrap.contact(*_seen(wrap, (row[..., 0:3], row[..., 3:6]))))
    P, Q, arc = np.where(c.on[..., None], c.P, 0.0), np.where(c.on[..., None], c.Q, 0.0), np.where(c.on, c.arc, 0.0)
    flags = [np.where(x, 1.0, 0.0) for x in (c.on, c.inside)]
    return joined([P, Q, *(x[..., None] for x in (arc, *flags)), c.jump])


def _unpacked(x: Array) -> Contact:
    P, Q = (x[..., 3 * i : 3 * i + 3] for i in range(2))
    arc, on, inside = (x[..., i] for i in range(6, 9))
    return Contact(on > 0, P, Q, arc, inside > 0, x[..., 9:NUMBERS_PER_CONTACT])
