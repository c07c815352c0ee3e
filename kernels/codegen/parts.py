"""What bodies of kernels are made of: their arrays on the frame, what they cost, and calls in the middle of them."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from myoquat.core import frozen
from myoquat.kernels.codegen.compaction import block_count, handed
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.elementary import ARITY
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.slots import Frame, Place
from myoquat.kernels.tracing.tape import Signature, Tape, Traced

__all__ = [
    "NANOSECONDS_PER_OPERATION",
    "Body",
    "Call",
    "CallForm",
    "Cost",
    "InnerCall",
    "MultiBlock",
    "Ports",
    "Size",
    "WrittenBody",
    "listed",
    "pointers_of",
    "price",
    "slots_in",
    "slots_of",
    "slots_of_ports",
    "take_ports",
    "take_results",
]


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


@frozen
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


# ---- arrays and costs --------------------------------------------------------------------------------------


NANOSECONDS_PER_OPERATION = 0.05  # nanoseconds per operation and state, about, on eight lanes
_NANOSECONDS_PER_ELEMENTARY_FUNCTION = 1.5
# outputs with so many numbers are written by a table of their slots if at most this part of them differ
_MIN_SHARED, _MOST_OWN = 64, 0.75

Ports = dict[str, Port]


@frozen
class Size:
    """What a kernel needs and costs: slots of its frame, operations per state, and a rough price in nanoseconds."""

    slots: int
    operations: int
    price: float


class Cost(NamedTuple):
    """Operations per state and a rough price in nanoseconds, with the maximum number of iterations of every loop."""

    operations: int
    price: float

    def times(self, count: int) -> "Cost":
        """Of so many iterations."""
        return Cost(self.operations * count, self.price * count)

    @staticmethod
    def total(costs: "Iterable[Cost]") -> "Cost":
        """Of all together."""
        return Cost(*(sum(column) for column in zip((0, 0.0), *costs, strict=True)))


class WrittenBody(Protocol):
    """Something that evaluates named inputs to named outputs on the slots of a frame."""

    @property
    def signature(self) -> Signature: ...

    @property
    def multi_block(self) -> bool:
        """Whether a kernel takes several blocks of states together for it (`compaction`)."""

    def identity(self) -> str:
        """Text that two bodies share only if they write the same code."""

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        """Define `void name(ptr frame)`, which reads the inputs' ports and writes the outputs'; of one over several
        blocks, on a frame that is, `void name(ptr frame, i64 count)`."""


Body = Traced | WrittenBody  # of a kernel: a traced formula, or what writes itself


class WriteFormula(Protocol):
    """Defines a traced formula as `void name(ptr frame, more...)`, which reads and writes ports."""

    def __call__(
        self, traced: Traced, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports,
        more: Sequence[str] = ()
    ) -> Cost: ...  # fmt: skip


class InnerCall(NamedTuple):
    """A construct of control flow in machine code: a function, the slots that it reads and writes, its cost, and the
    form of its call. See `Call`."""

    name: str
    operands: list[int]
    results: list[int]
    cost: Cost
    way: CallForm = CallForm.BLOCK
    arrays: tuple[int, ...] = ()


def take_ports(frame: Frame, lengths: Mapping[str, int]) -> Ports:
    """Fresh slots for arrays of the given lengths."""
    return {name: Port(frame.take(length), length) for name, length in lengths.items()}


def take_results(frame: Frame, lengths: Mapping[str, int], nodes: Sequence[int]) -> Ports:
    """As `take_ports` for outputs that are these nodes. Equal ones of a long array share a slot: zeros, and halves of
    symmetric matrices."""
    found, start = {}, 0
    for name, length in lengths.items():
        own = nodes[start : start + length]
        start += length
        slot_of = {node: k for k, node in enumerate(dict.fromkeys(own))}
        if length >= _MIN_SHARED and len(slot_of) <= _MOST_OWN * length:
            found[name] = Port(frame.take(len(slot_of)), length, shared_slots=tuple(slot_of[node] for node in own))
        else:
            found[name] = Port(frame.take(length), length)
    return found


def slots_in(size: int, lanes: int) -> int:
    """How many slots so many bytes take."""
    return -(-size // (8 * lanes))


def slots_of(ports: Sequence[Port]) -> list[int]:
    """The slots of several ports one after the other."""
    return [port.slot + k for port in ports for k in range(port.length)]


def slots_of_ports(ports: Sequence[Port]) -> list[Place]:
    """The slots of several ports one after the other, each with the pointer from which it counts."""
    return [Place(port.slot + k, port.base) for port in ports for k in port.shared_slots or range(port.length)]


def price(tape: Tape) -> Cost:
    """What a tape costs: the price only decides whether threads are worth it."""
    elementary = sum(tape.counts[name] for name in ARITY)
    return Cost(
        tape.operations,
        NANOSECONDS_PER_OPERATION * (tape.operations - elementary) + _NANOSECONDS_PER_ELEMENTARY_FUNCTION * elementary,
    )
