"""What bodies of kernels are made of: their arrays on the frame, what they cost, and calls in the middle of them."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.elementary.functions import ARITY
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.multi_block import CallForm
from myoquat.kernels.codegen.stack.slots import Place
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.tracing.tape import Tape
from myoquat.kernels.tracing.traced import Signature, Traced

__all__ = [
    "NANOSECONDS_PER_OPERATION",
    "Body",
    "Cost",
    "InnerCall",
    "Ports",
    "Size",
    "price",
    "slots_in",
    "slots_of",
    "slots_of_ports",
    "take_ports",
    "take_results",
]

NANOSECONDS_PER_OPERATION = 0.05  # nanoseconds per operation and state, about, on eight lanes
_NANOSECONDS_PER_ELEMENTARY_FUNCTION = 1.5
# outputs with so many numbers are written by a table of their slots if at most this part of them differ
_MIN_SHARED, _MOST_OWN = 64, 0.75

Ports = dict[str, Port]


@dataclass(frozen=True)
class Size:
    """What a kernel needs and costs: slots of its frame, operations per state, and a rough price in nanoseconds."""

    slots: int
    operations: int
    price: float


class Cost(NamedTuple):
    """Operations per state and a rough price in nanoseconds, with the maximum number of iterations of every loop."""

    operations: int
    price: float


class Body(Protocol):
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


def take_results(frame: Frame, lengths: Mapping[str, int], nodes: Sequence[int], rows: Container[str] = ()) -> Ports:
    """As `take_ports` for outputs that are these nodes. Equal ones of a long array share a slot: zeros, and halves of
    symmetric matrices. Those named in `rows` go to the caller's rows as they are computed."""
    found, start = {}, 0
    for name, length in lengths.items():
        own = nodes[start : start + length]
        start += length
        if name in rows:
            found[name] = Port(frame.take(1), length, rows=True)
            continue
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
