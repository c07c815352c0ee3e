"""The kinds of a recursion, traced: with what never goes from member to member left out."""

from collections.abc import Callable

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.control_flow.map_rows import partly_evaluated
from myoquat.kernels.control_flow.structural_zeros import alive
from myoquat.kernels.control_flow.traced_tree_scan import Recursive, Way
from myoquat.kernels.control_flow.tree_scan import PendingRecursion
from myoquat.kernels.control_flow.tree_scan_stages import cut
from myoquat.kernels.tracing.tape import Tape

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
