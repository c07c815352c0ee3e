"""The loop around a compiled formula: one call takes a range of states from the caller's arrays to the caller's."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from kernels.ir import Module
from kernels.rows import read_rows, write_rows

__all__ = ["ENTRY", "PROTOTYPE", "Port", "write_driver"]

ENTRY = "kernel"
# table of (pointer, bytes between states) per array, first state, state after the last, frame
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Port(NamedTuple):
    """Where an input or output array meets the frame: its first slot, and its numbers per state."""

    slot: int
    length: int


def write_driver(module: Module, body: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Define ENTRY: for every W states read `inputs`, call `void body(ptr frame)`, write `outputs`."""
    b = module.builder()
    ports = [*inputs, *outputs]
    pointers = [b.load(b.offset("%table", 16 * k), "ptr") for k in range(len(ports))]
    strides = [b.load(b.offset("%table", 16 * k + 8), "i64") for k in range(len(ports))]
    last = b.let("sub i64 %end, 1")
    with b.loop("%begin", "%end", module.lanes) as first:

        def transfer(function: str, k: int) -> None:
            slots = b.slot("%frame", ports[k].slot)
            b.line(f"call void @{function}(ptr {pointers[k]}, i64 {strides[k]}, i64 {first}, i64 {last}, ptr {slots})")

        for k, port in enumerate(ports):
            if k == len(inputs):
                b.line(f"call void @{body}(ptr %frame)")
            if port.length:
                transfer((read_rows if k < len(inputs) else write_rows)(module, port.length), k)
        if not outputs:
            b.line(f"call void @{body}(ptr %frame)")
    b.line("ret void")
    module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b, linkage="")
