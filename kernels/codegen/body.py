"""Bodies: what a kernel evaluates once per block of W states, as a function on the frame."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myoquat.core.lazy_imports import casadi
from myoquat.kernels.codegen import instruction_scheduling, slots
from myoquat.kernels.codegen.compaction import BLOCKS
from myoquat.kernels.codegen.driver import Port, write_driver
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.loops import Repeated, shared, suffix, write_lanes, write_loop
from myoquat.kernels.codegen.lower import emit_straight, emit_values, write_table
from myoquat.kernels.codegen.multi_block import Call, Way
from myoquat.kernels.codegen.parts import (
    PRICE,
    Body,
    Cost,
    InnerCall,
    Ports,
    places_of,
    price,
    slots_in,
    slots_of,
    take_ports,
)
from myoquat.kernels.codegen.slot_allocation import Schedule, arrays_of, at_once, in_time
from myoquat.kernels.codegen.slots import Place
from myoquat.kernels.codegen.stack_frames import Behind, Frame, Planned
from myoquat.kernels.codegen.tree_passes import write_recursion
from myoquat.kernels.control_flow.compressed_jacobian import Sweep, write_sweep
from myoquat.kernels.control_flow.map_rows import Element
from myoquat.kernels.control_flow.table_lookup import Lookup, write_lookup
from myoquat.kernels.control_flow.traced_tree_scan import Recursive
from myoquat.kernels.runtime.build import Size
from myoquat.kernels.runtime.cache import digest
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Inner, Tape, in_casadi, played
from myoquat.kernels.tracing.trace import Function, InnerPart, Signature, Traced, casadi_function

__all__ = ["Deferred", "DeferredBody", "Entrywise", "Pattern", "Straight", "StraightRecipe", "patterns_of"]

_PRICE_PORT = 0.2


@dataclass(frozen=True)
class Called:
    """A formula inside a formula as a function; see `called`."""

    formula: "Straight"

    @property
    def ends(self) -> instruction_scheduling.Ends:
        """What it gives and takes."""
        (gives,), (takes,) = self.formula.signature.output_sizes, self.formula.signature.input_sizes
        return instruction_scheduling.Ends(gives, takes)

    def identity(self) -> str:
        return digest("called", self.formula.identity())

    def unrolled(self) -> Inner:
        """The formula in its place."""
        straight = self.formula
        return Inner(lambda apply, taken: played(straight.tape, taken, apply, straight.unrolled), *self.ends)


Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns of the entries that are not structurally zero
Part = Repeated | Called | Element | Lookup | Sweep | Recursive


@dataclass(frozen=True)
class Straight:
    """One traced formula as a body: straight code, but for calls of what is inside it, in order.

    `patterns`: of an output that holds some entries of a matrix, which ones. `gradients`: of an output that is the
    derivative of one number by an input, that input: its own derivative by this is symmetric.
    """

    tape: Tape
    signature: Signature
    inner: tuple[Part, ...] = ()
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, traced: Traced) -> "Straight":
        """The body of a formula."""
        return cls(traced.tape, traced.signature, tuple(map(_part, traced.inner)))

    @property
    def straight(self) -> "Straight":
        """The formula itself, as of a deferred one."""
        return self

    @property
    def operations(self) -> int:
        """Those of the formula itself, without what is inside."""
        return self.tape.operations

    @functools.cached_property
    def several(self) -> bool:
        """Whether there are loops inside for which a kernel takes several blocks of states together."""
        return any(
            (isinstance(x, Repeated) and x.compacts) or (isinstance(x, Called) and x.formula.several)
            for x in self.inner
        )

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return any(isinstance(x, Repeated) or (isinstance(x, Called) and x.formula.has_solver) for x in self.inner)

    @property
    def unrolled(self) -> list[Inner]:
        """What is inside a formula without a solver."""
        return [x.unrolled() for x in self.inner if not isinstance(x, Repeated)]

    @functools.cached_property
    def function(self) -> Any:
        """The formula as a `casadi.Function`: columns in, dense columns out (C order); for one without a solver."""
        columns = [casadi.SX.sym(f"x{k}", n) for k, n in enumerate(self.signature.input_sizes)]
        inputs = [x for column in columns for x in casadi.vertsplit(column)]
        flat = iter(played(self.tape, inputs, in_casadi, self.unrolled))
        outputs = [casadi.vertcat(casadi.SX(0, 1), *itertools.islice(flat, n)) for n in self.signature.output_sizes]
        return casadi_function(self.signature, columns, list(map(casadi.densify, outputs)))

    def identity(self) -> str:
        return self._identity

    @functools.cached_property
    def _identity(self) -> str:
        return digest("straight", str(self.signature), self.tape.identity(), *(x.identity() for x in self.inner))

    def write(
        self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports, more: Sequence[str] = ()
    ) -> Cost:
        """Define `void name(ptr frame, ...)`, with more pointers from which ports count."""
        tape = rewritten(self.tape, fused=True)
        read = places_of([inputs[key] for key in self.signature.inputs])
        written = places_of([outputs[key] for key in self.signature.outputs])
        cost, calls = price(tape), []
        tape, groups = self._grouped(tape, module.width if module.lanes == 1 else 1)
        schedule, frames = _planned(module, tape, groups, frame)
        for number, (group, own) in enumerate(zip(groups, frames, strict=True)):
            call = _write_inner(module, f"{name}_inner{number}", own, group)
            read, written = [*read, *map(Place, call.given)], [*written, *map(Place, call.taken)]
            calls.append(Call(call.name, len(call.given), len(call.taken), call.way, call.arrays))
            cost = Cost(cost.operations + call.cost.operations, cost.price + call.cost.price)
        several = frame.blocks > 1 and self.several
        emit_straight(module, name, tape, frame, (read, written), calls, schedule, ("%frame", *more), several)
        return cost

    def _grouped(self, tape: Tape, width: int) -> tuple[Tape, list[list[Part]]]:
        """What is inside in groups of at most `width` that run side by side, and the tape in their order."""
        if width == 1:
            return tape, [[part] for part in self.inner]
        ends = list(map(_ends, self.inner))
        kinds = [part.identity() if isinstance(part, Repeated) else None for part in self.inner]
        found = instruction_scheduling.groups(tape, ends, kinds, width)
        tape = instruction_scheduling.reordered(tape, ends, [i for group in found for i in group])
        return tape, [[self.inner[i] for i in group] for group in found]


@dataclass(frozen=True)
class Entrywise:
    """A formula of single numbers as a body on arrays: every component by itself, but for inputs of one number."""

    straight: Straight
    size: int

    @property
    def signature(self) -> Signature:
        """That of the formula."""
        return self.straight.signature

    @property
    def several(self) -> bool:
        return False

    def identity(self) -> str:
        return digest("entrywise", self.straight.identity(), str(self.size))

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        tape = rewritten(self.straight.tape, fused=True)
        ports, (result,) = [inputs[key] for key in self.signature.inputs], outputs.values()
        b = slots.over(module, self.size)
        for at in slots.turns(b, self.size):
            leaf = functools.partial(_component, b, at, ports, self.size)
            (value,) = emit_values(b, tape, leaf)
            b.store(value, at(result))
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        cost = price(tape)
        return Cost(cost.operations * self.size, cost.price * self.size)


def _component(b: Builder, at: slots.At, ports: Sequence[Port], size: int, index: int) -> str:
    """The component of an input, or its one number."""
    port = ports[index]
    return b.load(at(port)) if port.length == size else slots.shared(b, port.slot)


class DeferredBody:
    """A body that is made only when somebody asks for more than its machine code, which the cache has under `key`.

    The key says everything that the body depends on: see `content` of `myoquat.kernels.compile`.
    """

    def __init__(self, key: str, make: Callable[[], Body]) -> None:
        self.key = key
        self._make = make

    @functools.cached_property
    def body(self) -> Body:
        """The body itself."""
        return self._make()

    @property
    def signature(self) -> Signature:
        return self.body.signature

    @property
    def several(self) -> bool:
        return self.body.several

    def identity(self) -> str:
        return digest("deferred", self.key)

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        return self.body.write(module, name, frame, inputs, outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.body,)


class Deferred(DeferredBody):
    """A formula that is traced only when somebody asks for more than its machine code."""

    def __init__(self, key: str, trace: Callable[[], Straight]) -> None:
        super().__init__(key, trace)

    @property
    def straight(self) -> Straight:
        """The formula itself."""
        assert isinstance(self.body, Straight)
        return self.body

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        return self.straight.patterns

    @property
    def has_solver(self) -> bool:
        return self.straight.has_solver


def _itself(body: Body) -> Body:
    """A body from its pickled parts."""
    return body


def _part(inner: InnerPart) -> Part:
    """What is inside a traced formula, as a part of a body."""
    if isinstance(inner, (Element, Lookup, Recursive)):
        return inner
    if isinstance(inner, Function):
        return Called(Straight.of(inner.formula))
    return Repeated(Straight.of(inner.step), inner.times, inner.settle, inner.left)


def _ends(part: Part) -> instruction_scheduling.Ends:
    """What a loop, a table or a function gives and takes."""
    if isinstance(part, (Called, Sweep, Recursive)):
        return part.ends
    if isinstance(part, Lookup):
        return instruction_scheduling.Ends(part.gives, 1)
    if isinstance(part, Element):
        return instruction_scheduling.Ends(len(part.tape.outputs) * part.count, part.width * part.count)
    state, constants = part.step.signature.input_sizes
    return instruction_scheduling.Ends(state, state + constants + 1)


def _planned(
    module: Module, tape: Tape, groups: Sequence[Sequence[Part]], frame: Frame
) -> tuple[Schedule, list[Frame]]:
    """When what is computed, and for each of the groups the frame in which it finds its arrays."""
    ends = [instruction_scheduling.Ends(*map(sum, zip(*map(_ends, group), strict=True))) for group in groups]
    if module.lanes == 1:  # what shares registers is computed together
        return at_once(tape, ends), [frame] * len(groups)
    schedule = in_time(tape, ends, [isinstance(group[0], (Repeated, Called)) for group in groups])
    kept = [not isinstance(group[0], (Sweep, Recursive)) for group in groups]  # whose arrays are all that they need
    places, size = arrays_of(tape, ends, kept, schedule)
    first = frame.take(size)
    frames = [Planned(frame, first + place) if own else frame for own, place in zip(kept, places, strict=True)]
    return schedule, frames


def _write_inner(module: Module, name: str, frame: Frame, group: "Sequence[Part]") -> InnerCall:
    """A table, a function, or one or several loops of one step."""
    part = group[0]
    if isinstance(part, Sweep):
        return write_sweep(module, name, frame, part)
    if isinstance(part, Recursive):
        return write_recursion(module, name, frame, part)
    if isinstance(part, Called):
        return _write_call(module, name, frame, part.formula)
    if isinstance(part, Lookup):
        return _write_search(module, name, frame, part)
    if isinstance(part, Repeated):
        if len(group) > 1:
            return write_lanes(module, name, frame, part, len(group))
        return write_loop(module, name, frame, part)
    tape = rewritten(part.tape, fused=True)
    ports = take_ports(frame, {"rows": part.width * part.count, "results": len(tape.outputs) * part.count})
    write_table(module, name, part, tape, ports["rows"].slot, ports["results"].slot)
    cost = price(tape)
    total = Cost(cost.operations * part.count, cost.price * part.count)
    return InnerCall(name, slots_of([ports["rows"]]), slots_of([ports["results"]]), total)


def _write_call(module: Module, name: str, frame: Frame, formula: Straight) -> InnerCall:
    """Define a call, with slots of its own, of the function that is written at first use."""
    sizes = {"given": formula.signature.input_sizes[0], "result": formula.signature.output_sizes[0]}
    function = f"function_{formula.identity()[:16]}" + suffix(module)
    cost, size = shared(module, function, formula, ("given",), "result")
    own = take_ports(frame, sizes)
    taken, given = slots_of([own["given"]]), slots_of([own["result"]])
    if frame.blocks > 1:
        frame.call(size)
        arrays = own["given"].slot, own["result"].slot
        return InnerCall(function, taken, given, cost, Way.TOGETHER_BEHIND if formula.several else Way.BEHIND, arrays)

    def write(behind: Behind) -> None:
        b = module.builder()
        ends = (b.slot("%frame", own[key].slot) for key in sizes)
        b.line(f"call void @{function}({', '.join(f'ptr {x}' for x in (behind(b), *ends))})")
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)

    frame.call(size, write)
    return InnerCall(module.expect(name), taken, given, cost)


def _write_search(module: Module, name: str, frame: Frame, table: Lookup) -> InnerCall:
    """Define a search in a table on slots of its own."""
    own = take_ports(frame, {"x": 1, "entries": table.gives})
    b = module.builder()
    x, entries = (b.slot("%frame", own[key].slot) for key in ("x", "entries"))
    b.line(f"call void @{write_lookup(module, table)}(ptr {x}, ptr {entries})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    steps = len(table.knots).bit_length() + table.gives
    return InnerCall(name, slots_of([own["x"]]), slots_of([own["entries"]]), Cost(steps, PRICE * steps))


@dataclass(frozen=True)
class StraightRecipe:
    """A kernel that evaluates one body per state, between the caller's arrays."""

    body: Body

    def identity(self) -> str:
        return self.body.identity()

    def notes(self) -> dict[str, Any]:
        patterns = getattr(self.body, "patterns", {})
        listed = [[name, rows.tolist(), columns.tolist()] for name, (rows, columns) in patterns.items()]
        return self.body.signature.notes() | ({"patterns": listed} if listed else {})

    def write(self, module: Module) -> Size:
        module.blocks = BLOCKS if module.lanes > 1 and self.body.several else 1
        frame = Frame(module.blocks)
        signature = self.body.signature
        inputs = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
        outputs = take_ports(frame, dict(zip(signature.outputs, signature.output_sizes, strict=True)))
        cost = self.body.write(module, "formula", frame, inputs, outputs)
        size, whole = frame.block_size(module.lanes), frame.finish(module.lanes)
        write_driver(module, "formula", list(inputs.values()), list(outputs.values()), size)
        transfers = _PRICE_PORT * (sum(signature.input_sizes) + sum(signature.output_sizes))
        return Size(slots_in(whole, module.lanes), cost.operations, cost.price + transfers)


def patterns_of(notes: Mapping[str, Any]) -> dict[str, Pattern]:
    """The patterns from a kernel's notes."""
    return {
        name: (np.array(rows, dtype=int), np.array(columns, dtype=int))
        for name, rows, columns in notes.get("patterns", [])
    }
