"""Bodies: what a kernel evaluates once per block of W states, as a function on the frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.kernels.codegen import instruction_scheduling
from myoquat.kernels.codegen.compaction import BLOCKS_PER_CALL
from myoquat.kernels.codegen.constructs import emitter_of, write_group
from myoquat.kernels.codegen.driver import write_driver
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.lower import emit_straight
from myoquat.kernels.codegen.multi_block import Call
from myoquat.kernels.codegen.parts import Body, Cost, Ports, Size, price, slots_in, slots_of_ports, take_ports
from myoquat.kernels.codegen.stack.slot_allocation import Schedule, arrays_of, at_once, in_time
from myoquat.kernels.codegen.stack.slots import Place
from myoquat.kernels.codegen.stack.stack_frames import Frame, Planned
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Ends, Tape
from myoquat.kernels.tracing.traced import Construct, Pattern, Signature, Traced

__all__ = ["Straight", "StraightRecipe", "patterns_of"]

_PRICE_PORT = 0.2


@dataclass(frozen=True)
class Straight:
    """One traced formula as a body: straight code, but for calls of the constructs inside it, in order."""

    traced: Traced

    @property
    def tape(self) -> Tape:
        """That of the formula."""
        return self.traced.tape

    @property
    def signature(self) -> Signature:
        """That of the formula."""
        return self.traced.signature

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """Those of the formula."""
        return self.traced.patterns

    @property
    def multi_block(self) -> bool:
        """Whether a kernel evaluates several blocks of states together for a construct inside."""
        return self.traced.multi_block

    def identity(self) -> str:
        return self.traced.identity()

    def write(
        self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports, more: Sequence[str] = ()
    ) -> Cost:
        """Define `void name(ptr frame, ...)`, with more pointers from which ports count."""
        tape = rewritten(self.tape, fused=True)
        read = slots_of_ports([inputs[key] for key in self.signature.inputs])
        written = slots_of_ports([outputs[key] for key in self.signature.outputs])
        cost, calls = price(tape), []
        tape, groups = self._grouped(tape, module.width if module.lanes == 1 else 1)
        schedule, frames = _planned(module, tape, groups, frame)
        for number, (group, own) in enumerate(zip(groups, frames, strict=True)):
            wanted = self._wanted(tape, len(read), group[0], outputs)
            call = write_group(module, f"{name}_inner{number}", own, group, write_formula, wanted)
            read, written = [*read, *map(Place, call.results)], [*written, *map(Place, call.operands)]
            calls.append(Call(call.name, len(call.results), len(call.operands), call.way, call.arrays))
            cost = Cost(cost.operations + call.cost.operations, cost.price + call.cost.price)
        multi_block = frame.blocks > 1 and self.traced.multi_block
        emit_straight(module, name, tape, frame, (read, written), calls, schedule, ("%frame", *more), multi_block)
        return cost

    def _wanted(self, tape: Tape, first: int, construct: Construct, outputs: Ports) -> int | None:
        """The slot of an output that is the result of a construct and nothing else. Its numbers are the inputs of the
        tape from `first` on."""
        size, start = construct.ends.gives, 0
        for port in (outputs[key] for key in self.signature.outputs):
            nodes = [tape.nodes[i] for i in tape.outputs[start : start + port.length]]
            start += port.length
            if (
                port.length == size
                and port.base == "%frame"
                and all(node.operation == "input" and node.number == first + k for k, node in enumerate(nodes))
            ):
                return port.slot
        return None

    def _grouped(self, tape: Tape, width: int) -> tuple[Tape, list[list[Construct]]]:
        """What is inside in groups of at most `width` that run side by side, and the tape in their order."""
        if width == 1:
            return tape, [[part] for part in self.traced.inner]
        constructs = self.traced.inner
        ends = [construct.ends for construct in constructs]
        identities = [x.identity() if isinstance(x, WhileLoop) else None for x in constructs]
        found = instruction_scheduling.groups(tape, ends, identities, width)
        tape = instruction_scheduling.reordered(tape, ends, [i for group in found for i in group])
        return tape, [[constructs[i] for i in group] for group in found]


def _planned(
    module: Module, tape: Tape, groups: Sequence[Sequence[Construct]], frame: Frame
) -> tuple[Schedule, list[Frame]]:
    """When what is computed, and for each of the groups the frame in which it finds its arrays."""
    ends = [Ends(*map(sum, zip(*(construct.ends for construct in group), strict=True))) for group in groups]
    if module.lanes == 1:  # what shares registers is computed together
        return at_once(tape, ends), [frame] * len(groups)
    emitters = [emitter_of(group[0]) for group in groups]
    schedule = in_time(tape, ends, [emitter.calls_function for emitter in emitters])
    kept = [emitter.arrays_suffice for emitter in emitters]
    offsets, size = arrays_of(tape, ends, kept, schedule)
    first = frame.take(size)
    frames = [Planned(frame, first + offset) if own else frame for own, offset in zip(kept, offsets, strict=True)]
    return schedule, frames


def write_formula(
    traced: Traced, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports, more: Sequence[str] = ()
) -> Cost:
    """Define a traced formula as a function on a frame; see `Straight.write`."""
    return Straight(traced).write(module, name, frame, inputs, outputs, more)


@dataclass(frozen=True)
class StraightRecipe:
    """A kernel that evaluates one body per state, between the caller's arrays."""

    body: Body

    def identity(self) -> str:
        return self.body.identity()

    def notes(self) -> dict[str, Any]:
        patterns = getattr(self.body, "patterns", {})
        listed = [[name, rows.tolist(), columns.tolist()] for name, (rows, columns) in patterns.items()]
        return self.body.signature.notes() | ({"patterns": listed} if listed else {})

    def write(self, module: Module) -> Size:
        module.blocks = BLOCKS_PER_CALL if module.lanes > 1 and self.body.multi_block else 1
        frame = Frame(module.blocks)
        signature = self.body.signature
        inputs = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
        outputs = take_ports(frame, dict(zip(signature.outputs, signature.output_sizes, strict=True)))
        cost = self.body.write(module, "formula", frame, inputs, outputs)
        size, whole = frame.block_size(module.lanes), frame.finish(module.lanes)
        write_driver(module, "formula", list(inputs.values()), list(outputs.values()), size)
        transfers = _PRICE_PORT * (sum(signature.input_sizes) + sum(signature.output_sizes))
        return Size(slots_in(whole, module.lanes), cost.operations, cost.price + transfers)


def patterns_of(notes: Mapping[str, Any]) -> dict[str, Pattern]:
    """The patterns from a kernel's notes."""
    return {
        name: (np.array(rows, dtype=int), np.array(columns, dtype=int))
        for name, rows, columns in notes.get("patterns", [])
    }
