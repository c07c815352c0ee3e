"""Constructs of control flow in machine code: how each type is written.

A construct that is called from the middle of a formula reads and writes slots of the formula's frame. One table says
for each type how it is written; adding a construct adds one row.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.codegen import slots
from myoquat.kernels.codegen.compaction import compact_loop, compaction_bytes
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import is_long, write_rows
from myoquat.kernels.codegen.parts import (
    NANOSECONDS_PER_OPERATION,
    CallForm,
    Cost,
    InnerCall,
    WriteFormula,
    listed,
    slots_of,
    take_ports,
)
from myoquat.kernels.codegen.slots import Behind, Frame
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.table_lookup import Lookup
from myoquat.kernels.control_flow.table_loop import TableLoop
from myoquat.kernels.control_flow.while_loop import WhileLoop
from myoquat.kernels.tracing.tape import Construct, Traced

__all__ = ["Emitter", "emitter_of"]


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


# ---- loops of solvers ------------------------------------------------------------------------------------------
# A step is taken until every lane is done. It is a function that is written once for all loops over it. It reads the
# state and the constants where they are, in the caller's frame, and writes the next state where it belongs. States
# alternate between two buffers, and nothing is copied while all lanes run. Where some are done, the next state is
# assembled in the other buffer, from what the step found and the state before. It never shares a buffer with one of
# them: LLVM would write a masked store, which takes processors without AVX-512 about twenty cycles.


_ALIGNMENT_BYTES = 64  # bytes


class FormulaPorts(NamedTuple):
    """Pointers of a function that several others call: what it takes, in the order of its inputs, and what it gives."""

    takes: Sequence[str]
    gives: str


_STEP_PORTS = FormulaPorts(("state", "constants"), "next")


def write_loop(
    module: Module, name: str, frame: Frame, part: WhileLoop, write: WriteFormula, result: Port | None = None
) -> InnerCall:
    """Define a loop on slots of its own, as a call of the one that is written once for all that do the same."""
    state, constants = part.step.signature.input_sizes
    lengths = {"start": state, "given": constants, "where": 1, "result": state}
    own = take_ports(frame, lengths)
    operands, results = slots_of([own["start"], own["given"], own["where"]]), slots_of([own["result"]])
    together = frame.blocks > 1 and part.multi_block
    function, cost, size = (_compact_loop_of if together else _loop_of)(module, part, lengths, write)
    way = CallForm.TOGETHER_BEHIND if together else CallForm.BEHIND
    call = InnerCall(function, operands, results, cost.times(part.count), way, (own["start"].slot,))
    return called_behind(module, name, frame, size, call)


def called_behind(module: Module, name: str, frame: Frame, size: int, call: InnerCall) -> InnerCall:
    """The call of a function on a frame of so many bytes behind the caller's, with the addresses of the call's arrays;
    by `void name(ptr frame)` where the caller takes one block of states."""
    if frame.blocks > 1:
        frame.call(size)
        return call

    def write(behind: Behind) -> None:
        b = module.builder()
        pointers = behind(b), *(b.slot("%frame", slot) for slot in call.arrays)
        b.line(f"call void @{call.name}({listed(pointers)})")
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)

    frame.call(size, write)
    return InnerCall(module.expect(name), call.operands, call.results, call.cost)


def shared(module: Module, name: str, formula: Traced, ports: FormulaPorts, write: WriteFormula) -> tuple[Cost, int]:
    """The cost of a function `void name(ptr frame, ptr ..., ptr ...)` that several others call, on a frame of its own,
    and the bytes of that; written at first use. What it takes and gives lies at the other pointers, named here in the
    order of the formula's inputs."""
    if name not in module.shared:
        frame, signature = Frame(module.blocks if formula.multi_block else 1), formula.signature
        sizes = dict(zip(signature.inputs, signature.input_sizes, strict=True))
        inputs = {key: Port(0, sizes[key], f"%{own}") for key, own in zip(signature.inputs, ports.takes, strict=True)}
        (output,), (length,) = signature.outputs, signature.output_sizes
        more = [f"%{own}" for own in (*ports.takes, ports.gives)]
        cost = write(formula, module, name, frame, inputs, {output: Port(0, length, more[-1])}, more)
        module.shared[name] = cost, frame.finish(module.lanes)
    known: tuple[Cost, int] = module.shared[name]
    return known


