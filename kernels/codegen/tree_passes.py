"""Recursions in machine code: a loop for every pass over a table of where each member finds what it takes.

A member has a block of slots of its own; what goes from one to another has rows, each used again as soon as nobody asks
for it any more, so that they stay near. The stages of a kind are functions, which stand there once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.parts import Cost, InnerCall, price
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.traced_tree_scan import Kind, Recursive, Stage, Way
from myoquat.kernels.control_flow.tree_scan_members import ROOT
from myoquat.kernels.tracing.rewrite import rewritten

__all__ = ["rows_of", "write_recursion"]

_START, _NOWHERE, _FREE = 0, 1, 2  # rows: what is given at the start, what nobody reads, and the first of the others
_COLUMNS = 6  # of the table: kind, block, numbers, row to take, row to add to, row to give, all but the kind in bytes


def write_recursion(module: Module, name: str, frame: Frame, recursive: Recursive) -> InnerCall:
    """Define `void name(ptr frame)`: every pass in turn."""
    places = recursive.places()
    blocks = [frame.take(kind.block * len(kind.members)) for kind in recursive.kinds]
    first = [blocks[k] + recursive.kinds[k].block * number for k, number in places]
    for k, kind in enumerate(recursive.kinds):
        module.constants(f"{name}_numbers{k}", kind.numbers)
    costs = []
    b = module.builder()
    for turn, way in enumerate(recursive.ways):
        rows = rows_of(recursive, way)
        base = frame.take(way.width * (1 + max(map(max, rows))))
        own = f"{name}_pass{turn}"
        _write_table(module, own, recursive, way, (first, rows, base))
        for k, kind in enumerate(recursive.kinds):
            summed = any(rows[i].before != _START for i in kind.members)
            place = _Place(kind, kind.stages[turn], summed, f"{name}_numbers{k}")
            cost = _write_stage(module, f"{own}_kind{k}", place)
            costs.append(Cost(cost.operations * len(kind.members), cost.price * len(kind.members)))
        for j, number in enumerate(way.start or [0.0] * way.width):
            b.store(number, b.slot("%frame", base + _START * way.width + j))
        _write_loop(b, own, len(recursive.parents), len(recursive.kinds))
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    kinds = [recursive.kinds[k] for k, _ in places]
    taken = [at + j for at, kind in zip(first, kinds, strict=True) for j in range(kind.row)]
    given = [at + j for at, kind in zip(first, kinds, strict=True) for j in range(kind.block - kind.result, kind.block)]
    return InnerCall(name, taken, given, Cost(sum(c.operations for c in costs), sum(c.price for c in costs)))


class _Row(NamedTuple):
    """Of a member in a pass: the rows that it takes, adds to, and gives."""

    take: int
    before: int
    give: int


def rows_of(recursive: Recursive, way: Way) -> list[_Row]:
    """The rows of every member. A row is free again after the last member that takes it, so that none is taken and
    given by the same one."""
    parents, found = recursive.parents, [_Row(_START, _START, _NOWHERE)] * len(recursive.parents)
    waiting = np.bincount([p for p in parents if p != ROOT], minlength=len(parents)).tolist()
    free: list[int] = []
    used = [_FREE]
    at: dict[int, int] = {}  # member -> the row of what it gives downwards, of what it takes upwards

    def fresh() -> int:
        if not free:
            used[0] += 1
        return free.pop() if free else used[0] - 1

    for i in recursive.order(way):
        parent = parents[i]
        if way.start is not None:
            if waiting[i]:
                at[i] = fresh()
            found[i] = _Row(at.get(parent, _START), _START, at.get(i, _NOWHERE))
            if parent != ROOT:
                waiting[parent] -= 1
                if not waiting[parent]:
                    free.append(at[parent])
            continue
        before = at.get(parent, _START)
        if parent != ROOT and parent not in at:
            at[parent] = fresh()
        found[i] = _Row(at.get(i, _START), before, at.get(parent, _NOWHERE))
        if i in at:
            free.append(at[i])
    return found


def _write_table(
    module: Module, name: str, recursive: Recursive, way: Way, laid: tuple[Sequence[int], Sequence[_Row], int]
) -> None:
    """@name_table, in the order of the pass."""
    (first, rows, base), size = laid, 8 * module.lanes
    places, lines = recursive.places(), []
    for i in recursive.order(way):
        kind, number = places[i]
        at = [size * (base + way.width * row) for row in rows[i]]
        lines.append([kind, size * first[i], 8 * recursive.kinds[kind].numbers.shape[1] * number, *at])
    module.constants(f"{name}_table", np.array(lines, dtype=np.int64))


def _write_loop(b: Builder, name: str, count: int, kinds: int) -> None:
    """One member after the other, by the function of its kind."""
    with b.loop(0, count) as member:
        row = b.offset(f"@{name}_table", b.let(f"mul i64 {member}, {8 * _COLUMNS}"))
        if kinds == 1:
            b.line(f"call void @{name}_kind0(ptr %frame, ptr {row})")
            return
        after, cases = b.label("next"), [b.label("kind") for _ in range(kinds)]
        listed = " ".join(f"i64 {k}, label %{case}" for k, case in enumerate(cases))
        b.line(f"switch i64 {b.load(row, 'i64')}, label %{after} [ {listed} ]")
        for k, case in enumerate(cases):
            b.begin(case)
            b.line(f"call void @{name}_kind{k}(ptr %frame, ptr {row})")
            b.jump(after)
        b.begin(after)


class _Place(NamedTuple):
    """A stage of a kind, whether what goes is added to what others have given, and the name of the table of numbers."""

    kind: Kind
    stage: Stage
    summed: bool
    numbers: str


def _write_stage(module: Module, name: str, place: _Place) -> Cost:
    """Define `void name(ptr frame, ptr row)`: what a member does, its line of the table at `row`."""
    tape = rewritten(place.stage.tape, fused=True)
    b = module.builder()
    writer = _Writer(b, place)
    for number, value in enumerate(emit_values(b, tape, writer.leaf, writer.ready, writer.split)):
        if number not in writer.written:
            writer.ready(number, value)
    b.line("ret void")
    module.define(name, "void", "ptr %frame, ptr %row", b)
    return price(tape)


class _Writer:
    """Where a stage finds its inputs and leaves its outputs. It writes nothing that it reads, but for sums."""

    def __init__(self, b: Builder, place: _Place) -> None:
        self.b, (self.kind, self.stage, self.summed, table) = b, place
        self.block_bytes, *rest = [b.load(b.offset("%row", 8 * column), "i64") for column in range(1, _COLUMNS)]
        self.block, self.take, self.before, self.give = (b.offset("%frame", at) for at in (self.block_bytes, *rest[1:]))
        self.numbers = b.offset(f"@{table}", rest[0])
        self.written: set[int] = set()

    def leaf(self, index: int) -> str:
        """The register of an input."""
        b, own, numbers = self.b, self.kind.block, self.kind.numbers.shape[1]
        if index < own:
            return b.load_unchanging(b.slot(self.block, index))
        if index < own + numbers:
            return b.splat(b.load(b.offset(self.numbers, 8 * (index - own)), "double"))
        return b.load_unchanging(b.slot(self.take, index - own - numbers))

    def ready(self, number: int, value: str) -> None:
        """Store an output."""
        b, places = self.b, self.stage.places
        self.written.add(number)
        if number < len(places):
            b.store(value, b.slot(self.block, places[number]))
            return
        place = number - len(places)
        if self.summed:
            value = b.add(b.load(b.slot(self.before, place)), value)
        b.store(value, b.slot(self.give, place))

    def split(self) -> None:
        """A new block of code, which LLVM joins with none: it would compute early what then waits long in memory. The
        condition, that a place in the frame is not negative, is one that it does not see through."""
        b = self.b
        after, never = b.label("after"), b.label("never")
        b.fork(b.let(f"icmp sge i64 {self.block_bytes}, 0"), after, never)
        b.begin(never)
        b.line("ret void")
        b.begin(after)
