"""Contacts as calls: in a kernel, the formula of a kind of surface stands once, whatever number of surfaces it serves.

What a path does at a surface, where several act, is asked many times over. Here the surface's numbers are data beside
the ends of the path, and the formula is a step that is taken once (`myoquat.kernels.iterate`), so that a kernel holds
it as one function for all surfaces of its kind and quadrant.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Near, Wrap

__all__ = ["JUMP", "SIZE", "START", "Touch", "cut", "nowhere", "packed_near", "touched", "unpacked_near"]

FAR = 1e9  # [m] that stands for no jump, and for a solution that was not found
SIZE = 12  # numbers of a touch
JUMP = slice(9, 11)  # those of them that say how far ends are from a jump
START = 10  # of where its solver begins


@dataclass(frozen=True)
class Touch(Contact):
    """A contact in the surface's frame, from its numbers and back."""

    @classmethod
    def unpacked(cls, x: Array) -> "Touch":
        """From its numbers (..., SIZE)."""
        P, Q = (x[..., 3 * i : 3 * i + 3] for i in range(2))
        arc, on, inside, missed = (x[..., i] for i in (6, 7, 8, 11))
        return cls(on > 0, P, Q, arc, inside > 0, x[..., JUMP], missed)

    def passed_over(self, where: Array) -> "Touch":
        """The same that is not touched where the condition holds, and told as passed over where it would be."""
        return replace(self, on=self.on & ~where, inside=self.inside | (self.on & where))

    def packed(self, numbers: Array) -> Array:
        """(..., SIZE) its numbers, of which only `on` and `inside` differ from those it was unpacked from."""
        flags = [np.where(x, 1.0, 0.0)[..., None] for x in (self.on, self.inside)]
        return joined([numbers[..., :7], *flags, numbers[..., 9:]])


def touched(
    wrap: Wrap, numbers: Array, ends: Line, line: Line, near: Near | None = None, where: Array | bool = True
) -> Array:
    """(..., SIZE) the numbers of `wrap.contact` between two points of the surface's frame, for a surface of `numbers`
    (..., n), `where` (...) they are asked; elsewhere of none."""
    none = 0.0 * ends[0][..., :1]
    begin = none * np.ones(START) if near is None else packed_near(near)
    given = joined([*ends, *line, begin, numbers])
    return iterate(partial(_touched, wrap.prototype), none * np.ones(SIZE), given, 1, where=where)


def cut(wrap: Wrap, numbers: Array, line: Line, where: Array) -> Array:
    """(...) `wrap.cut` for a line between two points of the surface's frame, `where` it is asked, for a surface of
    `numbers` (..., n)."""
    given = joined([*line, numbers])
    return iterate(partial(_cut, wrap.prototype), 0.0 * given[..., :1], given, 1, where=where)[..., 0] > 0


def _cut(wrap: Wrap, _: Array, given: Array) -> Array:
    found = wrap.shaped(given[..., 6:]).cut(given[..., :3], given[..., 3:6])
    return np.where(found, 1.0, 0.0)[..., None] + 0.0 * given[..., :1]


def nowhere(none: Array, rough: Array) -> Near:
    """Where a solver begins that knows nothing; none (...) zero, rough (...): where its first guess will do."""
    point = none[..., None] * np.ones(3)
    return Near(point, point, none, none > 0, rough, none)


def packed_near(near: Near) -> Array:
    """(..., START) its numbers."""
    flags = [np.where(x, 1.0, 0.0)[..., None] for x in (near.known, near.rough)]
    return joined([near.P, near.Q, near.arc[..., None], *flags, near.way[..., None]])


def unpacked_near(x: Array) -> Near:
    """From its numbers (..., START)."""
    return Near(x[..., 0:3], x[..., 3:6], x[..., 6], x[..., 7] > 0, x[..., 8] > 0, x[..., 9])


def _touched(wrap: Wrap, before: Array, given: Array) -> Array:
    """All numbers of the contact."""
    A, B, *line = (given[..., 3 * i : 3 * i + 3] for i in range(4))
    near = unpacked_near(given[..., 12 : 12 + START])
    here = wrap.shaped(given[..., 12 + START :])
    c = here.contact(A, B, (line[0], line[1]), near=near)
    flags = [np.where(x, 1.0, 0.0) for x in (c.on, c.inside)]
    missed = np.minimum(c.missed + 0.0 * c.arc, FAR)
    numbers = (x[..., None] for x in (c.arc, *flags))
    return joined([c.P, c.Q, *numbers, np.minimum(c.jump, FAR), missed[..., None]])
