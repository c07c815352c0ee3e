"""Walks over cells in machine code: a loop for every type of visits, over a table of where each finds its blocks."""

import numpy as np

from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.parts import Cost, InnerCall, price
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.cell_walk import CellWalk, TracedVisit
from myoquat.kernels.tracing.rewrite import rewritten

__all__ = ["write_cell_walk"]


def write_cell_walk(module: Module, name: str, frame: Frame, walk: CellWalk, result: int | None) -> InnerCall:
    """Define `void name(ptr frame)`. result: the first slot of where the result is wanted, None for slots of its own.
    The other cells have slots of their own."""
    first = frame.take(walk.size) if result is None else result
    others = frame.take(walk.cells - walk.size) - walk.size
    slots = np.arange(walk.cells) + np.where(np.arange(walk.cells) < walk.size, first, others)
    costs = []
    for k, visit_type in enumerate(walk.types):
        cost, count = _write_type(module, f"{name}_type{k}", visit_type, slots), walk.visits(k)
        costs.append(Cost(cost.operations * count, cost.price * count))
    b = module.builder()
    for run in walk.order:
        b.line(f"call void @{name}_type{run.visit_type}(ptr %frame, i64 {run.first}, i64 {run.last})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    operands, results = slots[list(walk.known)].tolist(), slots[: walk.size].tolist()
    return InnerCall(name, operands, results, Cost(sum(c.operations for c in costs), sum(c.price for c in costs)))


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
            [(pointers[columns.index(block.first.tobytes())], int(k)) for block in part for k in block.behind]
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
