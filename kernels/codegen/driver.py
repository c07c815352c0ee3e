"""Between the caller's arrays, one row per state, and the frame, one slot of W lanes per component.

`write_driver` writes the loop over states. Blocks of W x W numbers go through registers: load rows, transpose by
shuffles, store slots. Where W does not divide the row's length, the last block overlaps the one before it, or narrower
ones follow. An overlap writes the same values again. In the last block of states, lanes beyond the end read and write
the last state's row. They hold the same state and hence the same results. So no lane works on invented numbers, and
nothing needs a mask.

Rows of a length are moved by a function that is the same in every kernel, so that a process compiles it once. In
place, they were nine tenths of a small kernel.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from .compaction import handed, padded
from .ir import Builder, Module

_MAX_UNROLLED_BLOCKS = 2  # column blocks beyond which they are walked in a loop


class Rows(NamedTuple):
    """W rows of an array of the caller: the address of the first, the bytes from row to row, and how many rows follow
    the first. Those beyond the last are the last."""

    first: str
    stride: str
    following: str

    def addresses(self, b: Builder) -> list[str]:
        """Where each begins."""
        found = [self.first]
        for lane in range(1, b.lanes):
            inside = b.let(f"icmp sge i64 {self.following}, {lane}")
            row = b.let(f"select i1 {inside}, i64 {lane}, i64 {self.following}")
            found.append(b.offset(self.first, b.let(f"mul i64 {row}, {self.stride}")))
        return found


def move_rows(b: Builder, rows: Rows, slots: str, length: int, reading: bool, behind: Sequence[int] = ()) -> None:
    """W rows of so many numbers into slots, or back. behind: how far each slot lies behind the first, where they do not
    follow each other."""
    if b.lanes == 1 and not behind:
        _Transfer(b, slots).move(rows.addresses(b), length, reading)
        return
    name = f"{'read' if reading else 'write'}_{length}_{'scattered' if behind else 'rows'}"
    values, inside = [rows.first, slots, rows.stride, rows.following], Rows("%rows", "%stride", "%following")
    parameters = ["ptr %rows", "ptr %slots", "i64 %stride", "i64 %following"]
    if behind:
        parameters.append("ptr %offsets")
        values.append(f"@{b.module.constants(np.array(behind, dtype=np.int64) * (8 * b.lanes))}")

    def define() -> None:
        own = b.module.builder()
        _Transfer(own, "%slots", "%offsets" if behind else "").move(inside.addresses(own), length, reading)
        own.line("ret void")
        b.module.define(name, "void", ", ".join(parameters), own, shared=True)

    b.module.once(name, define)
    given = (f"{parameter.split()[0]} {value}" for parameter, value in zip(parameters, values, strict=True))
    b.line(f"call void @{name}({', '.join(given)})")


class _Transfer:
    """Moves W rows between their addresses and slots. offsets: a table of how many bytes each slot lies behind the
    first; none where they follow each other."""

    def __init__(self, b: Builder, slots: str, offsets: str = "") -> None:
        self.b, self.slots, self.offsets = b, slots, offsets

    def move(self, rows: list[str], length: int, reading: bool) -> None:
        """All columns of rows of a known length, in blocks of the largest power of two that fits."""
        b, width = self.b, 1
        while 2 * width <= min(length, b.lanes):
            width *= 2
        blocks = length // width
        if blocks <= _MAX_UNROLLED_BLOCKS:
            for k in range(blocks):
                self.move_block(rows, str(k * width), width, reading)
        else:
            with b.loop(0, blocks * width, width) as column:
                self.move_block(rows, column, width, reading)
        rest = length - blocks * width
        if rest:
            width = rest if rest & (rest - 1) == 0 else width
            self.move_block(rows, str(length - width), width, reading)

    def move_block(self, rows: list[str], column: str, width: int, reading: bool) -> None:
        """The columns from `column` on, as many as `width`."""
        start = self.b.let(f"mul i64 {column}, 8")
        (self._read if reading else self._write)(rows, start, column, width)

    def _slot(self, column: str, k: int) -> str:
        """Address of the slot of column + k."""
        if self.offsets:
            row = self.b.offset(self.offsets, self.b.let(f"mul i64 {column}, 8"))
            return self.b.offset(self.slots, self.b.load(self.b.offset(row, 8 * k), "i64"))
        first = self.b.offset(self.slots, self.b.let(f"mul i64 {column}, {8 * self.b.lanes}"))
        return self.b.slot(first, k)

    def _read(self, rows: list[str], start: str, column: str, width: int) -> None:
        b = self.b
        loaded = [b.load(b.offset(row, start), _vector(width)) for row in rows]
        groups = [self._joined(loaded[k::width], width) for k in range(width)]
        for k, value in enumerate(self._transposed(groups)):
            b.store(value, self._slot(column, k))

    def _write(self, rows: list[str], start: str, column: str, width: int) -> None:
        b = self.b
        groups = self._transposed([b.load(self._slot(column, k)) for k in range(width)])
        for k, group in enumerate(groups):
            for position, lane in enumerate(range(k, b.lanes, width)):
                piece = self._shuffle(group, group, b.lanes, range(position * width, (position + 1) * width))
                b.store(piece, b.offset(rows[lane], start), _vector(width))

    def _joined(self, pieces: list[str], size: int) -> str:
        """Vectors of some size one after the other in one of W lanes."""
        while len(pieces) > 1:
            pieces = [
                self._shuffle(a, b, size, range(2 * size)) for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            size *= 2
        return pieces[0]

    def _transposed(self, v: list[str]) -> list[str]:
        """In every segment of C lanes, the C x C block that C registers hold, transposed."""
        lanes, width = self.b.lanes, len(v)
        distance = width // 2
        while distance:
            # Element k of a pair (a, b): the half of a segment below `distance` comes from a, the other from b.
            upper = [bool(k & distance) for k in range(lanes)]
            low = [lanes + k - distance if up else k for k, up in enumerate(upper)]
            high = [lanes + k if up else k + distance for k, up in enumerate(upper)]
            v = self._exchanged(v, distance, low, high)
            distance //= 2
        return v

    def _exchanged(self, v: list[str], distance: int, low: list[int], high: list[int]) -> list[str]:
        result = list(v)
        for k in range(len(v)):
            if not k & distance:
                result[k] = self._shuffle(v[k], v[k + distance], self.b.lanes, low)
                result[k + distance] = self._shuffle(v[k], v[k + distance], self.b.lanes, high)
        return result

    def _shuffle(self, a: str, b: str, size: int, order: "range | list[int]") -> str:
        """Elements of a (0 ... size-1) and b (size ...) in the given order."""
        if size == 1 and len(order) == 1:
            return a
        llvm_type = _vector(size)
        if size == 1:  # scalars become a vector
            first = self.b.let(f"insertelement <2 x double> poison, double {a}, i64 0")
            return self.b.let(f"insertelement <2 x double> {first}, double {b}, i64 1")
        if len(order) == 1:
            return self.b.let(f"extractelement {llvm_type} {a}, i64 {order[0]}")
        mask = ", ".join(f"i32 {k}" for k in order)
        return self.b.let(f"shufflevector {llvm_type} {a}, {llvm_type} {b}, <{len(order)} x i32> <{mask}>")


def _vector(size: int) -> str:
    return "double" if size == 1 else f"<{size} x double>"


# ---- the loop over states ----------------------------------------------------------------------------------


ENTRY = "kernel"
# table of (pointer, bytes between states) per array, first state, state after the last, frame
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Port(NamedTuple):
    """Where an input or output array meets a function: its first slot, its numbers per state, and the pointer from
    which slots count.

    shared_slots  how far the slot of each number lies behind the first, where equal ones share a slot.
    """

    slot: int
    length: int
    base: str = "%frame"
    shared_slots: tuple[int, ...] = ()


def write_driver(module: Module, body: str, inputs: Sequence[Port], outputs: Sequence[Port], size: int) -> None:
    """Define ENTRY: for every W states read `inputs`, call `void body(ptr frame)`, and write `outputs`. A module that
    takes several blocks of W states together calls `void body(ptr frame, i64 count)` for them, on frames of `size`
    bytes."""
    b = module.builder()
    ports = [*inputs, *outputs]
    arrays = [(b.load(b.offset("%table", 16 * k), "ptr"), b.load(b.offset("%table", 16 * k + 8), "i64"))
              for k in range(len(ports))]  # fmt: skip
    several, together = module.blocks > 1, module.lanes * module.blocks
    with b.loop("%begin", "%end", together) as first:
        remaining = b.let(f"sub i64 %end, {first}")
        fewer = b.let(f"icmp slt i64 {remaining}, {together}")
        count = b.let(f"select i1 {fewer}, i64 {remaining}, i64 {together}")

        @contextmanager
        def every_block() -> Iterator[tuple[str, str]]:
            """The frame of every block, and how many states come before it."""
            if not several:
                yield "%frame", "0"
                return
            with b.loop(0, count, b.lanes) as own:
                yield b.offset("%frame", b.let(f"mul i64 {b.let(f'udiv i64 {own}, {b.lanes}')}, {size}")), own

        def move(chosen: slice, reading: bool) -> None:
            with every_block() as (frame, own):
                state = b.let(f"add i64 {first}, {own}")
                following = b.let(f"sub i64 {b.let(f'sub i64 {count}, 1')}, {own}")
                for port, (pointer, stride) in zip(ports[chosen], arrays[chosen], strict=True):
                    rows = Rows(b.offset(pointer, b.let(f"mul i64 {state}, {stride}")), stride, following)
                    move_rows(b, rows, b.slot(frame, port.slot), port.length, reading, port.shared_slots)

        move(slice(len(inputs)), True)
        b.line(f"call void @{body}(ptr %frame{f', i64 {count}' if several else ''})")
        for port in outputs if several else ():  # lanes beyond the last state hold the same, since all are written
            own = handed([(b.slot("%frame", port.slot), size)])
            b.line(f"call void @{padded(module)}(i64 {count}, i64 {port.length}{own})")
        move(slice(len(inputs), None), False)
    b.line("ret void")
    module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b)
