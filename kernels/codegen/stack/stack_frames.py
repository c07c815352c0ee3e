"""Frames: blocks of memory that hold everything a function touches."""

from collections.abc import Callable
from typing import TypeAlias

from myoquat.kernels.codegen.ir import Builder

__all__ = ["Behind", "Frame", "Planned"]

_ALIGNMENT_BYTES = 64  # bytes

Behind: TypeAlias = Callable[[Builder], str]  # in a function on a frame: where the frames of those that it calls begin


class Frame:
    """Hands out slots of a frame; `slots` is its size so far.

    Functions that are written once and called several times have frames of their own, as on a stack. They lie in the
    memory behind the caller's frame, whose size is known when all its slots are handed out (`finish`).

    blocks: how many blocks of states a function takes together. It then has so many frames one after the other, and
    each holds the address of the memory behind the last one.
    """

    def __init__(self, blocks: int = 1) -> None:
        self.slots = 0
        self.blocks = blocks
        self.link = self.take(1) if blocks > 1 else None  # the slot of the address of what is behind
        self._wide: _WideFrame | None = None
        self._calls: list[Callable[[Behind], None]] = []
        self._whole: list[Callable[[int], None]] = []
        self._beyond = 0

    def take(self, count: int) -> int:
        """First of `count` fresh slots in a row."""
        first = self.slots
        self.slots += count
        return first

    def widened(self, lanes: int) -> "Frame":
        """The frame of functions that take more lanes than the kernel's one, on the same memory."""
        self._wide = self._wide or _WideFrame(self, lanes)
        return self._wide

    def call(self, size: int, write: Callable[[Behind], None] | None = None) -> None:
        """A function is called that needs so many bytes; `write` writes the call."""
        self._beyond = max(self._beyond, size)
        if write:
            self._calls.append(write)

    def later(self, write: Callable[[int], None]) -> None:
        """What needs to know the bytes of a block's frame is written when they are known."""
        self._whole.append(write)

    def block_size(self, lanes: int) -> int:
        """Bytes of a block's frame, with so many lanes."""
        return _ALIGNMENT_BYTES * -(-8 * lanes * self.slots // _ALIGNMENT_BYTES)

    def finish(self, lanes: int) -> int:
        """All slots, of so many lanes, are handed out: write what calls functions. Returns the bytes that the frame and
        those of all functions take."""
        end = self.block_size(lanes)

        def behind(b: Builder) -> str:
            return b.offset("%frame", end) if self.link is None else b.load(b.slot("%frame", self.link), "ptr")

        for write in self._calls:
            write(behind)
        for whole in self._whole:
            whole(end)
        return end * self.blocks + self._beyond


class Planned(Frame):
    """Slots of a frame from a place on that has been reserved for them."""

    def __init__(self, frame: Frame, first: int) -> None:
        super().__init__()
        self.frame = frame
        self.slots, self.blocks = first, frame.blocks

    def call(self, size: int, write: Callable[[Behind], None] | None = None) -> None:
        """As from the frame."""
        self.frame.call(size, write)


class _WideFrame(Planned):
    """Slots of many lanes in the memory of a frame of one lane: slot k lies where those from k `lanes` on lie."""

    def __init__(self, frame: Frame, lanes: int) -> None:
        super().__init__(frame, 0)
        self.lanes = lanes

    def take(self, count: int) -> int:
        """First of `count` fresh slots in a row."""
        first = -(-self.frame.slots // self.lanes)
        self.frame.slots = self.lanes * (first + count)
        return first
