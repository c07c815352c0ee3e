"""What functions of kernels are made of: their arrays on the frame, what they cost, and calls inside them."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from myoquat.core import frozen
from myoquat.kernels.tracing.tape import Tape

from .compaction import block_count, block_loop, handed
from .driver import Port
from .elementary import ARITY
from .ir import Module
from .slots import Frame, Place

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

    operations: int = 0
    price: float = 0.0

    def times(self, count: int) -> "Cost":
        """Of so many iterations."""
        return Cost(self.operations * count, self.price * count)

    @staticmethod
    def total(costs: "Iterable[Cost]") -> "Cost":
        """Of all together."""
        return Cost(*(sum(column) for column in zip(Cost(), *costs, strict=True)))


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


# ---- calls -------------------------------------------------------------------------------------------------
# A kernel takes one block of states or several together. With several, a function over them has the form
# `void name(ptr frame, i64 count, ptr array, i64 stride, ...)` (see `compaction`), with one `void name(ptr frame,
# ptr array, ...)`.


class Call(NamedTuple):
    """A call of a function in the middle of another one.

    operands, results  slots that it reads and writes, where a tape goes on with its results
    behind             whether it is called for all blocks of states, on frames behind those of its caller, and not for
                       one after the other: `void name(ptr array, ...)`
    arrays             the first slot, in the caller's frame, of each array that is passed; None: all of its caller
    """

    name: str
    operands: Sequence[Place] = ()
    results: Sequence[Place] = ()
    cost: Cost = Cost()
    behind: bool = False
    arrays: tuple[int, ...] | None = None


def write_calls(
    module: Module, name: str, frame: Frame, pointers: Sequence[str], calls: Sequence[Call], several: bool
) -> None:
    """Define a function of these calls as soon as the size of its frame is known. pointers: its frame and its arrays;
    several: whether it takes several blocks of states."""
    parameters = listed(pointers)
    if several:
        parameters = "ptr %frame, i64 %count" + handed([(pointer, f"{pointer}_stride") for pointer in pointers[1:]])
        frame.apart |= any(call.behind for call in calls)
    module.expect(name, parameters)

    def write(size: int) -> None:
        b = module.builder()
        blocks = block_count(b, "%count") if several else "1"
        behind = b.offset("%frame", b.let(f"mul i64 {blocks}, {size}") if several else size)

        def in_turn(own: Sequence[str], calls: Iterable[Call]) -> None:
            for call in calls:
                passed = own if call.arrays is None else [b.slot(own[0], slot) for slot in call.arrays]
                b.line(f"call void @{call.name}({listed(passed)})")

        for on_behind, run in itertools.groupby(calls, lambda call: call.behind):
            if on_behind:
                for call in run:
                    arrays = [b.slot("%frame", slot) for slot in call.arrays or ()]
                    strided = f"ptr {behind}, i64 %count{handed([(array, size) for array in arrays])}"
                    b.line(f"call void @{call.name}({strided if several else listed([behind, *arrays])})")
            elif several:
                strides: list[str | int] = [size, *(f"{pointer}_stride" for pointer in pointers[1:])]
                first, *others = run
                if first.arrays is None and not others:
                    function = f"i64 {blocks}, ptr @{first.name}{handed(list(zip(pointers, strides, strict=True)))}"
                    b.line(f"call void @{block_loop(module, len(pointers))}({function})")
                    continue
                with b.loop(0, blocks) as block:
                    steps = (b.let(f"mul i64 {block}, {stride}") for stride in strides)
                    in_turn([*map(b.offset, pointers, steps)], [first, *others])
            else:
                in_turn(pointers, run)
        b.line("ret void")
        module.define(name, "void", parameters, b)

    frame.later(write)


def listed(pointers: Sequence[str]) -> str:
    """Pointers as they are named and handed on."""
    return ", ".join(f"ptr {pointer}" for pointer in pointers)
