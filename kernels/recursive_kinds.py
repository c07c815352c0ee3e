"""The kinds of a recursion, traced: with what never goes from member to member left out."""

from collections.abc import Callable

import numpy as np

from myoquat.kernels.cutting import cut
from myoquat.kernels.mapped import partly_evaluated
from myoquat.kernels.recursion import PendingRecursion
from myoquat.kernels.recursive import Recursive, Way
from myoquat.kernels.tape import Tape
from myoquat.kernels.typing import Array
from myoquat.kernels.zeros import alive

__all__ = ["recursive_of"]

Traced = Callable[[list[int], list[Array]], tuple[Tape, Array]]


def recursive_of(pending: PendingRecursion, traced: Traced) -> Recursive:
    """A recursion from its formulas. traced(members, what may be other than zero in every pass) traces a kind; it is
    asked again where some numbers that go are zero in every state."""
    kinds = pending.kinds()
    rows = [len(pending.members[members[0]].row) for members in kinds]
    starts = [np.zeros(p.width) if p.start is None else p.start for p in pending.passes]
    here = [np.ones(p.width, dtype=bool) for p in pending.passes]
    found = [traced(members, here) for members in kinds]
    here = alive([tape for tape, _ in found], rows, starts)
    if not all(map(np.all, here)):
        found = [traced(members, here) for members in kinds]
    widths = [int(lives.sum()) for lives in here]
    cuts = [
        cut(partly_evaluated(tape, row + sum(widths), numbers), members, row, widths)
        for members, row, (tape, numbers) in zip(kinds, rows, found, strict=True)
    ]
    ways = [
        Way(width, tuple(start[lives].tolist()) if p.down else None)
        for p, width, start, lives in zip(pending.passes, widths, starts, here, strict=True)
    ]
    return Recursive(tuple(cuts), pending.parents, tuple(ways))
