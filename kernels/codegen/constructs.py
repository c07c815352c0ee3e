"""Formulas and their constructs of control flow in machine code, and the kernel around them.

A construct that is called from the middle of a formula reads and writes slots of the formula's frame. One table says
for each type how it is written; adding a construct adds one row.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.kernels.codegen import slots
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.table_lookup import Lookup
from myoquat.kernels.control_flow.table_loop import Block, TableLoop
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Construct, Pattern, Signature, Tape, Traced

from .compaction import BLOCKS_PER_CALL, compact_loop, loop_bytes
from .driver import Port, write_driver
from .ir import Builder, Module
from .lower import Cells, emit_straight, is_long, write_rows
from .parts import (
    NANOSECONDS_PER_OPERATION,
    Call,
    Cost,
    Ports,
    Size,
    listed,
    price,
    slots_in,
    slots_of_ports,
    take_ports,
    take_results,
)
from .slots import Frame, Place, Planned, Schedule, arrays_of, at_once, in_time

# ---- kernels and formulas ----------------------------------------------------------------------------------


_PRICE_PORT = 0.2
MAX_NUMBERS_TOGETHER = 256  # of a loop's state and parameters, up to which BLOCKS_PER_CALL blocks stay in the cache


class Around(NamedTuple):
    """A construct in the formula around it.

    result    where its result is wanted; None for slots of its own
    operands  where each number that it takes is, if it is an input of the formula, which keeps it
    pointers  from which slots count, those that the function of the formula takes
    """

    result: Port | None
    operands: Sequence[Place | None]
    pointers: Sequence[str]


def write_formula(
    traced: Traced, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports, more: Sequence[str] = ()
) -> Cost:
    """Define a function on the frame, as `parts.write_calls`, for a traced formula: straight code, but for calls of the
    constructs inside, in order; with more pointers from which ports count."""
    signature, tape = traced.signature, rewritten(traced.tape)
    read = slots_of_ports([inputs[key] for key in signature.inputs])
    written = slots_of_ports([outputs[key] for key in signature.outputs])
    calls, pointers, own_inputs = list[Call](), ("%frame", *more), len(read)
    schedule, frames = _planned(module, tape, traced.inner, frame)
    for number, (construct, own) in enumerate(zip(traced.inner, frames, strict=True)):
        wanted = _wanted(signature, tape, len(read), construct, outputs)
        taken = [tape.nodes[i] for i in tape.outputs[len(written) : len(written) + construct.ends.takes]]
        at = [read[int(x.number)] if x.operation == "input" and x.number < own_inputs else None for x in taken]
        around = Around(wanted, at, pointers)
        calls.append(_EMITTERS[type(construct)].write(module, f"{name}_inner{number}", own, construct, around))
        read, written = [*read, *calls[-1].results], [*written, *calls[-1].operands]
    emit_straight(module, name, tape, frame, (read, written), calls, schedule, pointers, module.blocks > 1)
    return Cost.total([price(tape), *(call.cost for call in calls)])


def _wanted(signature: Signature, tape: Tape, first: int, construct: Construct, outputs: Ports) -> Port | None:
    """Where the result of a construct is wanted that is an output; its numbers are the inputs of the tape from `first`
    on."""
    results, start = [("input", first + k) for k in range(construct.ends.gives)], 0
    for name, length in zip(signature.outputs, signature.output_sizes, strict=True):
        nodes, port = (tape.nodes[i] for i in tape.outputs[start : start + length]), outputs[name]
        start += length
        found = results and length == len(results) and [(node.operation, node.number) for node in nodes] == results
        if found and port.base == "%frame" and not port.shared_slots:
            return port
    return None


def _planned(module: Module, tape: Tape, constructs: Sequence[Construct], frame: Frame) -> tuple[Schedule, list[Frame]]:
    """When what is computed, and for each of the constructs the frame in which it finds its arrays."""
    ends = [construct.ends for construct in constructs]
    if module.lanes == 1:  # what shares registers is computed together
        return at_once(tape, ends), [frame] * len(constructs)
    emitters = [_EMITTERS[type(construct)] for construct in constructs]
    schedule = in_time(tape, ends, [emitter.calls_function for emitter in emitters])
    kept = [emitter.arrays_suffice(x) for emitter, x in zip(emitters, constructs, strict=True)]
    offsets, size = arrays_of(tape, ends, kept, schedule)
    first = frame.take(size)
    frames = [Planned(frame, first + offset) if own else frame for own, offset in zip(kept, offsets, strict=True)]
    return schedule, frames


def write_kernel(formula: Traced, module: Module) -> Size:
    """Define ENTRY, which evaluates a formula for each state, between the caller's arrays."""
    loops = [x.ends.takes for x in formula.inner if isinstance(x, WhileLoop)]
    together = module.lanes > 1 and formula.has_solver and max(loops, default=0) <= MAX_NUMBERS_TOGETHER
    module.blocks = BLOCKS_PER_CALL if together else 1
    frame = Frame(module, apart=True)
    signature = formula.signature
    inputs = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
    sizes = dict(zip(signature.outputs, signature.output_sizes, strict=True))
    if module.lanes > 1 and module.blocks == 1:
        outputs = take_results(frame, sizes, formula.tape.outputs)
    else:
        outputs = take_ports(frame, sizes)
    cost = write_formula(formula, module, "formula", frame, inputs, outputs)
    whole = frame.finish()
    write_driver(module, "formula", list(inputs.values()), list(outputs.values()), frame.size)
    transfers = _PRICE_PORT * (sum(signature.input_sizes) + sum(signature.output_sizes))
    return Size(slots_in(whole, module.lanes), cost.operations, cost.price + transfers)


