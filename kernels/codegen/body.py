"""Bodies: what a kernel evaluates once per block of W states, as a function on the frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.kernels.codegen.compaction import BLOCKS_PER_CALL
from myoquat.kernels.codegen.constructs import emitter_of
from myoquat.kernels.codegen.driver import Port, write_driver
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.lower import emit_straight
from myoquat.kernels.codegen.parts import (
    Body,
    Call,
    Cost,
    Ports,
    Size,
    price,
    slots_in,
    slots_of_ports,
    take_ports,
    take_results,
)
from myoquat.kernels.codegen.slots import Frame, Place, Planned, Schedule, arrays_of, at_once, in_time
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Construct, Pattern, Signature, Tape, Traced

__all__ = [
    "notes_of",
    "patterns_of",
    "write_body",
    "write_formula",
    "write_kernel",
]


# ---- bodies and the kernel around them ---------------------------------------------------------------------


_PRICE_PORT = 0.2


def write_body(body: Body, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
    """Define `void name(ptr frame)` for a traced formula, or a body that writes itself; see `Body`."""
    if isinstance(body, Traced):
        return write_formula(body, module, name, frame, inputs, outputs)
    return body.write(module, name, frame, inputs, outputs)


def write_formula(
    traced: Traced, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports, more: Sequence[str] = ()
) -> Cost:
    """Define `void name(ptr frame, ...)` for a traced formula: straight code, but for calls of the constructs inside,
    in order; with more pointers from which ports count."""
    signature, tape = traced.signature, rewritten(traced.tape, fused=True)
    read = slots_of_ports([inputs[key] for key in signature.inputs])
    written = slots_of_ports([outputs[key] for key in signature.outputs])
    costs, calls = [price(tape)], []
    schedule, frames = _planned(module, tape, traced.inner, frame)
    for number, (construct, own) in enumerate(zip(traced.inner, frames, strict=True)):
        wanted = _wanted(signature, tape, len(read), construct, outputs)
        write = emitter_of(construct).write
        call = write(module, f"{name}_inner{number}", own, construct, write_formula, wanted)
        read, written = [*read, *map(Place, call.results)], [*written, *map(Place, call.operands)]
        calls.append(Call(call.name, len(call.results), len(call.operands), call.way, call.arrays))
        costs.append(call.cost)
    multi_block = frame.blocks > 1 and traced.multi_block
    emit_straight(module, name, tape, frame, (read, written), calls, schedule, ("%frame", *more), multi_block)
    return Cost.total(costs)


def _results(signature: Signature, tape: Tape, first: int, size: int) -> list[str]:
    """The outputs that are the inputs of a tape from `first` on, so many, and nothing else."""
    found, start = [], 0
    for name, length in zip(signature.outputs, signature.output_sizes, strict=True):
        nodes = [tape.nodes[i] for i in tape.outputs[start : start + length]] if length == size else []
        start += length
        if nodes and all(node.operation == "input" and node.number == first + k for k, node in enumerate(nodes)):
            found.append(name)
    return found


def _wanted(signature: Signature, tape: Tape, first: int, construct: Construct, outputs: Ports) -> Port | None:
    """Where the result of a construct is wanted that is an output; its numbers are the inputs of the tape from `first`
    on."""
    ports = [outputs[name] for name in _results(signature, tape, first, construct.ends.gives)]
    return next((port for port in ports if port.base == "%frame" and not port.shared_slots), None)


def _planned(module: Module, tape: Tape, constructs: Sequence[Construct], frame: Frame) -> tuple[Schedule, list[Frame]]:
    """When what is computed, and for each of the constructs the frame in which it finds its arrays."""
    ends = [construct.ends for construct in constructs]
    if module.lanes == 1:  # what shares registers is computed together
        return at_once(tape, ends), [frame] * len(constructs)
    emitters = [*map(emitter_of, constructs)]
    schedule = in_time(tape, ends, [emitter.calls_function for emitter in emitters])
    kept = [emitter.arrays_suffice(x) for emitter, x in zip(emitters, constructs, strict=True)]
    offsets, size = arrays_of(tape, ends, kept, schedule)
    first = frame.take(size)
    frames = [Planned(frame, first + offset) if own else frame for own, offset in zip(kept, offsets, strict=True)]
    return schedule, frames


def write_kernel(body: Body, module: Module) -> Size:
    """Define ENTRY, which evaluates one body per state, between the caller's arrays."""
    module.blocks = BLOCKS_PER_CALL if module.lanes > 1 and body.multi_block else 1
    frame = Frame(module.blocks)
    signature = body.signature
    inputs = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
    sizes = dict(zip(signature.outputs, signature.output_sizes, strict=True))
    if isinstance(body, Traced) and module.lanes > 1 and module.blocks == 1:
        outputs = take_results(frame, sizes, body.tape.outputs)
    else:
        outputs = take_ports(frame, sizes)
    cost = write_body(body, module, "formula", frame, inputs, outputs)
    size, whole = frame.block_size(module.lanes), frame.finish(module.lanes)
    write_driver(module, "formula", list(inputs.values()), list(outputs.values()), size)
    transfers = _PRICE_PORT * (sum(signature.input_sizes) + sum(signature.output_sizes))
    return Size(slots_in(whole, module.lanes), cost.operations, cost.price + transfers)


def notes_of(body: Body) -> dict[str, Any]:
    """What is to be known of a body's kernel, in words of JSON."""
    patterns = getattr(body, "patterns", {})
    listed = [[name, rows.tolist(), columns.tolist()] for name, (rows, columns) in patterns.items()]
    return body.signature.notes() | ({"patterns": listed} if listed else {})


def patterns_of(notes: Mapping[str, Any]) -> dict[str, Pattern]:
    """The patterns from a kernel's notes."""
    return {
        name: (np.array(rows, dtype=int), np.array(columns, dtype=int))
        for name, rows, columns in notes.get("patterns", [])
    }
