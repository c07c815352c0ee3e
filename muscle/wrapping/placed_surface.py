"""A surface with a pose, and its formulas as calls: a kernel holds the formula of a surface type once.

Where several surfaces act on a segment, contacts are solved many times. Here the surface's numbers are data beside the
ends of the path, so that one function serves all surfaces of a type and quadrant (`myoquat.kernels.call_where`).
"""

from functools import partial

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import call_where, static
from myoquat.muscle.wrapping.surfaces.base import MAX_DISTANCE_M, Contact, Line, Near, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always

__all__ = ["PlacedSurface"]


@frozen
class PlacedSurface:
    """A surface by the rows (..., 3, 3) of its frame's axes and its origin (..., 3) in the world, its own numbers
    (..., n), and its prototype."""

    axes: Array
    origin: Array
    numbers: Array
    prototype: Wrap = static()

    @property
    def wrap(self) -> Wrap:
        return self.prototype.shaped(self.numbers)

    def seen(self, x: Array) -> Array:
        """(..., 3) a point of the world in the surface's frame."""
        return matvec(self.axes, x - self.origin)

    def in_world(self, x: Array) -> Array:
        """(..., 3) a point of the surface's frame in the world."""
        result: Array = self.origin + vecmat(x, self.axes)
        return result

    def contact(self, ends: Line, line: Line, near: Near | None = None, where: Array | bool = True) -> Contact:
        """The contact with a path between two points of the surface's frame, `where` (...) it is asked for; elsewhere
        none. The `line` tells the side."""
        zero = 0.0 * ends[0]
        begin = Near.unknown(zero[..., 0], ~always(zero[..., 0])) if near is None else near
        problem = self.numbers, ends, line, begin
        return call_where(partial(_contact, self.prototype), problem, where, Contact.none(zero))

    def is_cut(self, line: Line, where: Array) -> Array:
        """(...) `Wrap.cut` for a line between two points of the surface's frame, `where` it is asked for."""
        return call_where(partial(_cut, self.prototype), (self.numbers, line), where, ~always(line[0][..., 0]))


def _contact(surface: Wrap, problem: tuple[Array, Line, Line, Near]) -> Contact:
    numbers, (A, B), line, near = problem
    c = surface.shaped(numbers).contact(A, B, line, near=near)
    missed = np.minimum(c.missed + 0.0 * c.arc, MAX_DISTANCE_M)
    return Contact(c.on, c.P, c.Q, c.arc, c.inside, np.minimum(c.jump, MAX_DISTANCE_M), missed, 0.0 * c.arc)


def _cut(surface: Wrap, problem: tuple[Array, Line]) -> Array:
    numbers, (A, B) = problem
    return surface.shaped(numbers).cut(A, B)