def patterns_of(notes: Mapping[str, Any]) -> dict[str, Pattern]:
    """The patterns from a kernel's notes."""
    return {
        name: (np.array(rows, dtype=int), np.array(columns, dtype=int))
        for name, rows, columns in notes.get("patterns", [])
    }


# ---- tables ------------------------------------------------------------------------------------------------


def _write_lookup(module: Module, name: str, frame: Frame, lookup: Lookup, around: Around) -> Call:
    """A search in a table on slots of its own: `void name(ptr x, ptr entries)`, written at first use. For every lane of
    x it gives the entries one after the other in slots of as many lanes."""
    name = f"lookup_{lookup.identity[:16]}_{module.lanes}"
    own = take_ports(frame, {"x": 1, "entries": lookup.gives})

    def write() -> None:
        numbers = lookup.halved()
        table = module.constants(numbers)
        b = module.builder(1)
        with b.loop(0, module.lanes) as lane:
            own = b.let(f"mul i64 {lane}, 8")
            where = _search(b, f"@{table}", b.load(b.offset("%x", own)), numbers.shape[1])
            entry = b.offset(f"@{table}", b.let(f"mul i64 {where}, 8"))
            target = b.offset("%entries", own)
            for k in range(lookup.gives):
                found = b.load(b.offset(entry, 8 * numbers.shape[1] * (k + 1)))
                b.store(found, b.offset(target, 8 * module.lanes * k))
        b.line("ret void")
        module.define(name, "void", "ptr %x, ptr %entries", b)

    steps = len(lookup.knots).bit_length() + lookup.gives
    x, entries = own.values()
    module.once(name, write)
    return Call(
        name, slots_of_ports([x]), slots_of_ports([entries]), Cost(steps, NANOSECONDS_PER_OPERATION * steps),
        arrays=(x.slot, entries.slot),
    )  # fmt: skip


def _search(b: Builder, table: str, x: str, size: int) -> str:
    """The index, as i64, of the last of `size` knots, a power of two, that is not above x; 0 if all but the first
    are."""
    found, half = "0", size // 2
    while half:
        next_one = b.let(f"add i64 {found}, {half}")
        knot = b.load(b.offset(table, b.let(f"mul i64 {next_one}, 8")))
        found = b.let(f"select i1 {b.compare('oge', x, knot)}, i64 {next_one}, i64 {found}")
        half //= 2
    return found


