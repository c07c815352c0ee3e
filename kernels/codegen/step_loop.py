"""Step loops in machine code: all steps of W states in one call.

Everything of W states lives in one frame (`StepFrame`). The right-hand side is one function, called once per
stage. A lane whose next state is not finite keeps its last one and stops, and no other lane notices.
"""

import ctypes
import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from myoquat.core.content import digest
from myoquat.core.records import dataclass
from myoquat.kernels.codegen import slots
from myoquat.kernels.codegen.body import write_body
from myoquat.kernels.codegen.driver import ENTRY, Port, read_rows, write_rows
from myoquat.kernels.codegen.ir import Builder, Module, double
from myoquat.kernels.codegen.parts import Body, Ports, Size, slots_in, take_ports
from myoquat.kernels.codegen.slots import Frame, turns
from myoquat.kernels.tracing.tape import Signature, Traced

__all__ = [
    "HEADER",
    "PROTOTYPE",
    "Outcome",
    "StepFrame",
    "StepPlan",
    "nodes_of",
    "notes_of_steps",
    "read_sample",
    "write_steps",
]


# 8 bytes each at the head of the table of a call
HEADER = ("first", "until", "every", "start", "step", "index", "weight")


class Outcome(IntEnum):
    """How the integration of one state ended; `sentence` says it in words.

    The numbers are stored in files (`status` of a study's results, `code` of a trajectory). They never change, and a
    new member gets a new number. Arrays of outcomes hold these numbers.

    >>> from myoquat.kernels import Outcome
    >>> Outcome.NOT_FINITE.sentence, Outcome.NOT_FINITE.failed
    ('the next state is not finite', True)
    """

    sentence: str

    def __new__(cls, number: int, sentence: str = "") -> "Outcome":
        member = int.__new__(cls, number)
        member._value_, member.sentence = number, sentence
        return member

    PENDING = 0, "not yet computed"
    COMPLETED = 1, "ran to the end"
    NOT_FINITE = 2, "the next state is not finite"
    BOUND = 3, "the state passed a bound: the speed |u| is beyond 1e6, or a given limit is exceeded"
    EVENT = 4, "an event ended it"
    STUCK = 5, "the step size has become too small to go on"
    CONTRADICTION = 6, "constraints contradict each other, so that no acceleration satisfies all of them"

    @property
    def failed(self) -> bool:
        """True where a run stopped although nothing asked it to."""
        return self in (Outcome.NOT_FINITE, Outcome.BOUND, Outcome.STUCK, Outcome.CONTRADICTION)


