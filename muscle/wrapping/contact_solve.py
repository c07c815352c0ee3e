"""Contacts of a path with one of several surfaces, as calls: a kernel holds the formula of a surface type once.

Where several surfaces act on a segment, contacts are solved many times. Here the surface's numbers are data beside the
ends of the path, so that one function serves all surfaces of a type and quadrant (`myoquat.kernels.call_where`).
"""

from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels import call_where
from myoquat.muscle.wrapping.surfaces.base import MAX_DISTANCE_M, Contact, Line, Near, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always

__all__ = ["is_cut", "solve_contact"]


def solve_contact(
    surface: Wrap, numbers: Array, ends: Line, line: Line, near: Near | None = None, where: Array | bool = True
) -> Contact:
    """The contact of a surface of `numbers` (..., n) with a path between two points of its frame, `where` (...) it is
    asked for; elsewhere none. The `line` tells the side."""
    zero = 0.0 * ends[0]
    begin = Near.unknown(zero[..., 0], ~always(zero[..., 0])) if near is None else near
    return call_where(partial(_contact, surface.prototype), (numbers, ends, line, begin), where, Contact.none(zero))


def _contact(surface: Wrap, problem: tuple[Array, Line, Line, Near]) -> Contact:
    numbers, (A, B), line, near = problem
    c = surface.shaped(numbers).contact(A, B, line, near=near)
    missed = np.minimum(c.missed + 0.0 * c.arc, MAX_DISTANCE_M)
    return Contact(c.on, c.P, c.Q, c.arc, c.inside, np.minimum(c.jump, MAX_DISTANCE_M), missed, 0.0 * c.arc)


def is_cut(surface: Wrap, numbers: Array, line: Line, where: Array) -> Array:
    """(...) `Wrap.cut` for a line between two points of the surface's frame, `where` it is asked for."""
    return call_where(partial(_cut, surface.prototype), (numbers, line), where, ~always(line[0][..., 0]))


def _cut(surface: Wrap, problem: tuple[Array, Line]) -> Array:
    numbers, (A, B) = problem
    return surface.shaped(numbers).cut(A, B)