def _write_table_loop(module: Module, name: str, frame: Frame, loop: TableLoop, around: Around) -> Call:
    """Define `void name(ptr frame, ...)`, with the pointers of the formula around."""
    first = len(loop.outputs) if loop.outputs == tuple(range(len(loop.outputs))) else 0
    at = frame.take(first) if around.result is None or not first else around.result.slot
    slots = np.concatenate([at + np.arange(first), frame.take(loop.cells - first) + np.arange(loop.cells - first)])
    cells = _cells(loop, slots, around)
    runs, costs, passed = [run.row_type for run in loop.order], [], listed(around.pointers)
    for k, rows in enumerate(loop.types):
        costs.append(write_rows(module, f"{name}_type{k}", frame, rows, cells, runs.count(k) == 1))
    b = module.builder()
    for row_type, begin, end in loop.order:
        b.line(f"call void @{name}_type{row_type}({passed}, i64 {begin}, i64 {end})")
    b.line("ret void")
    module.define(name, "void", passed, b)
    known, outputs = ([cells.place(cell) for cell in numbers] for numbers in (loop.known, loop.outputs))
    return Call(name, known, outputs, Cost.total(costs))


def _cells(loop: TableLoop, slots: np.ndarray, around: Around) -> Cells:
    """The cells in these slots, but for those that rows only take and that are inputs of the formula around. If all of
    a block are, and lie alike in all rows, they are read there and not copied."""
    there, base = slots.copy(), np.full(loop.cells, -1)
    for cell, place in zip(loop.known, around.operands, strict=True):
        if place is not None:
            there[cell], base[cell] = place.slot, around.pointers.index(place.base)
    for block in (block for rows in loop.types for block in rows.gives):
        base[block.cells] = -1
    base[list(loop.outputs)] = -1

    def is_copied(block: Block) -> bool:
        own, at = base[block.cells], there[block.cells]
        return bool(np.any(own >= 0) and (np.any(own != own.flat[0]) or np.any(np.diff(at - at[:, :1], axis=0))))

    blocks = [block for rows in loop.types for block in rows.takes]
    while copied := [block for block in blocks if is_copied(block)]:
        for block in copied:
            base[block.cells] = -1
    return Cells(np.where(base < 0, slots, there), np.maximum(base, 0), around.pointers)


# ---- loops of solvers, and functions that several formulas call --------------------------------------------------


def _shared(module: Module, formula: Traced, *pointers: str) -> tuple[str, Cost, int]:
    """The name of a function that several others call, on a frame of its own; its cost, and the bytes of the frame. It
    is written at first use. What it takes, in the order of its inputs, and what it gives lies at these pointers."""
    name, signature = f"function_{formula.identity[:16]}", formula.signature

    def write() -> tuple[Cost, int]:
        frame = Frame(module)
        ports = zip(pointers, [*signature.input_sizes, *signature.output_sizes], strict=True)
        *takes, gives = (Port(0, length, pointer) for pointer, length in ports)
        inputs, (output,) = dict(zip(signature.inputs, takes, strict=True)), signature.outputs
        cost = write_formula(formula, module, name, frame, inputs, {output: gives}, pointers)
        return cost, frame.finish()

    return name, *module.once(name, write)


def _write_call(module: Module, name: str, frame: Frame, call: OutOfLineCall, around: Around) -> Call:
    """A call, with slots of its own, of the function that is written at first use."""
    gives, takes = call.ends
    function, cost, size = _shared(module, call.formula, "%given", "%result")
    given, result = take_ports(frame, {"given": takes, "result": gives}).values()
    frame.call(size)
    arrays = given.slot, result.slot
    return Call(function, slots_of_ports([given]), slots_of_ports([result]), cost, True, arrays)


