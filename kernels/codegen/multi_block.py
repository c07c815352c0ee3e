"""Functions over several blocks of states: what they call takes one block after the other, or all of them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from myoquat.kernels.codegen.compaction import block_count, handed
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.stack.stack_frames import Frame

__all__ = ["Call", "CallForm", "MultiBlock", "listed", "pointers_of"]


class CallForm(Enum):
    """How a function is called in the middle of another one: for a block of states after the other, or for all."""

    BLOCK = auto()  # `void name(ptr frame)` for a block, on the caller's frame
    PART = auto()  # the same, with all pointers of its caller
    BEHIND = auto()  # `void name(ptr frame, ptr array, ...)` for a block, on a frame behind those of its caller
    TOGETHER = auto()  # `void name(ptr frame, i64 count)` for all blocks, on the frames of its caller
    TOGETHER_BEHIND = auto()  # `void name(ptr frame, i64 count, ptr array, i64 stride, ...)`, on frames behind these


class Call(NamedTuple):
    """A call inside a tape. It consumes the last `takes` outputs and produces the last `gives` inputs; several calls
    share these in their order. `arrays`: the first slot, in the caller's frame, of each array that is passed to it."""

    name: str
    gives: int = 0
    takes: int = 0
    way: CallForm = CallForm.BLOCK
    arrays: tuple[int, ...] = ()


@dataclass(frozen=True)
class MultiBlock:
    """A function `void name(ptr frame, i64 count, ptr array, i64 stride, ...)` over several blocks; pointers: its frame
    and its arrays."""

    module: Module
    name: str
    frame: Frame
    pointers: Sequence[str] = ("%frame",)

    def write(self, calls: Sequence[Call]) -> None:
        """Define it, as soon as the size of its frame is known."""
        arrays = (f", ptr {pointer}, i64 {pointer}_stride" for pointer in self.pointers[1:])
        parameters = "ptr %frame, i64 %count" + "".join(arrays)
        self.module.expect(self.name, parameters)
        self.frame.later(lambda size: self._write(calls, parameters, size))

    def _write(self, calls: Sequence[Call], parameters: str, size: int) -> None:
        b = self.module.builder()
        blocks = block_count(b, "%count")
        behind = b.offset("%frame", b.let(f"mul i64 {blocks}, {size}"))
        with b.loop(0, blocks) as block:
            own = b.offset("%frame", b.let(f"mul i64 {block}, {size}"))
            b.store(behind, b.slot(own, self.frame.link or 0), "ptr")
        for in_turn, run in itertools.groupby(
            calls, lambda call: call.way in (CallForm.BLOCK, CallForm.PART, CallForm.BEHIND)
        ):
            if in_turn:
                self._in_turn(b, [*run], (blocks, size), behind)
                continue
            for call in run:
                frame = "%frame" if call.way == CallForm.TOGETHER else behind
                arrays = handed([(b.slot("%frame", slot), size) for slot in call.arrays])
                b.line(f"call void @{call.name}(ptr {frame}, i64 %count{arrays})")
        b.line("ret void")
        self.module.define(self.name, "void", parameters, b)

    def _in_turn(self, b: Builder, calls: Sequence[Call], frames: tuple[str, int], behind: str) -> None:
        """Calls for one block after the other, of so many with frames of so many bytes."""
        blocks, size = frames
        with b.loop(0, blocks) as block:
            strides = [size, *(f"{pointer}_stride" for pointer in self.pointers[1:])]
            own = [
                b.offset(pointer, b.let(f"mul i64 {block}, {stride}"))
                for pointer, stride in zip(self.pointers, strides, strict=True)
            ]
            for call in calls:
                b.line(f"call void @{call.name}({listed(pointers_of(b, call, own, behind))})")


def pointers_of(b: Builder, call: Call, own: Sequence[str], behind: str) -> list[str]:
    """What a call for one block is handed, of the pointers of its caller and what is behind all frames."""
    if call.way == CallForm.BEHIND:
        return [behind, *(b.slot(own[0], slot) for slot in call.arrays)]
    return [*own] if call.way == CallForm.PART else [own[0]]


def listed(pointers: Sequence[str]) -> str:
    """Pointers as they are named and handed on."""
    return ", ".join(f"ptr {pointer}" for pointer in pointers)
