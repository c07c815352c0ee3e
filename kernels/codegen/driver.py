"""Between the caller's arrays, one row per state, and the frame, one slot of W lanes per component.

`write_driver` writes the loop over states. Blocks of W x W numbers go through registers: load rows, transpose by
shuffles, store slots. Where W does not divide the row's length, the last block overlaps the one before it, or narrower
ones follow. An overlap writes the same values again. In the last block of states, lanes beyond the end read and write
the last state's row. They hold the same state and hence the same results. So no lane works on invented numbers, and
nothing needs a mask.

The length of a row is an argument of these functions, so that their code is the same in every kernel and is compiled
once. Short rows that lie one after the other are moved in place.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from myoquat.core import digest

from .compaction import handed, padded
from .ir import Builder, Module

_MAX_SINGLE_COLUMNS = 2  # last columns up to which each is moved by itself
_MAX_BLOCKS_IN_PLACE = 2  # column blocks up to which a call would take a noticeable part of the time
_MAX_UNROLLED_BLOCKS = 4  # column blocks beyond which they are walked in a loop
_STRIDED = "ptr %rows, i64 %stride, i64 %first, i64 %last, ptr %slots, i64 %length"
_PACKED = "ptr %rows, ptr %slots, i64 %length"
_SHARED = f"{_STRIDED}, ptr %offsets"


def read_rows(b: Builder, rows: str, stride: str, first: str, last: str, slots: str, length: int) -> None:
    """W rows from number `first` on into `length` slots.

    Row k begins at rows + k stride (bytes); rows beyond `last` are taken as `last`.
    """
    _call(b, "read_rows", _STRIDED, (rows, stride, first, last, slots, length))


def write_rows(b: Builder, rows: str, stride: str, first: str, last: str, slots: str, length: int) -> None:
    """The way back, with the same arguments."""
    _call(b, "write_rows", _STRIDED, (rows, stride, first, last, slots, length))


def write_shared_slots(
    b: Builder, rows: tuple[str, str], first: str, last: str, slots: str, behind: Sequence[int]
) -> None:
    """As `write_rows` from slots that lie so far behind the first; rows: their begin, and the bytes between them."""
    offsets = np.array(behind, dtype=np.int64) * (8 * b.lanes)
    table = b.module.constants_unless_known(f"offsets_{digest(offsets.tobytes())[:16]}", offsets)
    _call(b, "write_shared_slots", _SHARED, (*rows, first, last, slots, len(behind), f"@{table}"))


def move_packed(b: Builder, rows: str, first: str, slots: str, length: int, reading: bool) -> None:
    """W rows that lie one after the other, from row `first` on, into slots or back."""
    begin = b.offset(rows, b.let(f"mul i64 {first}, {8 * length}"))
    if length == 1:
        source, target = (begin, slots) if reading else (slots, begin)
        b.store(b.load(source), target)
    elif b.lanes == 1 or length <= _MAX_BLOCKS_IN_PLACE * b.lanes:
        addresses = [b.offset(begin, 8 * length * lane) for lane in range(b.lanes)]
        _Transfer(b, slots).move(addresses, length, reading)
    else:
        _call(b, f"{'read' if reading else 'write'}_contiguous_rows", _PACKED, (begin, slots, length))


def _call(b: Builder, name: str, parameters: str, given: Sequence[str | int]) -> None:
    """Call a function that moves W rows, which is written at first use: rows that lie one after the other, or `stride`
    apart; those beyond the last are the last."""

    def define() -> None:
        own, addresses = b.module.builder(), list[str]()
        for lane in range(own.lanes):
            if parameters == _PACKED:
                addresses.append(own.offset("%rows", own.let(f"mul i64 %length, {8 * lane}")))
                continue
            row = own.let(f"add i64 %first, {lane}")
            inside = own.let(f"icmp slt i64 {row}, %last")
            row = own.let(f"select i1 {inside}, i64 {row}, i64 %last")
            addresses.append(own.offset("%rows", own.let(f"mul i64 {row}, %stride")))
        transfer = _Transfer(own, "%slots", "%offsets" if parameters == _SHARED else None)
        transfer.move_any(addresses, name.startswith("read"))
        own.line("ret void")
        b.module.define(name, "void", parameters, own, shared=True)

    types = (parameter.split()[0] for parameter in parameters.split(", "))
    passed = ", ".join(f"{llvm_type} {value}" for llvm_type, value in zip(types, given, strict=True))
    b.line(f"call void @{b.module.once(name, define)}({passed})")


class _Transfer:
    """Moves W rows between their addresses and slots. offsets: a table of how many bytes each slot lies behind the
    first, None where they follow each other."""

    def __init__(self, b: Builder, slots: str, offsets: str | None = None) -> None:
        self.b = b
        self.offsets = offsets
        self.slots = slots

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

    def move_any(self, rows: list[str], reading: bool) -> None:
        """All columns of rows of %length numbers, in blocks of W columns, the last of which overlaps the one before it.
        If few columns remain, or the row is shorter than W, they are moved one by one."""
        b = self.b
        whole = b.let(f"and i64 %length, {-b.lanes}")
        with b.loop(0, whole, b.lanes) as column:
            self.move_block(rows, column, b.lanes, reading)
        if b.lanes == 1:
            return
        few = b.let(f"icmp sle i64 {b.let(f'sub i64 %length, {whole}')}, {_MAX_SINGLE_COLUMNS}")
        short = b.let(f"icmp slt i64 %length, {b.lanes}")
        single = b.let(f"or i1 {few}, {short}")
        with b.when(b.let(f"xor i1 {single}, true")):
            self.move_block(rows, b.let(f"sub i64 %length, {b.lanes}"), b.lanes, reading)
        with b.when(single), b.loop(whole, "%length") as column:
            self.move_block(rows, column, 1, reading)

    def move_block(self, rows: list[str], column: str, width: int, reading: bool) -> None:
        """The columns from `column` on, as many as `width`."""
        start = self.b.let(f"mul i64 {column}, 8")
        (self._read if reading else self._write)(rows, start, column, width)

    def _slot(self, column: str, k: int) -> str:
        """Address of the slot of column + k."""
        if self.offsets is not None:
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
    bytes.

    Whole blocks of W states whose rows all lie one after the other are moved in place; others by functions.
    """
    b = module.builder()
    arrays = [
        _Array(port, b.load(b.offset("%table", 16 * k), "ptr"), b.load(b.offset("%table", 16 * k + 8), "i64"))
        for k, port in enumerate([*inputs, *outputs])
    ]
    read, written = arrays[: len(inputs)], arrays[len(inputs) :]
    last = b.let("sub i64 %end, 1")
    middle = _packed_until(b, arrays)
    for begin, end, packed in (("%begin", middle, True), (middle, "%end", False)):
        with b.loop(begin, end, module.lanes * module.blocks) as first:
            states = _Together(b, first, end, size)
            for array, frame, own in states.of(read):
                array.move(b, frame, own, last, read_rows, packed)
            states.call(body)
            if not packed:
                states.fill_up(written)
            for array, frame, own in states.of(written):
                array.move(b, frame, own, last, write_rows, packed)
    b.line("ret void")
    module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b, linkage="")


