"""Stages of programs: straight formulas and loops over tables, between named buffers.

In Python a stage evaluates many states side by side (`advance`). In machine code it is a function on the frame of a
kernel (`write`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from myoquat.core.content import digest
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.codegen import slots
from myoquat.kernels.codegen.body import write_formula
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import write_rows
from myoquat.kernels.codegen.parts import Call, CallForm, Cost, MultiBlock, Ports, take_ports
from myoquat.kernels.codegen.slots import Frame
from myoquat.kernels.control_flow.table_loop import Block, TracedRows
from myoquat.kernels.tracing.tape import Shape, Signature, Traced
from myoquat.kernels.tracing.trace import Formula

__all__ = [
    "FillStage",
    "FormulaStage",
    "Link",
    "RepeatStage",
    "Stage",
    "Staged",
    "TableStage",
    "ViewStage",
]

Buffers = dict[str, Array]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True)
class Link:
    """Rows (count,) or (count, k) of a buffer, and the shape that an element sees of them."""

    buffer: str
    rows: np.ndarray
    element_shape: Shape

    @cached_property
    def is_one_row(self) -> bool:
        """Whether all elements have the same rows."""
        return bool((self.rows == self.rows[:1]).all())


class Stage:
    """A stage, by default one without code of its own. multi_block: whether it takes several blocks of states."""

    multi_block: ClassVar[bool] = False

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        """Many states side by side, on buffers (states, *shape) of floats."""

    def identity(self) -> str:
        """Text that two stages share only if they write the same code; empty for a stage without code."""
        return ""

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes) -> Cost:
        """Define `void name(ptr frame)`."""
        raise NotImplementedError


@dataclass(frozen=True)
class FormulaStage(Stage):
    """A straight formula between buffers of the names in its signature."""

    function: Formula
    formula: Traced

    @property
    def multi_block(self) -> bool:  # type: ignore[override]
        return self.formula.multi_block

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        result = self.function(*(buffers[key] for key in self.formula.signature.inputs))
        named = self.formula.signature.outputs
        batch = next(iter(buffers.values())).shape[0]
        for (key, shape), value in zip(named.items(), _values(result, list(named)), strict=True):
            buffers[key] = np.array(_spread(value, (batch, *shape)), dtype=float)

    def identity(self) -> str:
        return self.formula.identity()

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes) -> Cost:
        return write_formula(self.formula, module, name, frame, buffers, buffers)


@dataclass(frozen=True)
class FillStage(Stage):
    """Buffers set to zero or, where that is NaN, left as they are until they are written."""

    buffers: tuple[str, ...]
    value: float

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        _filled(buffers, shapes, self.buffers, self.value)

    def identity(self) -> str:
        return digest("zeros", *self.buffers) if self.value == 0.0 else ""

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes) -> Cost:
        b = module.builder()
        for key in self.buffers:
            _zero(b, buffers[key])
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return Cost(0, 0.0)


@dataclass(frozen=True)
class ViewStage(Stage):
    """Another name and shape for the numbers of a buffer."""

    name: str
    buffer: str
    shape: Shape

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        there = buffers[self.buffer]
        buffers[self.name] = there.reshape(len(there), *self.shape)


@dataclass(frozen=True)
class TableStage(Stage):
    """A loop over elements; the fields are those of `Program.table`, what is written by "store", "add" and "least"."""

    element: Callable[..., Any]
    formula: Traced
    count: int
    gathered: Mapping[str, Link]
    parameters: Mapping[str, np.ndarray]
    shared: tuple[str, ...]
    written: Mapping[str, Mapping[str, Link]]
    zeroes: tuple[str, ...]

    @property
    def outputs(self) -> dict[str, Link]:
        """Where each output of an element goes."""
        return {key: link for links in self.written.values() for key, link in links.items()}

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        _filled(buffers, shapes, self.zeroes, 0.0)
        inputs = {key: buffers[link.buffer][:, link.rows] for key, link in self.gathered.items()}
        inputs.update({key: value[None] for key, value in self.parameters.items()})
        inputs.update({key: buffers[key][:, None] for key in self.shared})
        names = list(self.formula.signature.outputs)
        values = dict(zip(names, _values(self.element(**inputs), names), strict=True))
        for write_mode, links in self.written.items():
            for key, link in links.items():
                _scatter_all(buffers[link.buffer], link, values[key], _ACCUMULATION[write_mode])

    def identity(self) -> str:
        parts: list[bytes | str] = ["table", str(self.count), self.formula.identity(), *self.shared, *self.zeroes]
        for mode, links in (("gather", self.gathered), *self.written.items()):
            for key, link in links.items():
                parts += [mode, key, link.buffer, str(link.rows.shape), link.rows.tobytes()]
        for key, values in self.parameters.items():
            parts += [key, str(values.shape), values.tobytes()]
        return digest(*parts)

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes) -> Cost:
        b = module.builder()
        for key in self.zeroes:
            _zero(b, buffers[key])
        takes = [block for link in self.gathered.values() for block in _blocks(link, buffers, shapes)]
        for port in map(buffers.__getitem__, self.shared):
            takes.append(Block(np.full(self.count, port.slot), np.arange(port.length)))
        gives, modes = list[Block](), list[str]()
        for key in self.formula.signature.outputs:
            mode = next(mode for mode, links in self.written.items() if key in links)
            own = _blocks(self.outputs[key], buffers, shapes)
            gives, modes = gives + own, modes + [mode] * len(own)
        numbers = [np.zeros((self.count, 0)), *(v.reshape(self.count, -1) for v in self.parameters.values())]
        rows = TracedRows(self.formula.tape, np.concatenate(numbers, axis=1), tuple(takes), tuple(gives), tuple(modes))
        cost = write_rows(module, f"{name}_rows", rows)
        b.line(f"call void @{name}_rows(ptr %frame, i64 0, i64 {self.count})")
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return cost


@dataclass(frozen=True)
class RepeatStage(Stage):
    """Stages that run so many times, or until `running` is zero in every lane. After every round each buffer of
    `carry` takes over what its partner holds."""

    stages: tuple[Stage, ...]
    count: int
    running: str
    carry: Mapping[str, str]

    @property
    def solves(self) -> bool:
        """Whether a stage in it would take several blocks of states by itself."""
        return any(stage.multi_block or (isinstance(stage, RepeatStage) and stage.solves) for stage in self.stages)

    def advance(self, buffers: Buffers, shapes: Shapes) -> None:
        for _ in range(self.count):
            if not buffers[self.running].any():
                break
            for stage in self.stages:
                stage.advance(buffers, shapes)
            for key, source in self.carry.items():
                buffers[key] = buffers[source].copy()

    def identity(self) -> str:
        parts = (str(self.count), self.running, str(dict(self.carry)))
        return digest("repeat", *parts, *(stage.identity() for stage in self.stages))

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes) -> Cost:
        calls, cost = _write_all(self.stages, module, name, frame, buffers, shapes)
        b = module.builder()
        with slots.while_any(b, self.count, b.slot("%frame", buffers[self.running].slot)):
            for call, _ in calls:
                b.line(f"call void @{call}(ptr %frame)")
            for key, source in self.carry.items():
                slots.copy_port(b, buffers[source], buffers[key])
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return cost.times(self.count)


# ---- in Python -------------------------------------------------------------------------------------------


_ACCUMULATION: dict[str, np.ufunc | None] = {"store": None, "add": np.add, "least": np.minimum}


def _filled(buffers: Buffers, shapes: Shapes, names: Sequence[str], value: float) -> None:
    batch = next(iter(buffers.values())).shape[0]
    for key in names:
        buffers[key] = np.full((batch, *shapes[key]), value)


def _spread(value: Any, shape: Shape) -> Array:
    """`np.broadcast_to`, which takes longer than most formulas, where the shape is another."""
    return value if np.shape(value) == shape else np.broadcast_to(value, shape)


def _scatter_all(buffer: Array, link: Link, value: Array, together: np.ufunc | None) -> None:
    """What all elements give, (batch, count, ...), into the rows of a buffer (batch, ...)."""
    given = _spread(value, (len(buffer), len(link.rows), *link.element_shape))
    if together is None:
        buffer[:, link.rows] = given
    elif link.is_one_row:
        buffer[:, link.rows[0]] = together(buffer[:, link.rows[0]], together.reduce(given, axis=1))
    else:
        selection: Any = (slice(None), link.rows)
        together.at(buffer, selection, given)


def _values(result: Any, names: list[str]) -> list[Any]:
    if isinstance(result, Mapping):
        return [result[key] for key in names] if set(names) == set(result) else list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


# ---- in machine code -----------------------------------------------------------------------------------------


def _zero(b: Builder, port: Port) -> None:
    with b.loop(0, port.length) as k:
        start = b.slot("%frame", port.slot)
        b.store(0.0, b.offset(start, b.let(f"mul i64 {k}, {8 * b.lanes}")))


def _blocks(link: Link, buffers: Ports, shapes: Shapes) -> list[Block]:
    """The slots of the rows of a buffer that each element takes or gives."""
    length = math.prod(shapes[link.buffer][1:])
    columns = link.rows.reshape(len(link.rows), -1).T
    return [Block(buffers[link.buffer].slot + column * length, np.arange(length)) for column in columns]


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
            steps = [Call(call, way=CallForm.TOGETHER if several else CallForm.BLOCK) for call, several in calls]
            MultiBlock(module, name, frame).write([*steps, Call(f"{name}_copies")])
            name = f"{name}_copies"
        else:
            for call, _ in calls:
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
    stages: Sequence[Stage], module: Module, name: str, frame: Frame, buffers: Ports, shapes: Shapes
) -> tuple[list[tuple[str, bool]], Cost]:
    """Write every stage that has code as a function: the names in order, each with whether it takes several blocks, and
    what they cost together."""
    own = [stage for stage in stages if stage.identity()]
    calls = [(f"{name}_stage{number}", stage.multi_block) for number, stage in enumerate(own)]
    costs = [stage.write(module, call, frame, buffers, shapes) for stage, (call, _) in zip(own, calls, strict=True)]
    return calls, Cost.total(costs)