@dataclass(frozen=True)
class StepPlan:
    """The bodies of a step loop; `inputs` and `parameters` give numbers per state.

    slope    (t, x, inputs, parameters) -> xdot at the nodes `c`
    updates  (x, h, slopes...) -> x for every stage from the second on, and one for the whole step
    slope_indices    which slopes each of the updates takes
    step     (t, h, x, inputs, parameters) -> x, with inputs at `node`; instead of `slope` and `updates`
    bound    (t, x, inputs, parameters) -> a number that stops a lane when it is positive
    project  (t, x, inputs, parameters) -> x, after the updates
    """

    size: int
    inputs: Mapping[str, int]
    parameters: Mapping[str, int]
    slope: Body | None = None
    c: tuple[float, ...] = ()
    slope_indices: tuple[tuple[int, ...], ...] = ()
    updates: tuple[Body, ...] = ()
    project: Body | None = None
    step: Body | None = None
    node: float = 0.0
    bound: Traced | None = None

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where in a step the inputs are needed, as shares of it."""
        return nodes_of(self.c, self.node)

    def identity(self) -> str:
        """Text that two plans share only if they evaluate the same."""
        bodies = [self.slope, *self.updates, self.project, self.step, self.bound]
        shapes = str((self.size, dict(self.inputs), dict(self.parameters), self.c, self.slope_indices, self.node))
        return digest("steps", shapes, *("" if body is None else body.identity() for body in bodies))


def nodes_of(c: tuple[float, ...], node: float) -> tuple[float, ...]:
    """Where in a step the inputs are needed: at the nodes of the stages, or at `node` where there are none."""
    return tuple(sorted(set(c))) or (node,)


class StepFrame:
    """The frame of a step loop."""

    def __init__(self, plan: StepPlan) -> None:
        self.frame = Frame()
        n, stages = plan.size, len(plan.c)
        self.state = self._take(n)
        self.stage = self._take(n)  # where the right-hand side looks
        self.following = self._take(n)  # the state after the step, before it is accepted
        self.slope = self._take(n)  # what the right-hand side gives
        self.slopes = [self._take(n) for _ in range(stages - 1)]  # what it gave at earlier stages
        self.shown = self._take(n)  # a row of the trajectory
        self.time, self.h = self._take(1), self._take(1)
        self.inputs: Ports = take_ports(self.frame, plan.inputs)
        self.loaded = [self._take(1) for _ in plan.inputs]  # per input one i64: the row that its slots hold
        self.parameters: Ports = take_ports(self.frame, plan.parameters)
        self.value = self._take(1)  # of the bound
        self.running, self.stopped, self.reason = self._take(1), self._take(1), self._take(1)

    def _take(self, length: int) -> Port:
        return Port(self.frame.take(length), length)

    def slope_of(self, stage: int) -> Port:
        """Where the slope of a stage lies once the next stage is computed."""
        return self.slopes[stage] if stage < len(self.slopes) else self.slope


# ---- Inputs that change with time: rows of a table, interpolated, into the frame -------------------------------


_PARAMETERS = (
    "ptr %rows, i64 %stride, i64 %first, i64 %last, ptr %slots, ptr %spare, ptr %loaded, i64 %index, double %weight"
)


def read_sample(module: Module, length: int) -> str:
    """Name of a function (rows, stride, first, last, slots, spare, loaded, index, weight).

    Puts (1 - weight) row[index] + weight row[index + 1] of W states' tables into `length` slots. `loaded` remembers the
    index of a row taken as it is, so that a constant input is read once. `spare`: `length` slots to work in.
    """
    name = f"read_sample_{length}"
    return module.once(name, lambda: _define(module, name, length))


def _define(module: Module, name: str, length: int) -> None:
    b = module.builder()
    fresh, mixed, end = (b.label(stem) for stem in ("fresh", "mixed", "end"))
    exact = b.let("fcmp oeq double %weight, 0.0")
    held = b.let(f"icmp eq i64 {b.load('%loaded', 'i64')}, %index")
    b.fork(b.let(f"and i1 {exact}, {held}"), end, fresh)
    b.begin(fresh)
    row = b.offset("%rows", b.let(f"mul i64 %index, {8 * length}"))
    read_rows(b, row, "%stride", "%first", "%last", "%slots", length)
    b.store(b.let(f"select i1 {exact}, i64 %index, i64 -1"), "%loaded", "i64")
    b.fork(exact, end, mixed)
    b.begin(mixed)
    read_rows(b, b.offset(row, 8 * length), "%stride", "%first", "%last", "%spare", length)
    _mix(b, length)
    b.jump(end)
    b.begin(end)
    b.line("ret void")
    module.define(name, "void", _PARAMETERS, b)


def _mix(b: Builder, length: int) -> None:
    weight, row = b.splat("%weight"), Port(0, length)
    for at in turns(b, length):
        low, high = b.load(at(row, "%slots")), b.load(at(row, "%spare"))
        b.store(b.fma(weight, b.sub(high, low), low), at(row, "%slots"))


# ---- the functions of a step loop --------------------------------------------------------------------------


PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_PRICE_COMPONENT = 0.3  # nanoseconds per component of the state and step, beside the formulas


def write_steps(plan: StepPlan, module: Module) -> Size:
    """Define ENTRY for a step loop. It takes the table: HEADER, then (pointer, stride) of the initial states,
    parameters, inputs, trajectory, final state, stopping step (NaN: none) and `Outcome`. It does the steps from `first`
    to `until`. Where the first is not 0, it goes on from the final states and outcomes of the call before."""
    return _Writer(plan, module).write()


def notes_of_steps(plan: StepPlan) -> dict[str, Any]:
    """Those of a kernel without arrays: what a loop takes and gives is said by those who call it."""
    return Signature("steps", {}, {}).notes()


class _Writer:
    """Writes the functions of a step loop, from the innermost out."""

    def __init__(self, plan: StepPlan, module: Module) -> None:
        self.plan = plan
        self.module = module
        self.at = StepFrame(plan)
        self.spare = Port(self.at.frame.take(max([0, *plan.inputs.values()])), 0)
        self.operations = 0
        self.price = _PRICE_COMPONENT * plan.size

    def write(self) -> Size:
        at, plan = self.at, self.plan
        given = {"t": at.time, "h": at.h, "x": at.stage, **at.inputs, **at.parameters}
        if plan.slope is not None:
            self._body("slope", plan.slope, given, at.slope, calls=len(at.slopes) + 1)
            self._updates(given)
        if plan.step is not None:
            self._body("step", plan.step, given, at.following)
        if plan.bound is not None:
            self._body("bound", plan.bound, given, at.value)
            self._stop_at_bound()
        self._accept()
        self._advance()
        self._entry()
        return Size(slots_in(at.frame.finish(self.module.lanes), self.module.lanes), self.operations, self.price)

    def _body(self, name: str, body: Body, given: Ports, result: Port, calls: int = 1) -> None:
        """Define `name` on the frame, called so many times a step."""
        inputs = {key: given[key] for key in body.signature.inputs}
        output = next(iter(body.signature.outputs))
        cost = write_body(body, self.module, name, self.at.frame, inputs, {output: result})
        self.operations += cost.operations * calls
        self.price += cost.price * calls

    def _updates(self, given: Ports) -> None:
        """update_k: the state of stage k (of the step, at the end) from the slopes before it."""
        at, plan = self.at, self.plan
        end = at.following if plan.project is None else at.stage
        for stage, (body, indices) in enumerate(zip(plan.updates, plan.slope_indices, strict=True), start=1):
            ports = [at.state, at.h, *(at.slope_of(j) for j in indices)]
            taken = dict(zip(body.signature.inputs, ports, strict=True))
            self._body(f"update_{stage}", body, taken, end if stage > len(at.slopes) else at.stage)
        if plan.project is not None:
            self._body("project", plan.project, given, at.following)

    # ---- acceptance -----------------------------------------------------------------------------------------

    def _accept(self) -> None:
        """accept(frame, s): running lanes with a finite next state take it; others stop at step s."""
        b, at = self.module.builder(), self.at

        def term(place: slots.At) -> str:
            """x - x is 0 or NaN, and NaN stays in a sum."""
            value = b.load(place(at.following))
            return b.sub(value, value)

        running = b.truth(b.load(b.slot("%frame", at.running.slot)))
        finite = b.compare("oeq", slots.summed(b, self.plan.size, term), 0.0)
        go = b.logic("and", running, finite)
        for place in slots.turns(b, self.plan.size):
            kept = b.select(go, b.load(place(at.following)), b.load(place(at.state)))
            b.store(kept, place(at.state))
            b.store(kept, place(at.stage))
        self._stop(b, b.logic("and", running, b.negate(finite)), Outcome.NOT_FINITE)
        b.store(b.number(go), b.slot("%frame", at.running.slot))
        b.line("ret void")
        self.module.define("accept", "void", "ptr %frame, i64 %s", b)

    def _stop(self, b: Builder, lanes: str, outcome: Outcome) -> None:
        """Note step %s and the outcome for `lanes`."""
        at = self.at
        step = b.splat(b.let("sitofp i64 %s to double"))
        for port, value in ((at.stopped, step), (at.reason, float(outcome))):
            address = b.slot("%frame", port.slot)
            b.store(b.select(lanes, value, b.load(address)), address)

    # ---- one step -------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """advance(frame, table, s, first, last): one step, from s to s + 1, of the lanes that run."""
        b, at, plan = self.module.builder(), self.at, self.plan
        if not plan.c:
            self._time(b, 0.0)
            self._load_inputs(b, 0)
            b.line("call void @step(ptr %frame)")
        else:
            for stage, node in enumerate(plan.c):
                self._time(b, node)
                self._load_inputs(b, plan.nodes.index(node))
                b.line("call void @slope(ptr %frame)")
                slots.copy_port(b, at.slope, at.slope_of(stage))
                b.line(f"call void @update_{stage + 1}(ptr %frame)")
            if plan.project is not None:
                self._time(b, 1.0)
                b.line("call void @project(ptr %frame)")
        after = b.let("add i64 %s, 1")
        b.line(f"call void @accept(ptr %frame, i64 {after})")
        if plan.bound is not None:
            self._time(b, 1.0)
            b.line("call void @bound(ptr %frame)")
            b.line(f"call void @stop_at_bound(ptr %frame, i64 {after})")
        b.line("ret void")
        self.module.define("advance", "void", "ptr %frame, ptr %table, i64 %s, i64 %first, i64 %last", b)

    def _stop_at_bound(self) -> None:
        b, at = self.module.builder(), self.at
        running = b.truth(b.load(b.slot("%frame", at.running.slot)))
        passed = b.compare("ogt", b.load(b.slot("%frame", at.value.slot)), 0.0)
        stop = b.logic("and", running, passed)
        self._stop(b, stop, Outcome.BOUND)
        b.store(b.number(b.logic("and", running, b.negate(stop))), b.slot("%frame", at.running.slot))
        b.line("ret void")
        self.module.define("stop_at_bound", "void", "ptr %frame, i64 %s", b)

    def _time(self, b: Builder, node: float) -> None:
        """t = start + (s + node) h in every lane."""
        start, h = (self._header(b, key, "double") for key in ("start", "step"))
        steps = b.let("sitofp i64 %s to double")
        if node:
            steps = b.let(f"fadd double {steps}, {double(node)}")
        moved = b.let(f"fmul double {steps}, {h}")
        b.store(b.splat(b.let(f"fadd double {start}, {moved}")), b.slot("%frame", self.at.time.slot))

    def _header(self, b: Builder, key: str, llvm_type: str) -> str:
        return b.load(b.offset("%table", 8 * HEADER.index(key)), llvm_type)

    def _load_inputs(self, b: Builder, node: int) -> None:
        """Every input at node number `node` of step %s: row index, and share of the next row, from the caller."""
        count = len(self.plan.nodes)
        for number, port in enumerate(self.at.inputs.values()):
            if not port.length:
                continue
            place = b.let(f"mul i64 %s, {len(self.at.inputs) * count}")
            place = b.let(f"mul i64 {b.let(f'add i64 {place}, {number * count + node}')}, 8")
            index = b.load(b.offset(self._header(b, "index", "ptr"), place), "i64")
            weight = b.load(b.offset(self._header(b, "weight", "ptr"), place), "double")
            pointer, stride = self._array(b, 1 + len(self.plan.parameters) + number)
            own, spare, loaded = (b.slot("%frame", p.slot) for p in (port, self.spare, self.at.loaded[number]))
            b.line(
                f"call void @{read_sample(self.module, port.length)}(ptr {pointer}, i64 {stride}, i64 %first, "
                f"i64 %last, ptr {own}, ptr {spare}, ptr {loaded}, i64 {index}, double {weight})"
            )

    def _array(self, b: Builder, number: int) -> tuple[str, str]:
        """(pointer, stride) of array `number` of the table."""
        base = 8 * len(HEADER) + 16 * number
        return b.load(b.offset("%table", base), "ptr"), b.load(b.offset("%table", base + 8), "i64")

    # ---- the whole ------------------------------------------------------------------------------------------

    def _entry(self) -> None:
        b = self.module.builder()
        begun, until, every = (self._header(b, key, "i64") for key in ("first", "until", "every"))
        fresh = b.let(f"icmp eq i64 {begun}, 0")
        b.store(b.splat(self._header(b, "step", "double")), b.slot("%frame", self.at.h.slot))
        last = b.let("sub i64 %end, 1")
        with b.loop("%begin", "%end", self.module.lanes) as first:
            start, resume, go = (b.label(stem) for stem in ("start", "resume", "steps"))
            b.fork(fresh, start, resume)
            b.begin(start)
            self._start(b, first, last)
            self._store_row(b, first, last, "0", "0")
            b.jump(go)
            b.begin(resume)
            self._resume(b, first, last, begun)
            b.jump(go)
            b.begin(go)
            with b.loop(begun, until) as s:
                self._step_if_any(b, s, first, last)
                after = b.let(f"add i64 {s}, 1")
                due = b.let(f"icmp eq i64 {b.let(f'srem i64 {after}, {every}')}, 0")
                store, skip = b.label("store"), b.label("skip")
                b.fork(due, store, skip)
                b.begin(store)
                self._store_row(b, first, last, after, b.let(f"sdiv i64 {after}, {every}"))
                b.jump(skip)
                b.begin(skip)
            self._finish(b, first, last)
        b.line("ret void")
        self.module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b, linkage="")

    def _step_if_any(self, b: Builder, s: str, first: str, last: str) -> None:
        go, end = b.label("go"), b.label("rest")
        b.fork(b.any(b.truth(b.load(b.slot("%frame", self.at.running.slot)))), go, end)
        b.begin(go)
        b.line(f"call void @advance(ptr %frame, ptr %table, i64 {s}, i64 {first}, i64 {last})")
        b.jump(end)
        b.begin(end)

    def _transfer(self, b: Builder, way: Any, number: int, first: str, last: str, port: Port, moved: str = "0") -> None:
        if not port.length:
            return
        pointer, stride = self._array(b, number)
        rows = b.offset(pointer, moved) if moved != "0" else pointer
        way(b, rows, stride, first, last, b.slot("%frame", port.slot), port.length)

    def _start(self, b: Builder, first: str, last: str, array: int = 0, step: str = "0") -> None:
        """Read the states, from array number `array`, and the parameters of a block; lanes whose state is not finite
        stop at this step."""
        at = self.at
        self._transfer(b, read_rows, array, first, last, at.following)
        for number, port in enumerate(at.parameters.values(), start=1):
            self._transfer(b, read_rows, number, first, last, port)
        for port in at.loaded:
            b.store("-1", b.slot("%frame", port.slot), "i64")
        slots.copy_port(b, at.following, at.state)
        for port, value in ((at.running, 1.0), (at.stopped, math.nan), (at.reason, float(Outcome.COMPLETED))):
            b.store(value, b.slot("%frame", port.slot))
        b.line(f"call void @accept(ptr %frame, i64 {step})")

    def _resume(self, b: Builder, first: str, last: str, step: str) -> None:
        """Go on where `_finish` has left a block: lanes that have stopped stay where they are."""
        at, number = self.at, self._final
        self._start(b, first, last, number, step)
        for k, port in enumerate((at.stopped, at.reason), start=1):
            self._transfer(b, read_rows, number + k, first, last, port)
        stopped = b.load(b.slot("%frame", at.stopped.slot))
        b.store(b.number(b.negate(b.compare("oeq", stopped, stopped))), b.slot("%frame", at.running.slot))

    @property
    def _final(self) -> int:
        """The number of the array of final states, before those of stopping steps and outcomes."""
        return 2 + len(self.at.parameters) + len(self.at.inputs)

    def _store_row(self, b: Builder, first: str, last: str, step: str, row: str) -> None:
        """Row `row` of the trajectory: the state, or NaN in lanes that stopped before `step` or by a bad value."""
        at = self.at
        stopped = b.load(b.slot("%frame", at.stopped.slot))
        now = b.compare("oeq", stopped, b.splat(b.let(f"sitofp i64 {step} to double")))
        bound = b.compare("oeq", b.load(b.slot("%frame", at.reason.slot)), float(Outcome.BOUND))
        running = b.truth(b.load(b.slot("%frame", at.running.slot)))
        shown = b.logic("or", running, b.logic("and", now, bound))
        for place in slots.turns(b, self.plan.size):
            b.store(b.select(shown, b.load(place(at.state)), math.nan), place(at.shown))
        number = 1 + len(at.parameters) + len(at.inputs)
        moved = b.let(f"mul i64 {row}, {8 * self.plan.size}")
        self._transfer(b, write_rows, number, first, last, at.shown, moved)

    def _finish(self, b: Builder, first: str, last: str) -> None:
        at = self.at
        for k, port in enumerate((at.state, at.stopped, at.reason)):
            self._transfer(b, write_rows, self._final + k, first, last, port)
