"""Constructs of control flow in machine code: how each type is written.

A construct that is called from the middle of a formula reads and writes slots of the formula's frame. One table says
for each type how it is written; adding a construct adds one row.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.kernels.codegen import slots
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.loops import FormulaPorts, shared, suffix, write_lanes, write_loop
from myoquat.kernels.codegen.lower import RowWriter, Source, Target, row_of_tables, write_table
from myoquat.kernels.codegen.parts import (
    NANOSECONDS_PER_OPERATION,
    CallForm,
    Cost,
    InnerCall,
    WriteFormula,
    price,
    slots_of,
    take_ports,
)
from myoquat.kernels.codegen.slots import Behind, Frame, Place, fill
from myoquat.kernels.control_flow.cell_walk import Block, CellWalk, TracedVisit
from myoquat.kernels.control_flow.jacobian_entries import CompressedJacobian
from myoquat.kernels.control_flow.map_rows import OutOfLineCall, RowMap
from myoquat.kernels.control_flow.table_lookup import Lookup
from myoquat.kernels.control_flow.tree_scan import ROOT, MemberType, PassSignature, Stage, TreeScan
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Construct

__all__ = [
    "Emitter",
    "emitter_of",
    "rows_of",
    "write_cell_walk",
    "write_directions",
    "write_group",
    "write_lookup",
    "write_search",
    "write_tree_scan",
]


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


# ---- Compressed Jacobians in machine code: one direction as a function, in a loop over a table of seeds --------


def write_directions(
    module: Module,
    name: str,
    frame: Frame,
    evaluation: CompressedJacobian,
    write: WriteFormula,
    result: Port | None = None,
) -> InnerCall:
    """Define `void name(ptr frame)`: every direction in turn."""
    (shared, width), (length,) = evaluation.formula.signature.input_sizes, evaluation.formula.signature.output_sizes
    count = len(evaluation.seeds)
    ports = take_ports(frame, {"shared": shared, "seed": width, "result": length, "results": count * length})
    inputs = {key: ports[key] for key in ("shared", "seed")}
    cost = write(evaluation.formula, module, f"{name}_direction", frame, inputs, {"result": ports["result"]})
    module.constants(f"{name}_seeds", evaluation.seeds)
    b = module.builder()
    with b.loop(0, count) as direction:
        _seed(b, f"@{name}_seeds", direction, ports["seed"])
        b.line(f"call void @{name}_direction(ptr %frame)")
        to = b.offset("%frame", b.let(f"mul i64 {direction}, {8 * b.lanes * length}"))
        slots.copy_port(b, ports["result"], Port(ports["results"].slot, length), ("%frame", to))
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    total = Cost(cost.operations * count, cost.price * count)
    return InnerCall(name, slots_of([ports["shared"]]), slots_of([ports["results"]]), total)


def _seed(b: Builder, table: str, row: str, seed: Port) -> None:
    """The seeds of a direction into their slots, the same in every lane."""
    own = b.offset(table, b.let(f"mul i64 {row}, {8 * seed.length}"))
    with b.loop(0, seed.length) as column:
        value = b.splat(b.load(b.offset(own, b.let(f"mul i64 {column}, 8")), "double"))
        to = b.offset("%frame", b.let(f"mul i64 {column}, {8 * b.lanes}"))
        b.store(value, b.slot(to, seed.slot))


# ---- scans over a tree, a loop over the members for every pass ---------------------------------------------
# A member has a block of slots of its own. What goes from one to another has rows, each used again as soon as its
# last reader is done. They therefore stay in the cache. Each stage of a type is written once, as a function.


# rows of the table: the start of a pass, a row that is never read, and the first of the others
_START, _UNREAD, _FIRST_FREE = 0, 1, 2
_TABLE_COLUMNS = 6  # type, block, numbers, row to take, row to add to, row to give; all but the type in bytes


def write_tree_scan(
    module: Module, name: str, frame: Frame, scan: TreeScan, write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define `void name(ptr frame)`: every pass in turn."""
    indices = scan.indices()
    blocks = [frame.take(member_type.block * len(member_type.members)) for member_type in scan.types]
    first = [blocks[k] + scan.types[k].block * number for k, number in indices]
    for k, member_type in enumerate(scan.types):
        module.constants(f"{name}_numbers{k}", member_type.numbers)
    costs = []
    b = module.builder()
    for turn, way in enumerate(scan.ways):
        rows = rows_of(scan, way)
        base = frame.take(way.width * (1 + max(map(max, rows))))
        own = f"{name}_pass{turn}"
        _write_pass_table(module, own, scan, way, (first, rows, base))
        for k, member_type in enumerate(scan.types):
            summed = any(rows[i].before != _START for i in member_type.members)
            placed = _StageOfType(member_type, member_type.stages[turn], summed, f"{name}_numbers{k}")
            cost = _write_stage(module, f"{own}_type{k}", placed)
            costs.append(Cost(cost.operations * len(member_type.members), cost.price * len(member_type.members)))
        for j, number in enumerate(way.start or [0.0] * way.width):
            b.store(number, b.slot("%frame", base + _START * way.width + j))
        _write_pass(b, own, len(scan.parents), len(scan.types))
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    types = [scan.types[k] for k, _ in indices]
    operands = [at + j for at, member_type in zip(first, types, strict=True) for j in range(member_type.row)]
    results = [
        at + j
        for at, member_type in zip(first, types, strict=True)
        for j in range(member_type.block - member_type.result, member_type.block)
    ]
    return InnerCall(name, operands, results, Cost(sum(c.operations for c in costs), sum(c.price for c in costs)))


