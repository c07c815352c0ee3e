"""Contacts as calls: in a kernel, the formula of a kind of surface stands once, whatever number of surfaces it serves.

What a path does at a surface, where several act, is asked many times over. Here the surface's numbers are data beside
the ends of the path, and the formula is a step that is taken once (`myoquat.kernels.iterate`), so that a kernel holds
it as one function for all surfaces of its kind and quadrant.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Line, Wrap

__all__ = ["SIZE", "Touch", "touched"]

FAR = 1e9  # [m] that stands for no jump, and for a solution that was not found
SIZE = 14  # numbers of a touch


@dataclass(frozen=True)
class Touch(Contact):
    """A contact in the surface's frame, and a vector (..., 3) across the surface at P."""

    across: Array | float = 0.0

    @classmethod
    def unpacked(cls, x: Array) -> "Touch":
        """From its numbers (..., SIZE)."""
        P, Q, across = (x[..., 3 * i : 3 * i + 3] for i in range(3))
        arc, on, inside, jump, missed = (x[..., i] for i in range(9, SIZE))
        return cls(on > 0, P, Q, arc, inside > 0, jump, missed, across)

    def passed_over(self, where: Array) -> "Touch":
        """The same that is not touched where the condition holds, and told as passed over where it would be."""
        return replace(self, on=self.on & ~where, inside=self.inside | (self.on & where))

    def packed(self, numbers: Array) -> Array:
        """(..., SIZE) its numbers, of which only `on` and `inside` differ from those it was unpacked from."""
        flags = [np.where(x, 1.0, 0.0)[..., None] for x in (self.on, self.inside)]
        return joined([numbers[..., :10], *flags, numbers[..., 12:]])


def touched(
    wrap: Wrap, numbers: Array, ends: Line, line: Line, where: Array | bool = True, backwards: bool = False
) -> Array:
    """(..., SIZE) the numbers of `wrap.contact` between two points of the surface's frame, for a surface of `numbers`
    (..., n); zeros where `where` is false."""
    none = 0.0 * ends[0][..., :1]
    needed = none + 1.0 if where is True else np.where(where, 1.0, 0.0)[..., None]
    given = joined([*ends, *line, needed, numbers])
    step = partial(_touched, wrap.prototype, backwards)
    return iterate(step, none * np.ones(SIZE), given, 1, where=needed[..., 0] > 0)


def _touched(wrap: Wrap, backwards: bool, before: Array, given: Array) -> Array:
    """All numbers of the contact."""
    A, B, *line = (given[..., 3 * i : 3 * i + 3] for i in range(4))
    here = wrap.shaped(given[..., 13:])
    c = here.contact(A, B, (line[0], line[1]), given[..., 12] > 0, backwards)
    flags = [np.where(x, 1.0, 0.0) for x in (c.on, c.inside)]
    numbers = [c.arc, *flags, np.minimum(c.jump, FAR), np.minimum(c.missed + 0.0 * c.arc, FAR)]
    return joined([c.P, c.Q, here.normal(c.P), *(x[..., None] for x in numbers)])
