"""Constructs of control flow in machine code: how each type is written.

A construct that is called from the middle of a formula reads and writes slots of the formula's frame. One table says
for each type how it is written; adding a construct adds one row.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from myoquat.kernels.codegen.cell_visits import write_cell_walk
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.jacobian_directions import write_directions
from myoquat.kernels.codegen.loops import FormulaPorts, shared, suffix, write_lanes, write_loop
from myoquat.kernels.codegen.lower import write_table
from myoquat.kernels.codegen.multi_block import CallForm
from myoquat.kernels.codegen.parts import Cost, InnerCall, WriteFormula, price, slots_of, take_ports
from myoquat.kernels.codegen.stack.stack_frames import Behind, Frame
from myoquat.kernels.codegen.table_search import write_search
from myoquat.kernels.codegen.tree_passes import write_tree_scan
from myoquat.kernels.control_flow.cell_walk import CellWalk
from myoquat.kernels.control_flow.compressed_jacobian import CompressedJacobian
from myoquat.kernels.control_flow.map_rows import RowMap
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.table_lookup import Lookup
from myoquat.kernels.control_flow.traced_tree_scan import TreeScan
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.traced import Construct

__all__ = ["Emitter", "emitter_of", "write_group"]


class Emitter(NamedTuple):
    """How a type of construct is written: write(module, name, frame, construct, write_formula) -> InnerCall.

    calls_function: whether it calls a function on a frame of its own. The arrays of such a call are filled just before
    it. `arrays_suffice`: whether it needs no slots of the frame but those that it reads and writes.
    """

    write: Callable[[Module, str, Frame, Any, WriteFormula], InnerCall]
    calls_function: bool = False
    arrays_suffice: bool = True


def emitter_of(construct: Construct) -> Emitter:
    """How a construct is written."""
    return _EMITTERS[type(construct)]


def write_group(
    module: Module, name: str, frame: Frame, group: Sequence[Construct], write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define `void name(ptr frame)` for a construct, or for several loops of one step side by side. result: where a
    walk's result is wanted."""
    first = group[0]
    if isinstance(first, CellWalk):
        return write_cell_walk(module, name, frame, first, result)
    if len(group) > 1:
        assert isinstance(first, WhileLoop)
        return write_lanes(module, name, frame, first, len(group), write)
    return emitter_of(first).write(module, name, frame, first, write)


def _write_map(module: Module, name: str, frame: Frame, element: RowMap, write: WriteFormula) -> InnerCall:
    """Define a loop over the rows of a table."""
    tape = rewritten(element.tape, fused=True)
    ports = take_ports(frame, {"rows": element.width * element.count, "results": len(tape.outputs) * element.count})
    write_table(module, name, element, tape, ports["rows"].slot, ports["results"].slot)
    cost = price(tape)
    total = Cost(cost.operations * element.count, cost.price * element.count)
    return InnerCall(name, slots_of([ports["rows"]]), slots_of([ports["results"]]), total)


def _write_call(module: Module, name: str, frame: Frame, call: OutOfLineCall, write: WriteFormula) -> InnerCall:
    """Define a call, with slots of its own, of the function that is written at first use."""
    formula = call.formula
    sizes = {"given": formula.signature.input_sizes[0], "result": formula.signature.output_sizes[0]}
    function = f"function_{formula.identity()[:16]}" + suffix(module)
    cost, size = shared(module, function, formula, FormulaPorts(("given",), "result"), write)
    own = take_ports(frame, sizes)
    operands, results = slots_of([own["given"]]), slots_of([own["result"]])
    if frame.blocks > 1:
        frame.call(size)
        arrays = own["given"].slot, own["result"].slot
        return InnerCall(
            function,
            operands,
            results,
            cost,
            CallForm.TOGETHER_BEHIND if formula.multi_block else CallForm.BEHIND,
            arrays,
        )

    def write_reached(behind: Behind) -> None:
        b = module.builder()
        ends = (b.slot("%frame", own[key].slot) for key in sizes)
        b.line(f"call void @{function}({', '.join(f'ptr {x}' for x in (behind(b), *ends))})")
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)

    frame.call(size, write_reached)
    return InnerCall(module.expect(name), operands, results, cost)


_EMITTERS: dict[type, Emitter] = {
    OutOfLineCall: Emitter(_write_call, calls_function=True),
    RowMap: Emitter(_write_map),
    Lookup: Emitter(lambda module, name, frame, table, write: write_search(module, name, frame, table)),
    WhileLoop: Emitter(write_loop, calls_function=True),
    TreeScan: Emitter(
        lambda module, name, frame, scan, write: write_tree_scan(module, name, frame, scan), arrays_suffice=False
    ),
    CompressedJacobian: Emitter(write_directions, arrays_suffice=False),
    CellWalk: Emitter(
        lambda module, name, frame, walk, write: write_cell_walk(module, name, frame, walk, None), arrays_suffice=False
    ),
}