def _packed_until(b: Builder, arrays: Sequence["_Array"]) -> str:
    """The state up to which whole blocks of packed rows reach: `begin` where an array's rows have gaps."""
    packed = "true"
    for array in arrays:
        if array.port.length:
            packed = b.let(f"and i1 {packed}, {b.let(f'icmp eq i64 {array.stride}, {8 * array.port.length}')}")
    count = b.let("sub i64 %end, %begin")
    whole = b.let(f"and i64 {count}, {-b.lanes}")
    return b.let(f"add i64 %begin, {b.let(f'select i1 {packed}, i64 {whole}, i64 0')}")


class _Array(NamedTuple):
    """An array of the caller in machine code."""

    port: Port
    pointer: str
    stride: str

    def move(self, b: Builder, frame: str, first: str, last: str, function: Callable[..., None], packed: bool) -> None:
        """W rows between a frame and the array."""
        if not self.port.length:
            return
        slots = b.slot(frame, self.port.slot)
        if self.port.shared_slots:
            write_shared_slots(b, (self.pointer, self.stride), first, last, slots, self.port.shared_slots)
        elif packed:
            move_packed(b, self.pointer, first, slots, self.port.length, function is read_rows)
        else:
            function(b, self.pointer, self.stride, first, last, slots, self.port.length)


class _Together(NamedTuple):
    """The states that go through the body together, from `first` on but none from `end` on. size: the bytes from frame
    to frame."""

    b: Builder
    first: str
    end: str
    size: int

    def of(self, arrays: Sequence[_Array]) -> Iterator[tuple[_Array, str, str]]:
        """Every array, with the frame and the first state of every block in turn."""
        b = self.b
        if b.module.blocks == 1:
            yield from ((array, "%frame", self.first) for array in arrays)
            return
        with b.loop(0, self._count(), b.lanes) as own:
            frame = b.offset("%frame", b.let(f"mul i64 {b.let(f'udiv i64 {own}, {b.lanes}')}, {self.size}"))
            first = b.let(f"add i64 {self.first}, {own}")
            yield from ((array, frame, first) for array in arrays)

    def call(self, body: str) -> None:
        """The body."""
        if self.b.module.blocks == 1:
            self.b.line(f"call void @{body}(ptr %frame)")
        else:
            self.b.line(f"call void @{body}(ptr %frame, i64 {self._count()})")

    def fill_up(self, arrays: Sequence[_Array]) -> None:
        """Lanes beyond the last state hold the same as that, since all lanes are written."""
        b = self.b
        if b.module.blocks > 1:
            for array in arrays:
                first = b.slot("%frame", array.port.slot)
                numbers = f"i64 {self._count()}, i64 {array.port.length}{handed([(first, self.size)])}"
                b.line(f"call void @{padded(b.module)}({numbers})")

    def _count(self) -> str:
        """How many states there are."""
        b, most = self.b, self.b.lanes * self.b.module.blocks
        left = b.let(f"sub i64 {self.end}, {self.first}")
        return b.let(f"select i1 {b.let(f'icmp slt i64 {left}, {most}')}, i64 {left}, i64 {most}")
