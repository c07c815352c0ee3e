"""Programs in machine code: straight stages and table loops on one frame."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from myoquat.core.content import digest
from myoquat.kernels.codegen.body import Straight
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.multi_block import Call, CallForm, MultiBlock
from myoquat.kernels.codegen.parts import Cost, Ports, price, take_ports
from myoquat.kernels.codegen.stack import slots
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.traced import Shape, Signature

__all__ = ["FormulaStage", "RepeatStage", "Staged", "TableStage", "ZeroStage"]

Rows = tuple[str, np.ndarray]  # buffer, rows (count,) or (count, k)


@dataclass(frozen=True)
class FormulaStage:
    """A straight body between buffers of the names in its signature."""

    body: Straight

    @property
    def multi_block(self) -> bool:
        return self.body.multi_block

    def identity(self) -> str:
        return self.body.identity()

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Mapping[str, Shape]) -> Cost:
        return self.body.write(module, name, frame, buffers, buffers)


@dataclass(frozen=True)
class ZeroStage:
    """Buffers set to zero."""

    buffers: tuple[str, ...]
    multi_block: ClassVar[bool] = False

    def identity(self) -> str:
        return digest("zeros", *self.buffers)

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Mapping[str, Shape]) -> Cost:
        b = module.builder()
        for key in self.buffers:
            _zero(b, buffers[key])
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return Cost(0, 0.0)


@dataclass(frozen=True)
class TableStage:
    """A loop over elements; the fields are those of `Program.table`."""

    body: Straight
    count: int
    gather: Mapping[str, Rows]
    parameters: Mapping[str, np.ndarray]
    shared: tuple[str, ...]
    store: Mapping[str, Rows]
    add: Mapping[str, Rows]
    least: Mapping[str, Rows]
    zeroes: tuple[str, ...]
    multi_block: ClassVar[bool] = False

    def identity(self) -> str:
        parts: list[bytes | str] = ["table", str(self.count), self.body.identity(), *self.shared, *self.zeroes]
        for tag, links in (("", self.gather), ("", self.store), ("", self.add), ("least", self.least)):
            for key, (buffer, rows) in links.items():
                parts += [tag + key, buffer, str(rows.shape), rows.tobytes()]
        for key, values in self.parameters.items():
            parts += [key, str(values.shape), values.tobytes()]
        return digest(*parts)

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Mapping[str, Shape]) -> Cost:
        tape = rewritten(self.body.tape, fused=True)
        loop = _TableLoop(self, module, name, buffers, shapes)
        b = loop.b
        for key in self.zeroes:
            _zero(b, buffers[key])
        with b.loop(0, self.count) as element:
            loop.enter(element)
            loop.scatter_rest(emit_values(b, tape, loop.leaf, loop.scatter, loop.split))
        b.line("ret void")
        loop.define_tables()
        module.define(name, "void", "ptr %frame", b)
        cost = price(tape)
        return Cost(cost.operations * self.count, cost.price * self.count)


def _zero(b: Builder, port: Port) -> None:
    with b.loop(0, port.length) as k:
        start = b.slot("%frame", port.slot)
        b.store(0.0, b.offset(start, b.let(f"mul i64 {k}, {8 * b.lanes}")))


class _TableLoop:
    """Addresses inside the loop: gathered rows through a table of byte offsets, parameters through one of numbers."""

    def __init__(
        self, stage: TableStage, module: Module, name: str, buffers: Ports, shapes: Mapping[str, Shape]
    ) -> None:
        self.stage = stage
        self.name = name
        self.b = module.builder()
        self.buffers = buffers
        self.shapes = shapes
        self.offsets: list[np.ndarray] = []  # per pointer, (count,) bytes from the frame
        self.numbers = np.concatenate(
            [np.zeros((stage.count, 0)), *(v.reshape(stage.count, -1) for v in stage.parameters.values())], axis=1
        )
        links = {**stage.gather, **stage.store, **stage.add, **stage.least}
        self.links = {key: self._pointers(link) for key, link in links.items()}
        self.targets = self._targets()
        self.written: set[int] = set()
        self.pointers: dict[int, str] = {}
        self.leaves: list[tuple[str, int, int]] = self._leaves()
        self.row = self.parameters = self.element = ""

    def _row_length(self, buffer: str) -> int:
        return math.prod(self.shapes[buffer][1:])

    def _pointers(self, link: Rows) -> list[int]:
        """Columns of the offset table for a link, one per row that an element takes; equal columns are shared."""
        buffer, rows = link
        columns = []
        for column in rows.reshape(len(rows), -1).T:
            wanted = self.buffers[buffer].slot + column * self._row_length(buffer)
            found = [k for k, known in enumerate(self.offsets) if np.array_equal(known, wanted)]
            if not found:
                self.offsets.append(wanted)
            columns.append(found[0] if found else len(self.offsets) - 1)
        return columns

    def _leaves(self) -> list[tuple[str, int, int]]:
        """Where each flat input of the element is: ('row', pointer, slot), ('number', 0, column), ('slot', 0, slot)."""
        leaves: list[tuple[str, int, int]] = []
        for key, (buffer, _) in self.stage.gather.items():
            length = self._row_length(buffer)
            leaves += [("row", pointer, k) for pointer in self.links[key] for k in range(length)]
        leaves += [("number", 0, k) for k in range(self.numbers.shape[1])]
        for key in self.stage.shared:
            port = self.buffers[key]
            leaves += [("slot", 0, port.slot + k) for k in range(port.length)]
        return leaves

    def define_tables(self) -> None:
        """The constant tables, row after row of an element."""
        size = 8 * self.b.lanes
        offsets = np.array(self.offsets, dtype=np.int64).reshape(len(self.offsets), self.stage.count).T * size
        if offsets.size:
            self.b.module.constants(f"{self.name}_offsets", offsets)
        if self.numbers.size:
            self.b.module.constants(f"{self.name}_numbers", self.numbers)

    def enter(self, element: str) -> None:
        """Find the element's rows: one pointer per gathered or scattered row."""
        b, self.element = self.b, element
        if self.numbers.size:
            offset = b.let(f"mul i64 {element}, {8 * self.numbers.shape[1]}")
            self.parameters = b.offset(f"@{self.name}_numbers", offset)
        if self.offsets:
            self.row = b.offset(f"@{self.name}_offsets", b.let(f"mul i64 {element}, {8 * len(self.offsets)}"))
        for k in range(len(self.offsets)):
            self.pointers[k] = b.offset("%frame", b.load(b.offset(self.row, 8 * k), "i64"))

    def split(self) -> None:
        """A new block of code, which LLVM joins with none: it would compute early what then waits long in memory. The
        condition, that the element's number is not negative, is one that it does not see through."""
        after, never = self.b.label("after"), self.b.label("never")
        self.b.fork(self.b.let(f"icmp sge i64 {self.element}, 0"), after, never)
        self.b.begin(never)
        self.b.line("ret void")
        self.b.begin(after)

    def leaf(self, index: int) -> str:
        """The register of a flat input of the element."""
        b = self.b
        tag, pointer, k = self.leaves[index]
        if tag == "number":
            return b.splat(b.load(b.offset(self.parameters, 8 * k), "double"))
        return b.load(b.slot(self.pointers[pointer] if tag == "row" else "%frame", k))

    def _targets(self) -> list[tuple[str, int, int, bool]]:
        """Of each flat output: how it is written, its pointer and slot there, and whether no input reads its buffer."""
        stage = self.stage
        read = {self.buffers[buffer].slot for buffer in (*stage.shared, *(b for b, _ in stage.gather.values()))}
        targets = []
        for key, shape in stage.body.signature.outputs.items():
            tag = "add" if key in stage.add else "least" if key in stage.least else "store"
            buffer, _ = {**stage.store, **stage.add, **stage.least}[key]
            length, apart = self._row_length(buffer), self.buffers[buffer].slot not in read
            for k in range(math.prod(shape)):
                targets.append((tag, self.links[key][k // length], k % length, apart))
        return targets

    def scatter(self, position: int, value: str) -> None:
        """Store an output of the element, add it to what is there, or keep the smaller; not yet where inputs lie."""
        if self.targets[position][3]:
            self._write(position, value)

    def scatter_rest(self, values: list[str]) -> None:
        """The outputs that are not yet written."""
        for position, value in enumerate(values):
            if position not in self.written:
                self._write(position, value)

    def _write(self, position: int, value: str) -> None:
        b = self.b
        tag, pointer, slot, _ = self.targets[position]
        address = b.slot(self.pointers[pointer], slot)
        if tag == "add":
            value = b.add(b.load(address), value)
        elif tag == "least":
            there = b.load(address)
            value = b.select(b.compare("olt", value, there), value, there)
        b.store(value, address)
        self.written.add(position)


@dataclass(frozen=True)
class RepeatStage:
    """Stages that run so many times, or until `running` is zero in every lane. After every round each buffer of
    `carry` takes over what its partner holds."""

    stages: tuple["Stage", ...]
    count: int
    running: str
    carry: Mapping[str, str]
    multi_block: ClassVar[bool] = False

    @property
    def solves(self) -> bool:
        """Whether a stage in it would take several blocks of states by itself."""
        return any(stage.multi_block or (isinstance(stage, RepeatStage) and stage.solves) for stage in self.stages)

    def identity(self) -> str:
        parts = (str(self.count), self.running, str(dict(self.carry)))
        return digest("repeat", *parts, *(stage.identity() for stage in self.stages))

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Mapping[str, Shape]) -> Cost:
        calls, cost = _write_all(self.stages, module, name, frame, buffers, shapes)
        b = module.builder()
        with slots.while_any(b, self.count, b.slot("%frame", buffers[self.running].slot)):
            for call in calls:
                b.line(f"call void @{call}(ptr %frame)")
            for key, source in self.carry.items():
                slots.copy_port(b, buffers[source], buffers[key])
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return Cost(cost.operations * self.count, cost.price * self.count)


Stage = FormulaStage | TableStage | ZeroStage | RepeatStage


@dataclass(frozen=True)
class Staged:
    """A Program as a body."""

    signature: Signature
    shapes: Mapping[str, Shape]
    stages: tuple[Stage, ...]
    views: Mapping[str, str] = field(default_factory=dict)  # name -> the buffer whose numbers it shows

    def identity(self) -> str:
        described = (str(self.signature), str(dict(self.shapes)), str(dict(self.views)))
        return digest("staged", *described, *(s.identity() for s in self.stages))

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        known = {*inputs, *outputs, *self.views}
        missing = {k: math.prod(s) for k, s in self.shapes.items() if k not in known}
        buffers = {**take_ports(frame, missing), **outputs, **inputs}
        buffers |= {name: buffers[buffer] for name, buffer in self.views.items()}
        calls, cost = _write_all(self.stages, module, name, frame, buffers, self.shapes)
        b = module.builder()
        if frame.blocks > 1 and self.multi_block:
            ways = [CallForm.TOGETHER if stage.multi_block else CallForm.BLOCK for stage in self.stages]
            steps = [Call(call, way=way) for call, way in zip(calls, ways, strict=True)]
            MultiBlock(module, name, frame).write([*steps, Call(f"{name}_copies")])
            name = f"{name}_copies"
        else:
            for call in calls:
                b.line(f"call void @{call}(ptr %frame)")
        for key in self.signature.outputs:  # an input may be asked for as an output
            if key in inputs:
                slots.copy_port(b, inputs[key], outputs[key])
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return cost

    @property
    def multi_block(self) -> bool:
        """Whether a kernel takes several blocks of states together: for solvers that are in no repeated stage."""
        repeated = any(isinstance(stage, RepeatStage) and stage.solves for stage in self.stages)
        return not repeated and any(stage.multi_block for stage in self.stages)


def _write_all(
    stages: tuple[Stage, ...],
    module: Module,
    name: str,
    frame: Frame,
    buffers: Ports,
    shapes: Mapping[str, Shape],
) -> tuple[list[str], Cost]:
    """Write every stage as a function; their names in order, and what they cost together."""
    names = [f"{name}_stage{number}" for number in range(len(stages))]
    costs = [s.write(module, n, frame, buffers, shapes) for s, n in zip(stages, names, strict=True)]
    return names, Cost(sum(cost.operations for cost in costs), sum(cost.price for cost in costs))
