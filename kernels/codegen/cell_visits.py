"""Walks over cells in machine code: a loop for every type of visits, over a table of where each finds its blocks."""

from collections.abc import Mapping, Sequence

import numpy as np

from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.parts import Cost, InnerCall, price
from myoquat.kernels.codegen.row_transfer import end_panels, write_panel
from myoquat.kernels.codegen.stack.slots import Place, copy, fill
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.cell_walk import Block, CellWalk, Run, TracedVisit
from myoquat.kernels.tracing.rewrite import rewritten

__all__ = ["write_cell_walk"]


def write_cell_walk(module: Module, name: str, frame: Frame, walk: CellWalk, result: Port | None) -> InnerCall:
    """Define `void name(ptr frame)`. result: where the result is wanted, None for slots of its own; the other cells
    have slots of their own. Of rows, panels are written as they are done, and all lie in the slots of one."""
    slots, own = _slots(frame, walk, result)
    costs = []
    for k, visit_type in enumerate(walk.types):
        cost, count = _write_type(module, f"{name}_type{k}", visit_type, slots), walk.visits(k)
        costs.append(Cost(cost.operations * count, cost.price * count))
    b = module.builder()
    if own is None or result is None:
        fill(b, f"{name}_fixed", [(x, Place(int(slots[i]))) for i, x in walk.fixed])
        _write_runs(b, name, walk.order)
    else:
        _write_panels(b, name, walk, (slots, own, result))
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    operands = [int(slots[i]) if own is None else own.get(i, int(slots[i])) for i in walk.known]
    total = Cost(sum(c.operations for c in costs), sum(c.price for c in costs))
    return InnerCall(name, operands, slots[: walk.size].tolist(), total)


def _write_runs(b: Builder, name: str, runs: Sequence[Run]) -> None:
    for run in runs:
        b.line(f"call void @{name}_type{run.visit_type}(ptr %frame, i64 {run.first}, i64 {run.last})")


def _write_panels(b: Builder, name: str, walk: CellWalk, where: tuple[np.ndarray, Mapping[int, int], Port]) -> None:
    """The runs of one panel after the other, each with what it holds at the start, and its way to the caller's rows."""
    slots, own, result = where
    fixed, begun, rows = dict(walk.fixed), 0, b.slot("%frame", result.slot)
    for k, panel in enumerate(walk.panels):
        cells = panel.cells.tolist()
        fill(b, f"{name}_fixed{k}", [(fixed[i], Place(int(slots[i]))) for i in cells if i in fixed])
        copy(b, f"{name}_known{k}", [(Place(own[i]), Place(int(slots[i]))) for i in cells if i in own])
        _write_runs(b, name, walk.order[begun : panel.until])
        for start, stop in panel.ranges:
            write_panel(b, rows, b.slot("%frame", int(slots[start])), start, stop - start, walk.size)
        begun = panel.until
    end_panels(b)


def _slots(frame: Frame, walk: CellWalk, result: Port | None) -> tuple[np.ndarray, dict[int, int] | None]:
    """The slot of every cell; and, of rows, the slots in which known cells of the result wait for their panels."""
    if result is None or not result.rows:
        first = frame.take(walk.size) if result is None else result.slot
        others = frame.take(walk.cells - walk.size) - walk.size
        return np.arange(walk.cells) + np.where(np.arange(walk.cells) < walk.size, first, others), None
    length = max(stop - start for panel in walk.panels for start, stop in panel.ranges)
    window = frame.take(length * max(len(panel.ranges) for panel in walk.panels))
    slots = np.arange(walk.cells) + frame.take(walk.cells - walk.size) - walk.size
    for panel in walk.panels:
        for k, (start, stop) in enumerate(panel.ranges):
            slots[start:stop] = window + length * k + np.arange(stop - start)
    return slots, {i: frame.take(1) for i in walk.known if i < walk.size}


def _write_type(module: Module, name: str, visit_type: TracedVisit, slots: np.ndarray) -> Cost:
    """Define `void name(ptr frame, i64 first, i64 last)`: these visits."""
    tape = rewritten(visit_type.tape, fused=True)
    b = module.builder()
    with b.loop("%first", "%last") as visit:
        writer = _Writer(b, name, visit_type, slots, visit)
        writer.rest(emit_values(b, tape, writer.leaf, writer.ready, writer.split))
    b.line("ret void")
    module.define(name, "void", "ptr %frame, i64 %first, i64 %last", b)
    return price(tape)


def _behind(block: Block, slots: np.ndarray) -> list[int]:
    """How far the slots of a block lie behind the first, in every visit. ValueError where that is not one number."""
    found = slots[block.first[:, None] + block.behind] - slots[block.first][:, None]
    if np.any(found != found[0]):
        raise ValueError("cells of one block have other where among their panels in some visits")
    behind: list[int] = found[0].tolist()
    return behind


class _Writer:
    """Where a visit finds what it takes and leaves what it gives. What lies in blocks that are read is written last."""

    def __init__(self, b: Builder, name: str, visit_type: TracedVisit, slots: np.ndarray, visit: str) -> None:
        self.b, self.visit = b, visit
        size, blocks = 8 * b.lanes, [*visit_type.takes, *visit_type.gives]
        firsts: list[bytes] = [block.first.tobytes() for block in blocks]
        columns = list(dict.fromkeys(firsts))
        table = np.stack([slots[blocks[firsts.index(x)].first] for x in columns], axis=-1).astype(np.int64) * size
        b.module.constants(f"{name}_offsets", table)
        row = b.offset(f"@{name}_offsets", b.let(f"mul i64 {visit}, {8 * len(columns)}"))
        pointers = [b.offset("%frame", b.load(b.offset(row, 8 * k), "i64")) for k in range(len(columns))]
        self.read, self.given = (
            [(pointers[columns.index(block.first.tobytes())], k) for block in part for k in _behind(block, slots)]
            for part in (visit_type.takes, visit_type.gives)
        )
        read = {block.first.tobytes() for block in visit_type.takes}
        self.late = [block.first.tobytes() in read for block in visit_type.gives for _ in block.behind]
        self.written: set[int] = set()

    def leaf(self, index: int) -> str:
        """The register of an input."""
        pointer, k = self.read[index]
        return self.b.load(self.b.slot(pointer, k))

    def ready(self, number: int, value: str) -> None:
        """Store an output, unless its cell may still be read."""
        if not self.late[number]:
            self._store(number, value)

    def rest(self, values: list[str]) -> None:
        """Store all others."""
        for number, value in enumerate(values):
            if number not in self.written:
                self._store(number, value)

    def split(self) -> None:
        """A new block of code."""
        self.b.split(self.visit)

    def _store(self, number: int, value: str) -> None:
        pointer, k = self.given[number]
        self.written.add(number)
        self.b.store(value, self.b.slot(pointer, k))
