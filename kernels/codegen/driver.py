"""The loop around a compiled formula: one call takes a range of states from the caller's arrays to the caller's."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from myoquat.kernels.codegen.compaction import handed, padded
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.row_transfer import (
    addresses_of_rows,
    move_packed,
    read_rows,
    write_rows,
    write_shared_slots,
)

__all__ = ["ENTRY", "PROTOTYPE", "Port", "write_driver"]

ENTRY = "kernel"
# table of (pointer, bytes between states) per array, first state, state after the last, frame
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Port(NamedTuple):
    """Where an input or output array meets a function: its first slot, its numbers per state, and the pointer from
    which slots count.

    shared_slots  how far the slot of each number lies behind the first, where equal ones share a slot.
    rows          the slot holds the addresses of the rows of W states, and the function writes these itself.
    """

    slot: int
    length: int
    base: str = "%frame"
    shared_slots: tuple[int, ...] = ()
    rows: bool = False


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
            for array, frame, own in states.of(written):
                array.hand_rows(b, frame, own, last)
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
        if not self.port.length or self.port.rows:
            return
        slots = b.slot(frame, self.port.slot)
        if self.port.shared_slots:
            write_shared_slots(b, (self.pointer, self.stride), first, last, slots, self.port.shared_slots)
        elif packed:
            move_packed(b, self.pointer, first, slots, self.port.length, function is read_rows)
        else:
            function(b, self.pointer, self.stride, first, last, slots, self.port.length)

    def hand_rows(self, b: Builder, frame: str, first: str, last: str) -> None:
        """The addresses of W rows into the slot of a function that writes them; rows beyond the last are the last."""
        if self.port.rows:
            slot = b.slot(frame, self.port.slot)
            for lane, address in enumerate(addresses_of_rows(b, self.pointer, self.stride, first, last)):
                b.store(address, b.offset(slot, 8 * lane), "ptr")


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