class _Row(NamedTuple):
    """Of a member in a pass: the rows that it takes, adds to, and gives."""

    take: int
    before: int
    give: int


def rows_of(scan: TreeScan, way: PassSignature) -> list[_Row]:
    """The rows of every member. A row is free again after the last member that takes it, so that none is taken and
    given by the same one."""
    parents, found = scan.parents, [_Row(_START, _START, _UNREAD)] * len(scan.parents)
    waiting = np.bincount([p for p in parents if p != ROOT], minlength=len(parents)).tolist()
    free: list[int] = []
    used = [_FIRST_FREE]
    at: dict[int, int] = {}  # member -> the row of what it gives downwards, of what it takes upwards

    def fresh() -> int:
        if not free:
            used[0] += 1
        return free.pop() if free else used[0] - 1

    for i in scan.order(way):
        parent = parents[i]
        if way.start is not None:
            if waiting[i]:
                at[i] = fresh()
            found[i] = _Row(at.get(parent, _START), _START, at.get(i, _UNREAD))
            if parent != ROOT:
                waiting[parent] -= 1
                if not waiting[parent]:
                    free.append(at[parent])
            continue
        before = at.get(parent, _START)
        if parent != ROOT and parent not in at:
            at[parent] = fresh()
        found[i] = _Row(at.get(i, _START), before, at.get(parent, _UNREAD))
        if i in at:
            free.append(at[i])
    return found


def _write_pass_table(
    module: Module, name: str, scan: TreeScan, way: PassSignature, laid: tuple[Sequence[int], Sequence[_Row], int]
) -> None:
    """@name_table, in the order of the pass."""
    (first, rows, base), size = laid, 8 * module.lanes
    indices, lines = scan.indices(), []
    for i in scan.order(way):
        member_type, number = indices[i]
        at = [size * (base + way.width * row) for row in rows[i]]
        lines.append([member_type, size * first[i], 8 * scan.types[member_type].numbers.shape[1] * number, *at])
    module.constants(f"{name}_table", np.array(lines, dtype=np.int64))


def _write_pass(b: Builder, name: str, count: int, types: int) -> None:
    """One member after the other, by the function of its type."""
    with b.loop(0, count) as member:
        row = b.offset(f"@{name}_table", b.let(f"mul i64 {member}, {8 * _TABLE_COLUMNS}"))
        if types == 1:
            b.line(f"call void @{name}_type0(ptr %frame, ptr {row})")
            return
        after, cases = b.label("next"), [b.label("type") for _ in range(types)]
        listed = " ".join(f"i64 {k}, label %{case}" for k, case in enumerate(cases))
        b.line(f"switch i64 {b.load(row, 'i64')}, label %{after} [ {listed} ]")
        for k, case in enumerate(cases):
            b.begin(case)
            b.line(f"call void @{name}_type{k}(ptr %frame, ptr {row})")
            b.jump(after)
        b.begin(after)


class _StageOfType(NamedTuple):
    """A stage of a type, whether what goes is added to what others have given, and the name of the table of numbers."""

    type: MemberType
    stage: Stage
    summed: bool
    numbers: str


def _write_stage(module: Module, name: str, placed: _StageOfType) -> Cost:
    """Define `void name(ptr frame, ptr row)`: what a member does, its line of the table at `row`. It writes nothing
    that it reads, but for sums."""
    tape, member_type, stage = rewritten(placed.stage.tape, fused=True), placed.type, placed.stage
    b = module.builder()
    block_bytes, *rest = [b.load(b.offset("%row", 8 * column), "i64") for column in range(1, _TABLE_COLUMNS)]
    block, take, before, give = (b.offset("%frame", at) for at in (block_bytes, *rest[1:]))
    numbers, count = b.offset(f"@{placed.numbers}", rest[0]), member_type.numbers.shape[1]
    come = tape.inputs - member_type.block - count
    sources = [
        *(Source(block, k, unchanging=True) for k in range(member_type.block)),
        *(Source(numbers, k, number=True) for k in range(count)),
        *(Source(take, k, unchanging=True) for k in range(come)),
    ]
    gone = range(len(tape.outputs) - len(stage.slots))
    mode = ("add", False, before) if placed.summed else ("store",)
    targets = [*(Target(block, slot) for slot in stage.slots), *(Target(give, k, *mode) for k in gone)]
    RowWriter(b, block_bytes, sources, targets).write(tape)
    b.line("ret void")
    module.define(name, "void", "ptr %frame, ptr %row", b)
    return price(tape)


