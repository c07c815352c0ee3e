"""Scans over a tree in machine code: a loop for every pass over a table of where each member finds what it takes.

A member has a block of slots of its own. What goes from one to another has rows, each used again as soon as its last
reader is done. They therefore stay in the cache. Each stage of a type is written once, as a function.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.parts import Cost, InnerCall, price
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.traced_tree_scan import MemberType, PassSignature, Stage, TreeScan
from myoquat.kernels.control_flow.tree_scan_members import ROOT
from myoquat.kernels.tracing.rewrite import rewritten

__all__ = ["rows_of", "write_tree_scan"]

# rows of the table: the start of a pass, a row that is never read, and the first of the others
_START, _UNREAD, _FIRST_FREE = 0, 1, 2
_TABLE_COLUMNS = 6  # type, block, numbers, row to take, row to add to, row to give; all but the type in bytes


def write_tree_scan(module: Module, name: str, frame: Frame, scan: TreeScan) -> InnerCall:
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
        _write_table(module, own, scan, way, (first, rows, base))
        for k, member_type in enumerate(scan.types):
            summed = any(rows[i].before != _START for i in member_type.members)
            placed = _StageOfType(member_type, member_type.stages[turn], summed, f"{name}_numbers{k}")
            cost = _write_stage(module, f"{own}_type{k}", placed)
            costs.append(Cost(cost.operations * len(member_type.members), cost.price * len(member_type.members)))
        for j, number in enumerate(way.start or [0.0] * way.width):
            b.store(number, b.slot("%frame", base + _START * way.width + j))
        _write_loop(b, own, len(scan.parents), len(scan.types))
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


def _write_table(
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


def _write_loop(b: Builder, name: str, count: int, types: int) -> None:
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
    """Define `void name(ptr frame, ptr row)`: what a member does, its line of the table at `row`."""
    tape = rewritten(placed.stage.tape, fused=True)
    b = module.builder()
    writer = _Writer(b, placed)
    for number, value in enumerate(emit_values(b, tape, writer.leaf, writer.ready, writer.split)):
        if number not in writer.written:
            writer.ready(number, value)
    b.line("ret void")
    module.define(name, "void", "ptr %frame, ptr %row", b)
    return price(tape)


class _Writer:
    """Where a stage finds its inputs and leaves its outputs. It writes nothing that it reads, but for sums."""

    def __init__(self, b: Builder, placed: _StageOfType) -> None:
        self.b, (self.type, self.stage, self.summed, table) = b, placed
        self.block_bytes, *rest = [b.load(b.offset("%row", 8 * column), "i64") for column in range(1, _TABLE_COLUMNS)]
        self.block, self.take, self.before, self.give = (b.offset("%frame", at) for at in (self.block_bytes, *rest[1:]))
        self.numbers = b.offset(f"@{table}", rest[0])
        self.written: set[int] = set()

    def leaf(self, index: int) -> str:
        """The register of an input."""
        b, own, numbers = self.b, self.type.block, self.type.numbers.shape[1]
        if index < own:
            return b.load_unchanging(b.slot(self.block, index))
        if index < own + numbers:
            return b.splat(b.load(b.offset(self.numbers, 8 * (index - own)), "double"))
        return b.load_unchanging(b.slot(self.take, index - own - numbers))

    def ready(self, number: int, value: str) -> None:
        """Store an output."""
        b, indices = self.b, self.stage.slots
        self.written.add(number)
        if number < len(indices):
            b.store(value, b.slot(self.block, indices[number]))
            return
        placed = number - len(indices)
        if self.summed:
            value = b.add(b.load(b.slot(self.before, placed)), value)
        b.store(value, b.slot(self.give, placed))

    def split(self) -> None:
        """A new block of code."""
        self.b.split(self.block_bytes)
