"""Constructs of control flow in machine code: how each type is written.

A construct that is called from the middle of a formula reads and writes slots of the formula's frame. One table says
for each type how it is written; adding a construct adds one row.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.loops import FormulaPorts, called_behind, shared, suffix, write_lanes, write_loop
from myoquat.kernels.codegen.lower import is_long, write_rows
from myoquat.kernels.codegen.parts import (
    NANOSECONDS_PER_OPERATION,
    CallForm,
    Cost,
    InnerCall,
    WriteFormula,
    slots_of,
    take_ports,
)
from myoquat.kernels.codegen.slots import Frame
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.table_lookup import Lookup
from myoquat.kernels.control_flow.table_loop import TableLoop
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.tape import Construct

__all__ = ["Emitter", "emitter_of", "write_group", "write_lookup"]


def write_search(
    module: Module, name: str, frame: Frame, table: Lookup, write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define a search in a table on slots of its own."""
    own = take_ports(frame, {"x": 1, "entries": table.gives})
    b = module.builder()
    x, entries = (b.slot("%frame", own[key].slot) for key in ("x", "entries"))
    b.line(f"call void @{write_lookup(module, table)}(ptr {x}, ptr {entries})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    steps = len(table.knots).bit_length() + table.gives
    return InnerCall(
        name, slots_of([own["x"]]), slots_of([own["entries"]]), Cost(steps, NANOSECONDS_PER_OPERATION * steps)
    )


def write_lookup(module: Module, table: Lookup) -> str:
    """The name of `void name(ptr x, ptr entries)`, written at first use: for every lane of x, the entries one after the
    other in slots of as many lanes."""
    name = f"lookup_{table.identity()[:16]}_{module.lanes}"

    def write() -> None:
        numbers = table.halved()
        module.constants(f"{name}_table", numbers)
        b = module.builder(1)
        with b.loop(0, module.lanes) as lane:
            own = b.let(f"mul i64 {lane}, 8")
            where = _search(b, f"@{name}_table", b.load(b.offset("%x", own)), numbers.shape[1])
            entry = b.offset(f"@{name}_table", b.let(f"mul i64 {where}, 8"))
            target = b.offset("%entries", own)
            for k in range(table.gives):
                found = b.load(b.offset(entry, 8 * numbers.shape[1] * (k + 1)))
                b.store(found, b.offset(target, 8 * module.lanes * k))
        b.line("ret void")
        module.define(name, "void", "ptr %x, ptr %entries", b)

    return module.once(name, write)


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


# ---- loops over tables -------------------------------------------------------------------------------------


def write_table_loop(
    module: Module, name: str, frame: Frame, loop: TableLoop, write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define `void name(ptr frame)`. result: where the result is wanted, None for slots of its own; the other cells
    have slots of their own."""
    first = len(loop.outputs) if loop.outputs == tuple(range(len(loop.outputs))) else 0
    at = frame.take(first) if result is None or not first else result.slot
    slots = np.concatenate([at + np.arange(first), frame.take(loop.cells - first) + np.arange(loop.cells - first)])
    runs, costs = [run.row_type for run in loop.order], []
    for k, rows in enumerate(loop.types):
        costs.append(write_rows(module, f"{name}_type{k}", frame, rows, slots, runs.count(k) == 1))
    b = module.builder()
    for row_type, begin, end in loop.order:
        b.line(f"call void @{name}_type{row_type}(ptr %frame, i64 {begin}, i64 {end})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    return InnerCall(name, slots[[*loop.known]].tolist(), slots[[*loop.outputs]].tolist(), Cost.total(costs))


# ---- the table ---------------------------------------------------------------------------------------------


class Emitter(NamedTuple):
    """How a type of construct is written: write(module, name, frame, construct, write_formula, result) -> InnerCall.

    result          where its result is wanted; None for slots of its own
    calls_function  whether it calls a function on a frame of its own. The arrays of such a call are filled just before
                    it
    arrays_suffice  whether one needs no slots of the frame but those that it reads and writes
    write_lanes     writes several equal ones of a kernel for one state, side by side in the lanes of the registers
    """

    write: Callable[[Module, str, Frame, Any, WriteFormula, Port | None], InnerCall]
    calls_function: bool = False
    arrays_suffice: Callable[[Any], bool] = lambda construct: True
    write_lanes: Callable[[Module, str, Frame, Any, int, WriteFormula], InnerCall] | None = None


def emitter_of(construct: Construct) -> Emitter:
    """How a construct is written."""
    return _EMITTERS[type(construct)]


def write_group(
    module: Module, name: str, frame: Frame, group: Sequence[Construct], write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define `void name(ptr frame)` for a construct, or for several loops of one step side by side. result: where a
    walk's result is wanted."""
    emitter = emitter_of(group[0])
    if len(group) > 1 and emitter.write_lanes:
        return emitter.write_lanes(module, name, frame, group[0], len(group), write)
    return emitter.write(module, name, frame, group[0], write, result)


def _write_call(
    module: Module, name: str, frame: Frame, call: OutOfLineCall, write: WriteFormula, result: Port | None
) -> InnerCall:
    """Define a call, with slots of its own, of the function that is written at first use."""
    formula = call.formula
    sizes = {"given": formula.signature.input_sizes[0], "result": formula.signature.output_sizes[0]}
    function = f"function_{formula.identity()[:16]}" + suffix(module)
    cost, size = shared(module, function, formula, FormulaPorts(("given",), "result"), write)
    own = take_ports(frame, sizes)
    way = CallForm.TOGETHER_BEHIND if formula.multi_block else CallForm.BEHIND
    arrays = own["given"].slot, own["result"].slot
    operands, results = slots_of([own["given"]]), slots_of([own["result"]])
    return called_behind(module, name, frame, size, InnerCall(function, operands, results, cost, way, arrays))


_EMITTERS: dict[type, Emitter] = {
    OutOfLineCall: Emitter(_write_call, calls_function=True),
    Lookup: Emitter(write_search),
    WhileLoop: Emitter(write_loop, calls_function=True, write_lanes=write_lanes),
    TableLoop: Emitter(
        write_table_loop,
        arrays_suffice=lambda loop: loop.cells == sum(loop.ends) and not any(map(is_long, loop.types)),
    ),
}