# ---- walks over cells, a loop for every type of visits -----------------------------------------------------


def write_cell_walk(
    module: Module, name: str, frame: Frame, walk: CellWalk, write: WriteFormula, result: Port | None
) -> InnerCall:
    """Define `void name(ptr frame)`. result: where the result is wanted, None for slots of its own; the other cells
    have slots of their own."""
    first = frame.take(walk.size) if result is None else result.slot
    others = frame.take(walk.cells - walk.size) - walk.size
    slots = np.arange(walk.cells) + np.where(np.arange(walk.cells) < walk.size, first, others)
    costs = []
    for k, visit_type in enumerate(walk.types):
        cost, count = _write_type(module, f"{name}_type{k}", visit_type, slots), walk.visits(k)
        costs.append(Cost(cost.operations * count, cost.price * count))
    b = module.builder()
    fill(b, f"{name}_fixed", [(x, Place(int(slots[i]))) for i, x in walk.fixed])
    for run in walk.order:
        b.line(f"call void @{name}_type{run.visit_type}(ptr %frame, i64 {run.first}, i64 {run.last})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    operands = [int(slots[i]) for i in walk.known]
    total = Cost(sum(c.operations for c in costs), sum(c.price for c in costs))
    return InnerCall(name, operands, slots[: walk.size].tolist(), total)


def _write_type(module: Module, name: str, visit_type: TracedVisit, slots: np.ndarray) -> Cost:
    """Define `void name(ptr frame, i64 first, i64 last)`: these visits. What lies in blocks that are read is written
    last."""
    tape = rewritten(visit_type.tape, fused=True)
    firsts = {block.first.tobytes(): block.first for block in (*visit_type.takes, *visit_type.gives)}
    columns, read = list(firsts), {block.first.tobytes() for block in visit_type.takes}
    table = np.stack([slots[first] for first in firsts.values()], axis=-1)
    b = module.builder()
    with b.loop("%first", "%last") as visit:
        pointers, _ = row_of_tables(b, name, visit, table, np.zeros(0))

        def columns_of(blocks: Sequence[Block]) -> Iterator[tuple[str, int, bool]]:
            for block in blocks:
                first = block.first.tobytes()
                yield from ((pointers[columns.index(first)], k, first in read) for k in _behind(block, slots))

        sources = [Source(pointer, k) for pointer, k, _ in columns_of(visit_type.takes)]
        targets = [Target(pointer, k, late=late) for pointer, k, late in columns_of(visit_type.gives)]
        RowWriter(b, visit, sources, targets).write(tape)
    b.line("ret void")
    module.define(name, "void", "ptr %frame, i64 %first, i64 %last", b)
    return price(tape)


def _behind(block: Block, slots: np.ndarray) -> list[int]:
    """How far the slots of a block lie behind the first, in every visit. ValueError where that is not one number."""
    found = slots[block.first[:, None] + block.behind] - slots[block.first][:, None]
    if np.any(found != found[0]):
        raise ValueError("the slots of a block lie differently in some visits")
    behind: list[int] = found[0].tolist()
    return behind


# ---- the table ---------------------------------------------------------------------------------------------


class Emitter(NamedTuple):
    """How a type of construct is written: write(module, name, frame, construct, write_formula, result) -> InnerCall.

    result          where its result is wanted; None for slots of its own
    calls_function  whether it calls a function on a frame of its own. The arrays of such a call are filled just before
                    it
    arrays_suffice  whether it needs no slots of the frame but those that it reads and writes
    write_lanes     writes several equal ones of a kernel for one state, side by side in the lanes of the registers
    """

    write: Callable[[Module, str, Frame, Any, WriteFormula, Port | None], InnerCall]
    calls_function: bool = False
    arrays_suffice: bool = True
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


def _write_map(
    module: Module, name: str, frame: Frame, element: RowMap, write: WriteFormula, result: Port | None
) -> InnerCall:
    """Define a loop over the rows of a table."""
    tape = rewritten(element.tape, fused=True)
    ports = take_ports(frame, {"rows": element.width * element.count, "results": len(tape.outputs) * element.count})
    write_table(module, name, element, tape, ports["rows"].slot, ports["results"].slot)
    cost = price(tape)
    total = Cost(cost.operations * element.count, cost.price * element.count)
    return InnerCall(name, slots_of([ports["rows"]]), slots_of([ports["results"]]), total)


def _write_call(
    module: Module, name: str, frame: Frame, call: OutOfLineCall, write: WriteFormula, result: Port | None
) -> InnerCall:
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
    Lookup: Emitter(write_search),
    WhileLoop: Emitter(write_loop, calls_function=True, write_lanes=write_lanes),
    TreeScan: Emitter(write_tree_scan, arrays_suffice=False),
    CompressedJacobian: Emitter(write_directions, arrays_suffice=False),
    CellWalk: Emitter(write_cell_walk, arrays_suffice=False),
}
