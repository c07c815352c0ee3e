"""Bodies: what a kernel evaluates once per block of W states, as a function on the frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import casadi

from kernels.build import Size
from kernels.cache import digest
from kernels.driver import Port, write_driver
from kernels.elementary import ARITY
from kernels.ir import Module
from kernels.lower import Frame, emit_straight
from kernels.rewrite import rewritten
from kernels.tape import Tape, read_tape
from kernels.trace import Signature

__all__ = ["Body", "Cost", "Ports", "Straight", "StraightRecipe", "price", "slots_of", "take_ports"]

_PRICE = 0.05  # nanoseconds per operation and state, about, on eight lanes
_PRICE_ELEMENTARY = 1.5
_PRICE_PORT = 0.2


Ports = dict[str, Port]


class Cost(NamedTuple):
    """Operations per state, and a rough price in nanoseconds."""

    operations: int
    price: float


class Body(Protocol):
    """Something that evaluates named inputs to named outputs on the slots of a frame."""

    @property
    def signature(self) -> Signature: ...

    def identity(self) -> str:
        """Text that two bodies share only if they write the same code."""

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        """Define `void name(ptr frame)`, which reads the inputs' ports and writes the outputs'."""


@dataclass(frozen=True)
class Straight:
    """One `casadi.Function` as a body."""

    function: Any
    signature: Signature

    def __reduce__(self) -> tuple[Any, ...]:
        return _straight, (self.function.serialize(), self.signature)

    def identity(self) -> str:
        return digest("straight", str(self.signature), self.function.serialize())

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        tape = rewritten(read_tape(self.function), fused=True)
        read = slots_of([inputs[key] for key in self.signature.inputs])
        written = slots_of([outputs[key] for key in self.signature.outputs])
        emit_straight(module, name, tape, frame, read, written)
        return price(tape)


def _straight(serialized: str, signature: Signature) -> Straight:
    """A body from its pickled parts."""
    return Straight(casadi.Function.deserialize(serialized), signature)


@dataclass(frozen=True)
class StraightRecipe:
    """A kernel that evaluates one body per state, between the caller's arrays."""

    body: Body

    def identity(self) -> str:
        return self.body.identity()

    def write(self, module: Module) -> Size:
        frame = Frame()
        signature = self.body.signature
        inputs = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
        outputs = take_ports(frame, dict(zip(signature.outputs, signature.output_sizes, strict=True)))
        cost = self.body.write(module, "formula", frame, inputs, outputs)
        write_driver(module, "formula", list(inputs.values()), list(outputs.values()))
        transfers = _PRICE_PORT * (sum(signature.input_sizes) + sum(signature.output_sizes))
        return Size(frame.slots, cost.operations, cost.price + transfers)


def take_ports(frame: Frame, lengths: Mapping[str, int]) -> Ports:
    """Fresh slots for arrays of the given lengths."""
    return {name: Port(frame.take(length), length) for name, length in lengths.items()}


def slots_of(ports: Sequence[Port]) -> list[int]:
    """The slots of several ports one after the other."""
    return [port.slot + k for port in ports for k in range(port.length)]


def price(tape: Tape) -> Cost:
    """What a tape costs: the price only decides whether threads are worth it."""
    elementary = sum(node.operation in ARITY for node in tape.nodes)
    return Cost(tape.operations, _PRICE * (tape.operations - elementary) + _PRICE_ELEMENTARY * elementary)
