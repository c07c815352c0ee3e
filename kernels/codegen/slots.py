"""Stack memory of kernels: slots of a frame, their allocation, and numbers moved between them.

Few numbers are moved one by one, many in a loop, so that the code does not grow with them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.tracing.tape import Ends, Tape, levels

from .driver import Port
from .ir import Builder, Module, double

At: TypeAlias = Callable[..., str]  # of a port, and the register of its frame: the address of a turn's components

_MAX_UNROLLED_MOVES = 16  # moves that are written one by one


class Place(NamedTuple):
    """A slot, and the pointer from which it counts."""

    slot: int
    base: str = "%frame"

    def of(self, b: Builder) -> str:
        """Its address."""
        return b.slot(self.base, self.slot)


def copy(b: Builder, pairs: Sequence[tuple[Place, Place]]) -> None:
    """From slots to others, by tables if they are many."""
    by_bases: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for source, target in pairs:
        by_bases.setdefault((source.base, target.base), []).append((source.slot, target.slot))
    for (here, there), moves in by_bases.items():
        if len(moves) <= _MAX_UNROLLED_MOVES:
            for first, second in moves:
                b.store(b.load(b.slot(here, first)), b.slot(there, second))
            continue
        offsets = np.array(moves, dtype=np.int64) * (8 * b.lanes)
        table = b.module.constants(offsets)
        with b.loop(0, 16 * len(moves), 16) as at:
            row = b.offset(f"@{table}", at)
            taken, given = (b.load(b.offset(row, 8 * j), "i64") for j in (0, 1))
            b.store(b.load(b.offset(here, taken)), b.offset(there, given))


def fill(b: Builder, values: Sequence[tuple[float, Place]]) -> None:
    """Constants into slots (number, slot); many are copied from a table."""
    if len(values) <= _MAX_UNROLLED_MOVES:
        for number, place in values:
            b.store(number, place.of(b))
        return
    distinct = {double(number): number for number, _ in values}
    slot_of = {bits: k for k, bits in enumerate(distinct)}
    table = f"@{b.module.constants(np.repeat([*distinct.values()], b.lanes))}"
    copy(b, [(Place(slot_of[double(number)], table), place) for number, place in values])


def turns(b: Builder, length: int) -> Iterator[At]:
    """Iterations over the components of arrays of a length: where in a port's array each lies. Few iterations are
    written out; many are one, in a loop."""
    if length <= _MAX_UNROLLED_MOVES:
        yield from (_at(b, k) for k in range(length))
        return
    with b.loop(0, length) as counter:
        yield _at(b, counter)


def _at(b: Builder, component: int | str) -> At:
    """The place of a component, by its number or the register of that."""
    size = 8 * b.lanes
    if isinstance(component, int):
        return lambda port, base="%frame": b.offset(base, size * (port.slot + component))
    own = b.let(f"mul i64 {component}, {size}")
    return lambda port, base="%frame": b.offset(b.offset(base, own), size * port.slot)


def copy_port(b: Builder, source: Port, target: Port, bases: tuple[str, str] = ("%frame", "%frame")) -> None:
    """Copy an array, each counted from its own base; nothing for an array onto itself."""
    if source.slot != target.slot or bases[0] != bases[1]:
        for at in turns(b, source.length):
            b.store(b.load(at(source, bases[0])), at(target, bases[1]))


# ---- Frames: blocks of memory that hold everything a function touches ------------------------------------------


_ALIGNMENT_BYTES = 64  # bytes


class Frame:
    """Hands out slots of a frame; `slots` is its size so far.

    Functions that are written once and called several times have frames of their own, as on a stack. They lie in the
    memory behind the caller's frame, whose size is known when all its slots are handed out (`finish`).

    apart: whether each of several blocks of states has a frame of its own, one after the other. Otherwise they have one
    in turn.
    """

    def __init__(self, module: Module, apart: bool = False) -> None:
        self.module, self.apart, self.slots = module, apart, 0
        self._beyond = 0
        self._later: list[Callable[[int], None]] = []

    @property
    def size(self) -> int:
        """Bytes of a block's frame."""
        return _ALIGNMENT_BYTES * -(-8 * self.module.lanes * self.slots // _ALIGNMENT_BYTES)

    def take(self, count: int) -> int:
        """First of `count` fresh slots in a row."""
        first = self.slots
        self.slots += count
        return first

    def call(self, size: int) -> None:
        """A function is called that needs so many bytes."""
        self._beyond = max(self._beyond, size)

    def later(self, write: Callable[[int], None]) -> None:
        """What needs to know the bytes from frame to frame is written when they are known."""
        self._later.append(write)

    def finish(self) -> int:
        """All slots are handed out: write what waits for it. Returns the bytes that the frames and those of all
        functions take."""
        size, several = self.size, self.module.blocks > 1
        step = size if self.apart or not several else 0
        for write in self._later:
            write(step)
        return size + step * (self.module.blocks - 1) + self._beyond


class Planned(Frame):
    """Slots of a frame from a place on that has been reserved for them."""

    def __init__(self, frame: Frame, first: int) -> None:
        super().__init__(frame.module)
        self.frame, self.slots = frame, first

    def call(self, size: int) -> None:
        """As from the frame."""
        self.frame.call(size)


# ---- When a formula with calls inside computes each node, and how long its arrays are needed -------------------
# Level n of a formula comes after n of its calls. A node that waits for no call is computed at the first level that
# needs it, not before. Arrays that are passed to a call are filled just before it. The arrays of one call can then
# lie where those of others were, and the frame of a long formula stays in the processor's cache.


@frozen
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
