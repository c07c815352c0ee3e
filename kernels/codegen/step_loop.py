"""Step loops in machine code: all steps of W states in one call.

A step is one traced formula, and everything of W states lives in one frame. The code around it reads the inputs of
every step from tables, takes the step as long as a lane runs, and stores rows of the trajectory.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from myoquat.core import digest, frozen
from myoquat.kernels.codegen import slots
from myoquat.kernels.tracing.tape import Signature, Traced

from .constructs import write_formula
from .driver import ENTRY, Port, read_rows, write_rows
from .ir import Builder, Module, double
from .parts import Size, slots_in, take_ports
from .slots import Frame, turns

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


@frozen
class StepPlan:
    """A step loop over states of `size` numbers.

    step        (t, h, steps, x, *inputs, *parameters) -> x, after the step. t (k + 1,): the times at the k nodes and at
                the end; steps (): how many there are then; each input (k, ...) at the nodes. Behind the state, x
                (size + 3,) holds 1 while the lane runs, the step that stopped it (NaN: none), and its `Outcome`
    nodes       where in a step the inputs are needed, as shares of it
    inputs      numbers of each input at one node
    parameters  names
    """

    size: int
    nodes: tuple[float, ...]
    inputs: Mapping[str, int]
    parameters: tuple[str, ...]
    step: Traced

    def identity(self) -> str:
        """Text that two plans share only if they evaluate the same."""
        shapes = str((self.size, self.nodes, dict(self.inputs), self.parameters))
        return digest("steps", shapes, self.step.identity())


# ---- Inputs that change with time: rows of a table, interpolated, into the frame -------------------------------


_PARAMETERS = (
    "ptr %rows, i64 %stride, i64 %first, i64 %last, ptr %slots, ptr %spare, ptr %loaded, i64 %index, double %weight"
)


def _read_sample(module: Module, length: int) -> str:
    """Name of a function (rows, stride, first, last, slots, spare, loaded, index, weight).

    Puts (1 - weight) row[index] + weight row[index + 1] of W states' tables into `length` slots. `loaded` remembers the
    index of a row taken as it is, so that a constant input is read once. `spare`: `length` slots to work in.
    """
    name = f"read_sample_{length}"

    def write() -> None:
        b = module.builder()
        exact = b.let("fcmp oeq double %weight, 0.0")
        held = b.let(f"icmp eq i64 {b.load('%loaded', 'i64')}, %index")
        with b.when(b.let(f"xor i1 {b.let(f'and i1 {exact}, {held}')}, true")):
            row = b.offset("%rows", b.let(f"mul i64 %index, {8 * length}"))
            read_rows(b, row, "%stride", "%first", "%last", "%slots", length)
            b.store(b.let(f"select i1 {exact}, i64 %index, i64 -1"), "%loaded", "i64")
            with b.when(b.let(f"xor i1 {exact}, true")):
                read_rows(b, b.offset(row, 8 * length), "%stride", "%first", "%last", "%spare", length)
                weight = b.splat("%weight")
                for at in turns(b, length):
                    low, high = (b.load(at(Port(0, length), base)) for base in ("%slots", "%spare"))
                    b.store(b.fma(weight, b.sub(high, low), low), at(Port(0, length), "%slots"))
        b.line("ret void")
        module.define(name, "void", _PARAMETERS, b)

    return module.once(name, write)


# ---- the functions of a step loop --------------------------------------------------------------------------


_PRICE_COMPONENT = 0.3  # nanoseconds per component of the state and step, beside the formulas


def write_steps(plan: StepPlan, module: Module) -> Size:
    """Define ENTRY for a step loop. It takes the table: HEADER, then (pointer, stride) of parameters, inputs,
    trajectory, state, stopping step (NaN: none) and `Outcome`. It goes on from the last three, and does the steps from
    `first` to `until`. Of the trajectory it writes the rows behind the first."""
    return _Writer(plan, module).write()


def notes_of_steps(plan: StepPlan) -> dict[str, Any]:
    """Those of a kernel without arrays: what a loop takes and gives is said by those who call it."""
    return Signature("steps", {}, {}).notes()


class _Writer:
    """Writes the functions of a step loop, from the innermost out."""

    def __init__(self, plan: StepPlan, module: Module) -> None:
        self.plan, self.module, self.frame = plan, module, Frame(module)
        signature = plan.step.signature
        self.at = take_ports(self.frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
        self.x, self.following = self.at["x"], Port(self.frame.take(plan.size + 3), plan.size + 3)
        self.state = self.x._replace(length=plan.size)
        self.running, *outcome = (Port(self.x.slot + plan.size + k, 1) for k in range(3))
        self.kept = [self.state, *outcome]  # from call to call
        self.loaded = self.frame.take(len(plan.inputs) * len(plan.nodes))  # i64: the row that slots of an input hold
        self.spare = self.frame.take(max([0, *plan.inputs.values()]))
        self.trajectory = len(plan.parameters) + len(plan.inputs)  # its number among the arrays

    def write(self) -> Size:
        lanes = self.module.lanes
        outputs = dict.fromkeys(self.plan.step.signature.outputs, self.following)
        cost = write_formula(self.plan.step, self.module, "step", self.frame, self.at, outputs)
        self._advance()
        self._entry()
        price = cost.price + _PRICE_COMPONENT * self.plan.size
        return Size(slots_in(self.frame.finish(), lanes), cost.operations, price)

    def _advance(self) -> None:
        """advance(frame, table, s, first, last): one step, from s to s + 1, of the lanes that run."""
        b, count = self.module.builder(), len(self.plan.nodes)
        start, h = (self._header(b, key, "double") for key in ("start", "step"))
        step = b.let("sitofp i64 %s to double")
        for k, node in enumerate((*self.plan.nodes, 1.0)):
            steps = b.let(f"fadd double {step}, {double(node)}")
            moved = b.let(f"fmul double {steps}, {h}")
            b.store(b.splat(b.let(f"fadd double {start}, {moved}")), b.slot("%frame", self.at["t"].slot + k))
        b.store(b.splat(b.let(f"fadd double {step}, {double(1.0)}")), b.slot("%frame", self.at["steps"].slot))
        for number, (key, length) in enumerate(self.plan.inputs.items()):
            for node in range(count if length else 0):
                self._load_input(b, number, node, Port(self.at[key].slot + node * length, length))
        b.line("call void @step(ptr %frame)")
        slots.copy_port(b, self.following, self.x)
        b.line("ret void")
        self.module.define("advance", "void", "ptr %frame, ptr %table, i64 %s, i64 %first, i64 %last", b)

    def _load_input(self, b: Builder, number: int, node: int, port: Port) -> None:
        """An input at a node of step %s: row index, and share of the next row, from the caller."""
        of_step, own = len(self.plan.inputs) * len(self.plan.nodes), number * len(self.plan.nodes) + node
        place = b.let(f"mul i64 %s, {of_step}")
        place = b.let(f"mul i64 {b.let(f'add i64 {place}, {own}')}, 8")
        index = b.load(b.offset(self._header(b, "index", "ptr"), place), "i64")
        weight = b.load(b.offset(self._header(b, "weight", "ptr"), place), "double")
        pointer, stride = self._array(b, len(self.plan.parameters) + number)
        rows, spare, loaded = (b.slot("%frame", slot) for slot in (port.slot, self.spare, self.loaded + own))
        b.line(
            f"call void @{_read_sample(self.module, port.length)}(ptr {pointer}, i64 {stride}, i64 %first, i64 %last, "
            f"ptr {rows}, ptr {spare}, ptr {loaded}, i64 {index}, double {weight})"
        )

    def _header(self, b: Builder, key: str, llvm_type: str) -> str:
        return b.load(b.offset("%table", 8 * HEADER.index(key)), llvm_type)

    def _array(self, b: Builder, number: int) -> tuple[str, str]:
        """(pointer, stride) of array `number` of the table."""
        base = 8 * len(HEADER) + 16 * number
        return b.load(b.offset("%table", base), "ptr"), b.load(b.offset("%table", base + 8), "i64")

    def _entry(self) -> None:
        b, plan = self.module.builder(), self.plan
        begun, until, every = (self._header(b, key, "i64") for key in ("first", "until", "every"))
        b.store(b.splat(self._header(b, "step", "double")), b.slot("%frame", self.at["h"].slot))
        last = b.let("sub i64 %end, 1")
        running, stopped = (b.slot("%frame", self.running.slot + k) for k in range(2))
        with b.loop("%begin", "%end", self.module.lanes) as first:

            def move(way: Callable[..., None], number: int, port: Port, row: str = "0") -> None:
                """Rows of an array of the table."""
                pointer, stride = self._array(b, number)
                rows = b.offset(pointer, b.let(f"mul i64 {row}, {8 * port.length}"))
                way(b, rows, stride, first, last, b.slot("%frame", port.slot), port.length)

            for number, port in enumerate(map(self.at.__getitem__, plan.parameters)):
                move(read_rows, number, port)
            for number, port in enumerate(self.kept, start=self.trajectory + 1):
                move(read_rows, number, port)
            b.store(b.number(b.compare("uno", b.load(stopped), 0.0)), running)
            for k in range(len(plan.inputs) * len(plan.nodes)):
                b.store("-1", b.slot("%frame", self.loaded + k), "i64")
            with b.loop(begun, until) as s:
                with b.when(b.any(b.truth(b.load(running)))):
                    b.line(f"call void @advance(ptr %frame, ptr %table, i64 {s}, i64 {first}, i64 {last})")
                after = b.let(f"add i64 {s}, 1")
                with b.when(b.let(f"icmp eq i64 {b.let(f'srem i64 {after}, {every}')}, 0")):
                    move(write_rows, self.trajectory, self.state, b.let(f"sdiv i64 {after}, {every}"))
            for number, port in enumerate(self.kept, start=self.trajectory + 1):
                move(write_rows, number, port)
        b.line("ret void")
        self.module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b, linkage="")
