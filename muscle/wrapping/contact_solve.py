"""Contacts of a path with one of several surfaces, as calls: a kernel holds the formula of a surface type once.

Where several surfaces act on a segment, contacts are solved many times. Here the surface's numbers are data beside the
ends of the path, so that one function serves all surfaces of a type and quadrant (`myoquat.kernels.call_where`).
"""

from dataclasses import replace

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import call_where, static
from myoquat.muscle.wrapping.surfaces.base import Line, Near, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always

__all__ = ["SolvedContact", "is_cut", "solve_contact", "unknown_start"]

MAX_DISTANCE_M = 1e9  # stands for no jump, and for the residual of a solution that was not found


@dataclass(frozen=True)
class SolvedContact:
    """A contact in the surface's frame; the fields are those of `Contact`."""

    on: Array
    P: Array
    Q: Array
    arc: Array
    inside: Array
    jump: Array
    missed: Array

    @classmethod
    def none(cls, zero: Array) -> "SolvedContact":
        """No contact; zero (..., 3)."""
        number, never = zero[..., 0], ~always(zero[..., 0])
        return cls(never, zero, zero, number, never, zero[..., :2] + MAX_DISTANCE_M, number)

    def passed_over(self, where: Array) -> "SolvedContact":
        """The same without contact where the condition holds, and reported as passed over where there would be one."""
        return replace(self, on=self.on & ~where, inside=self.inside | (self.on & where))


@dataclass(frozen=True)
class _Ends:
    """A contact to be solved, in the surface's frame.

    numbers  (..., n) of the surface
    A, B     (..., 3) two ends of a path
    line     two points of the line that tells the side
    near     where the solver begins
    surface  the prototype
    """

    numbers: Array
    A: Array
    B: Array
    line: Line
    near: Near
    surface: Wrap = static()


def solve_contact(
    surface: Wrap, numbers: Array, ends: Line, line: Line, near: Near | None = None, where: Array | bool = True
) -> SolvedContact:
    """The contact of a surface of `numbers` (..., n) with a path between two points of its frame, `where` (...) it is
    asked for; elsewhere none."""
    zero = 0.0 * ends[0]
    begin = unknown_start(zero[..., 0], ~always(zero[..., 0])) if near is None else near
    problem = _Ends(numbers, *ends, line, begin, surface.prototype)
    return call_where(_contact, problem, where, SolvedContact.none(zero))


def _contact(ends: _Ends) -> SolvedContact:
    c = ends.surface.shaped(ends.numbers).contact(ends.A, ends.B, ends.line, near=ends.near)
    missed = np.minimum(c.missed + 0.0 * c.arc, MAX_DISTANCE_M)
    return SolvedContact(c.on, c.P, c.Q, c.arc, c.inside, np.minimum(c.jump, MAX_DISTANCE_M), missed)


def unknown_start(zero: Array, rough: Array) -> Near:
    """Where a solver begins that knows no contact; zero (...), rough (...): where its first guess is enough."""
    point = zero[..., None] * np.ones(3)
    return Near(point, point, zero, ~always(zero), rough)


@dataclass(frozen=True)
class _Straight:
    """A surface by its prototype and numbers (..., n), and two points A, B (..., 3) of its frame."""

    numbers: Array
    A: Array
    B: Array
    surface: Wrap = static()


def is_cut(surface: Wrap, numbers: Array, line: Line, where: Array) -> Array:
    """(...) `Wrap.cut` for a line between two points of the surface's frame, `where` it is asked for."""
    problem = _Straight(numbers, *line, surface.prototype)
    return call_where(_cut, problem, where, ~always(line[0][..., 0]))


def _cut(line: _Straight) -> Array:
    return line.surface.shaped(line.numbers).cut(line.A, line.B)
