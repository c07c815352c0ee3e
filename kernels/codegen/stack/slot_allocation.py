"""When a formula with calls inside computes each node, and how long its arrays are needed.

Level n of a formula comes after n of its calls. A node that waits for no call is computed at the first level that needs
it, not before. Arrays that are passed to a call are filled just before it. The arrays of one call can then lie where
those of others were, and the frame of a long formula stays in the processor's cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from myoquat.kernels.tracing.tape import Ends, Tape, levels

__all__ = ["Schedule", "arrays_of", "at_once", "in_time"]


@dataclass(frozen=True)
class Schedule:
    """The level of every node, and the level at which every flat output is stored."""

    levels: list[int]
    due: list[int]


def at_once(tape: Tape, ends: Sequence[Ends]) -> Schedule:
    """Everything as soon as it can be."""
    found = levels(tape, [e.gives for e in ends])
    return Schedule(found, [found[i] for i in tape.outputs])


def in_time(tape: Tape, ends: Sequence[Ends], late: Sequence[bool]) -> Schedule:
    """Nodes that wait for no call are computed as late as possible, all others as early as possible. The arrays of
    calls that are `late` are filled just before these."""
    if not ends:
        return at_once(tape, ends)
    soon, asked = levels(tape, [e.gives for e in ends]), [len(ends)] * len(tape.nodes)
    own = len(tape.outputs) - sum(e.takes for e in ends)
    call_of = [-1] * own + [call for call, e in enumerate(ends) for _ in range(e.takes)]
    for index, call in zip(tape.outputs, call_of, strict=True):
        asked[index] = min(asked[index], call if call >= 0 and late[call] else soon[index])
    found = list(soon)
    for index in range(len(tape.nodes) - 1, -1, -1):
        operands = tape.operands[index]
        if operands and not soon[index]:
            found[index] = asked[index]
        for i in operands:
            if found[index] < asked[i]:
                asked[i] = found[index]
    due = [call if call >= 0 and late[call] else found[i] for i, call in zip(tape.outputs, call_of, strict=True)]
    return Schedule(found, due)


def arrays_of(tape: Tape, ends: Sequence[Ends], kept: Sequence[bool], schedule: Schedule) -> tuple[list[int], int]:
    """The first slot of the arrays of every call, and the number of slots in all. Arrays that are needed at one level
    do not overlap. kept: whether the arrays of a call are kept in slots at all."""
    first_out = len(tape.outputs) - sum(e.takes for e in ends)
    begun, last = [], _last_read(tape, ends, schedule)
    for call, e in enumerate(ends):
        begun.append(min([call, *schedule.due[first_out : first_out + e.takes]]))
        first_out += e.takes
    placed: list[tuple[int, int, int, int]] = []  # first slot, slot behind the last one, first level, last level
    for call, e in enumerate(ends):
        start, end = begun[call], max(last[call], call)
        occupied = sorted((a, b) for a, b, first, final in placed if first <= end and start <= final)
        placed.append((*_gap(occupied, (e.takes + e.gives) * kept[call]), start, end))
    return [a for a, *_ in placed], max((b for _, b, *_ in placed), default=0)


def _gap(occupied: Sequence[tuple[int, int]], size: int) -> tuple[int, int]:
    """The first range of so many slots between ranges that are taken, in the order in which they begin."""
    first = 0
    for begin, end in occupied:
        if begin - first >= size:
            break
        first = max(first, end)
    return first, first + size


def _last_read(tape: Tape, ends: Sequence[Ends], schedule: Schedule) -> list[int]:
    """The last level at which a result of every call is read."""
    first_in = tape.inputs - sum(e.gives for e in ends)
    call_of = [call for call, e in enumerate(ends) for _ in range(e.gives)]
    sources = {
        index: call_of[int(node.number) - first_in]
        for index, node in enumerate(tape.nodes)
        if node.operation == "input" and node.number >= first_in
    }
    last = [0] * len(ends)
    for index, level in zip(tape.outputs, schedule.due, strict=True):
        if index in sources:
            last[sources[index]] = max(last[sources[index]], level)
    for operands, level in zip(tape.operands, schedule.levels, strict=True):
        for index in operands:
            if index in sources and level > last[sources[index]]:
                last[sources[index]] = level
    return last
