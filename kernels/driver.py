"""The loop around a compiled formula: one call takes a range of states from the caller's arrays to the caller's."""

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

from myoquat.kernels.ir import Builder, Module
from myoquat.kernels.rows import move_packed, read_rows, write_rows

__all__ = ["ENTRY", "PROTOTYPE", "Port", "write_driver"]

ENTRY = "kernel"
# table of (pointer, bytes between states) per array, first state, state after the last, frame
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Port(NamedTuple):
    """Where an input or output array meets a function: its first slot, its numbers per state, and the pointer from
    which slots count."""

    slot: int
    length: int
    base: str = "%frame"


def write_driver(module: Module, body: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Define ENTRY: for every W states read `inputs`, call `void body(ptr frame)`, write `outputs`.

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
    with b.loop("%begin", middle, module.lanes) as first:
        for array in read:
            array.move_packed(b, first, reading=True)
        b.line(f"call void @{body}(ptr %frame)")
        for array in written:
            array.move_packed(b, first, reading=False)
    with b.loop(middle, "%end", module.lanes) as first:
        for array in read:
            array.move(b, read_rows, first, last)
        b.line(f"call void @{body}(ptr %frame)")
        for array in written:
            array.move(b, write_rows, first, last)
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

    def move_packed(self, b: Builder, first: str, reading: bool) -> None:
        if self.port.length:
            move_packed(b, self.pointer, first, b.slot("%frame", self.port.slot), self.port.length, reading)

    def move(self, b: Builder, function: Callable[[Module, int], str], first: str, last: str) -> None:
        if self.port.length:
            name, slots = function(b.module, self.port.length), b.slot("%frame", self.port.slot)
            b.line(f"call void @{name}(ptr {self.pointer}, i64 {self.stride}, i64 {first}, i64 {last}, ptr {slots})")