def _write_loop(module: Module, name: str, frame: Frame, loop: WhileLoop, around: Around) -> Call:
    """A loop on slots of its own, as a call of the one that is written once for all that do the same."""
    state, constants = loop.step.signature.input_sizes
    own = take_ports(frame, {"start": state, "given": constants, "where": 1, "result": state})
    step, cost, size = _shared(module, loop.step, "%state", "%constants", "%next")
    function, several = f"loop_{loop.identity[:16]}", module.blocks > 1

    def write() -> None:
        b = module.builder()
        if several:
            read = state if any(x.operation == "input" and x.number < state for x in loop.step.tape.nodes) else 0
            numbers = f"ptr @{step}, i64 {state}, i64 {read}, i64 {constants}, i64 {loop.count}"
            b.line(f"call void @{compact_loop(module)}(ptr %frame, i64 %count, ptr %own, i64 %own_stride, {numbers})")
        else:
            _block_loop(b, step, loop)
        b.line("ret void")
        parameters = "ptr %frame, i64 %count, ptr %own, i64 %own_stride" if several else "ptr %frame, ptr %own"
        module.define(function, "void", parameters, b)

    frame.call(loop_bytes(module.lanes, state, size) if several else size + 8 * module.lanes * state)
    operands, results = slots_of_ports([own["start"], own["given"], own["where"]]), slots_of_ports([own["result"]])
    arrays = (own["start"].slot,)
    module.once(function, write)
    return Call(function, operands, results, cost.times(loop.count), True, arrays)


def _block_loop(b: Builder, step: str, loop: WhileLoop) -> None:
    """The loop over one block of states, whose arrays lie at %own one after the other: start, constants, where, result.
    A step is taken until every lane is done.

    States alternate between the result and where the start was, which no later code reads. The step finds the next
    state in a buffer of its own, at the frame, from where lanes that run take it. A lane that does not keeps the state
    before. It shares a buffer with neither: LLVM would write a masked store, which takes processors without AVX-512
    about twenty cycles.
    """
    state, constants = loop.step.signature.input_sizes
    at = itertools.accumulate([0, state, constants, 1])
    start, given, running, result = (b.slot("%own", slot) for slot in at)
    port, chosen = Port(0, state), list[str]()

    def on() -> str:
        return b.truth(b.load(running))

    def go(turn: str) -> str:
        odd = b.let(f"icmp ne i64 {b.let(f'and i64 {turn}, 1')}, 0")
        chosen.extend(b.let(f"select i1 {odd}, ptr {x}, ptr {y}") for x, y in ((result, start), (start, result)))
        return b.let(f"and i1 {b.let(f'icmp slt i64 {turn}, {loop.count}')}, {b.any(on())}")

    with b.going(go):
        here, there = chosen
        taken, found = on(), there if b.lanes == 1 else "%frame"  # one lane runs whenever any does
        b.line(f"call void @{step}({listed([b.slot('%frame', state), here, given, found])})")
        for turn in slots.turns(b, state) if b.lanes > 1 else ():
            b.store(b.select(taken, b.load(turn(port)), b.load(turn(port, here))), turn(port, there))
        b.store(b.number(b.logic("and", taken, b.truth(b.load(b.slot(there, state - 1))))), running)
    with b.when(b.let(f"icmp ne ptr {chosen[0]}, {result}")):
        slots.copy_port(b, port, port, (chosen[0], result))


# ---- the table ---------------------------------------------------------------------------------------------


class Emitter(NamedTuple):
    """How a type of construct is written: write(module, name, frame, construct, around) -> Call.

    calls_function  whether it calls a function on a frame of its own. The arrays of such a call are filled just before
                    it
    arrays_suffice  whether one needs no slots of the frame but those that it reads and writes
    """

    write: Callable[[Module, str, Frame, Any, Around], Call]
    calls_function: bool = False
    arrays_suffice: Callable[[Any], bool] = lambda construct: True


_EMITTERS: dict[type, Emitter] = {
    OutOfLineCall: Emitter(_write_call, calls_function=True),
    Lookup: Emitter(_write_lookup),
    WhileLoop: Emitter(_write_loop, calls_function=True),
    TableLoop: Emitter(
        _write_table_loop,
        arrays_suffice=lambda loop: loop.cells == sum(loop.ends) and not any(map(is_long, loop.types)),
    ),
}