def _compact_loop_of(
    module: Module, part: WhileLoop, lengths: Mapping[str, int], write_formula: WriteFormula
) -> tuple[str, Cost, int]:
    """A loop over several blocks, whose arrays lie one after the other; the step's cost, and the bytes of its frame."""
    step = f"step_{part.step.identity()[:16]}"
    cost, size = shared(module, step, part.step, _STEP_PORTS, write_formula)
    name = f"loop_{part.identity()[:16]}"

    def write() -> None:
        numbers = lengths["start"], lengths["given"]
        b = compact_loop(module, step, part.step.multi_block, numbers, part.count)
        module.define(name, "void", "ptr %frame, i64 %count, ptr %own, i64 %own_stride", b)

    return module.once(name, write), cost, compaction_bytes(module.lanes, lengths["start"], size)


def _loop_of(
    module: Module, part: WhileLoop, lengths: Mapping[str, int], write_formula: WriteFormula
) -> tuple[str, Cost, int]:
    """`void name(ptr frame, ptr own)` of a loop whose arrays lie at `own`, one after the other; the cost of its step;
    and the bytes of its frame. That is the frame of the step, and the arrays of two states behind it (of one, if there
    is one step)."""
    step = f"step_{part.step.identity()[:16]}"
    cost, size = shared(module, step, part.step, _STEP_PORTS, write_formula)
    name = f"loop_{part.identity()[:16]}"
    own, state_bytes = take_ports(Frame(), lengths), 8 * module.lanes * lengths["start"]
    first = _ALIGNMENT_BYTES * -(-size // _ALIGNMENT_BYTES)

    def write() -> None:
        b = module.builder()
        at = _At(*(b.slot("%own", own[key].slot) for key in lengths))
        loop, found = _Loop(b, part, step, at, lengths["start"]), b.offset("%frame", first)
        if part.count == 1:
            loop.once(found)
        else:
            loop.again(found, b.offset("%frame", first + state_bytes))
        b.line("ret void")
        module.define(name, "void", "ptr %frame, ptr %own", b)

    return module.once(name, write), cost, first + min(part.count, 2) * state_bytes


class _At(NamedTuple):
    """Where a loop finds its start and its constants, which lanes run, and where its result goes."""

    start: str
    given: str
    running: str
    result: str


@frozen
class _Loop:
    """A loop that is being written: the name of the step, where its arrays are, and of how many numbers a state is."""

    b: Builder
    part: WhileLoop
    step: str
    at: _At
    length: int

    def once(self, found: str) -> None:
        """One step, if a lane takes it; found: the address of its result."""
        b, at = self.b, self.at
        some, none, done = (b.label(stem) for stem in ("some", "none", "done"))
        b.fork(b.any(self._on()), some, none)
        b.begin(some)
        self._taken(at.start, at.result, found)
        b.jump(done)
        b.begin(none)
        self._copied(at.start, at.result)
        b.jump(done)
        b.begin(done)

    def again(self, found: str, other: str) -> None:
        """Steps as long as a lane takes them, alternating between the result's buffer and the other."""
        b, at = self.b, self.at
        addresses: dict[str, str] = {}

        def go(turn: str) -> str:
            odd = b.let(f"icmp ne i64 {b.let(f'and i64 {turn}, 1')}, 0")
            here = b.let(f"select i1 {odd}, ptr {at.result}, ptr {other}")
            first = b.let(f"icmp eq i64 {turn}, 0")
            addresses["here"] = b.let(f"select i1 {first}, ptr {at.start}, ptr {here}")
            addresses["there"] = b.let(f"select i1 {odd}, ptr {other}, ptr {at.result}")
            more = b.let(f"icmp slt i64 {turn}, {self.part.count}")
            return b.let(f"and i1 {more}, {b.any(self._on())}")

        with b.going(go):
            self._taken(addresses["here"], addresses["there"], found)
            goes = b.truth(b.load(b.slot(addresses["there"], self.length - 1)))
            b.store(b.number(b.logic("and", self._on(), goes)), at.running)
        away, done = b.label("away"), b.label("done")
        b.fork(b.let(f"icmp eq ptr {addresses['here']}, {at.result}"), done, away)
        b.begin(away)
        self._copied(addresses["here"], at.result)
        b.jump(done)
        b.begin(done)

    def _on(self) -> str:
        """Which lanes run."""
        return self.b.truth(self.b.load(self.at.running))

    def _taken(self, here: str, there: str, found: str) -> None:
        """The step from the state here to the one there, which stays the same in lanes that do not run."""
        b = self.b
        if b.lanes == 1:
            b.line(self._call(here, there))
            return
        whole, partly, taken = (b.label(stem) for stem in ("whole", "partly", "taken"))
        b.fork(b.all(self._on()), whole, partly)
        b.begin(whole)
        b.line(self._call(here, there))
        b.jump(taken)
        b.begin(partly)
        b.line(self._call(here, found))
        self._put_together(here, there, found)
        b.jump(taken)
        b.begin(taken)

    def _call(self, here: str, there: str) -> str:
        return f"call void @{self.step}(ptr %frame, ptr {here}, ptr {self.at.given}, ptr {there})"

    def _put_together(self, here: str, there: str, found: str) -> None:
        b, on = self.b, self._on()
        for at in slots.turns(b, self.length):
            new, old = (b.load(at(Port(0, self.length), base)) for base in (found, here))
            b.store(b.select(on, new, old), at(Port(0, self.length), there))

    def _copied(self, source: str, target: str) -> None:
        slots.copy_port(self.b, Port(0, self.length), Port(0, self.length), (source, target))


# ---- the table ---------------------------------------------------------------------------------------------


class Emitter(NamedTuple):
    """How a type of construct is written: write(module, name, frame, construct, write_formula, result) -> InnerCall.

    result          where its result is wanted; None for slots of its own
    calls_function  whether it calls a function on a frame of its own. The arrays of such a call are filled just before
                    it
    arrays_suffice  whether one needs no slots of the frame but those that it reads and writes
    """

    write: Callable[[Module, str, Frame, Any, WriteFormula, Port | None], InnerCall]
    calls_function: bool = False
    arrays_suffice: Callable[[Any], bool] = lambda construct: True


def emitter_of(construct: Construct) -> Emitter:
    """How a construct is written."""
    return _EMITTERS[type(construct)]


def _write_call(
    module: Module, name: str, frame: Frame, call: OutOfLineCall, write: WriteFormula, result: Port | None
) -> InnerCall:
    """Define a call, with slots of its own, of the function that is written at first use."""
    formula = call.formula
    sizes = {"given": formula.signature.input_sizes[0], "result": formula.signature.output_sizes[0]}
    function = f"function_{formula.identity()[:16]}"
    cost, size = shared(module, function, formula, FormulaPorts(("given",), "result"), write)
    own = take_ports(frame, sizes)
    way = CallForm.TOGETHER_BEHIND if formula.multi_block else CallForm.BEHIND
    arrays = own["given"].slot, own["result"].slot
    operands, results = slots_of([own["given"]]), slots_of([own["result"]])
    return called_behind(module, name, frame, size, InnerCall(function, operands, results, cost, way, arrays))


_EMITTERS: dict[type, Emitter] = {
    OutOfLineCall: Emitter(_write_call, calls_function=True),
    Lookup: Emitter(write_search),
    WhileLoop: Emitter(write_loop, calls_function=True),
    TableLoop: Emitter(
        write_table_loop,
        arrays_suffice=lambda loop: loop.cells == sum(loop.ends) and not any(map(is_long, loop.types)),
    ),
}
