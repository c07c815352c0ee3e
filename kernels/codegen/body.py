"""Bodies: what a kernel evaluates once per block of W states, as a function on the frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.kernels.codegen import instruction_scheduling
from myoquat.kernels.codegen.compaction import BLOCKS_PER_CALL
from myoquat.kernels.codegen.constructs import emitter_of, write_group
from myoquat.kernels.codegen.driver import Port, write_driver
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.lower import emit_straight
from myoquat.kernels.codegen.multi_block import Call
from myoquat.kernels.codegen.parts import (
    Body,
    Cost,
    Ports,
    Size,
    price,
    slots_in,
    slots_of_ports,
    take_ports,
    take_results,
)
from myoquat.kernels.codegen.stack.slot_allocation import Schedule, arrays_of, at_once, in_time
from myoquat.kernels.codegen.stack.slots import Place
from myoquat.kernels.codegen.stack.stack_frames import Frame, Planned
from myoquat.kernels.control_flow.cell_walk import CellWalk
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
        written = slots_of_ports([outputs[key] for key in self.signature.outputs if not outputs[key].rows])
        cost, calls = price(tape), []
        whole, groups = self._grouped(tape, module.width if module.lanes == 1 else 1)
        tape = self._without_rows(whole, outputs)
        schedule, frames = _planned(module, tape, groups, frame)
        for number, (group, own) in enumerate(zip(groups, frames, strict=True)):
            wanted = self._wanted(whole, len(read), group[0], outputs)
            call = write_group(module, f"{name}_inner{number}", own, group, write_formula, wanted)
            read, written = [*read, *map(Place, call.results)], [*written, *map(Place, call.operands)]
            calls.append(Call(call.name, len(call.results), len(call.operands), call.way, call.arrays))
            cost = Cost(cost.operations + call.cost.operations, cost.price + call.cost.price)
        multi_block = frame.blocks > 1 and self.traced.multi_block
        emit_straight(module, name, tape, frame, (read, written), calls, schedule, ("%frame", *more), multi_block)
        return cost

    def rows(self) -> frozenset[str]:
        """Outputs that are the results of walks in panels, which nothing else reads."""
        found, first = set(), sum(self.signature.input_sizes)
        for construct in self.traced.inner:
            if isinstance(construct, CellWalk) and construct.panels:
                names = self._results(self.tape, first, construct.ends.gives)
                read, nodes = range(first, first + construct.ends.gives), enumerate(self.tape.nodes)
                inputs = {i for i, node in nodes if node.operation == "input" and node.number in read}
                alone = sum(map(inputs.__contains__, self.tape.outputs)) == len(inputs)
                if len(names) == 1 and alone and not any(map(inputs.intersection, self.tape.operands)):
                    found.add(names[0])
            first += construct.ends.gives
        return frozenset(found)

    def _results(self, tape: Tape, first: int, size: int) -> list[str]:
        """The outputs that are the inputs of a tape from `first` on, so many, and nothing else."""
        found, start = [], 0
        for name, length in zip(self.signature.outputs, self.signature.output_sizes, strict=True):
            nodes = [tape.nodes[i] for i in tape.outputs[start : start + length]] if length == size else []
            start += length
            if nodes and all(node.operation == "input" and node.number == first + k for k, node in enumerate(nodes)):
                found.append(name)
        return found

    def _wanted(self, tape: Tape, first: int, construct: Construct, outputs: Ports) -> Port | None:
        """Where the result of a construct is wanted that is an output; its numbers are the inputs of the tape from
        `first` on."""
        ports = [outputs[name] for name in self._results(tape, first, construct.ends.gives)]
        return next((port for port in ports if port.base == "%frame" and not port.shared_slots), None)

    def _without_rows(self, tape: Tape, outputs: Ports) -> Tape:
        """The tape without the outputs that go to the caller's rows."""
        rows = [outputs[name].rows for name in self.signature.outputs]
        if not any(rows):
            return tape
        gone = np.repeat(rows, self.signature.output_sizes).tolist()
        gone += [False] * (len(tape.outputs) - len(gone))
        return Tape(tape.nodes, [i for i, own in zip(tape.outputs, gone, strict=True) if not own], tape.inputs)

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
        sizes = dict(zip(signature.outputs, signature.output_sizes, strict=True))
        if isinstance(self.body, Straight) and module.lanes > 1 and module.blocks == 1:
            outputs = take_results(frame, sizes, self.body.tape.outputs, self.body.rows())
        else:
            outputs = take_ports(frame, sizes)
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
