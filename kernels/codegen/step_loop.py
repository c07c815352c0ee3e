"""Step loops in machine code: all steps of W states in one call.

A step is one traced formula, and everything of W states lives in one frame. The code around it reads the inputs of
every step from tables, takes the step as long as a lane runs, and stores rows of the trajectory.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from myoquat.core import digest, frozen
from myoquat.kernels.codegen import slots
from myoquat.kernels.tracing.tape import Signature, Traced

from .constructs import write_formula
from .driver import ENTRY, Port, Rows, move_rows
from .ir import Module, double
from .parts import Size, slots_in, take_ports
from .slots import Frame, turns

# 8 bytes each at the head of the table of a call, with their types
HEADER = {"first": "i64", "until": "i64", "every": "i64", "start": "double", "step": "double", "index": "ptr",
          "weight": "ptr"}  # fmt: skip


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

    @property
    def identity(self) -> str:
        """Text that two plans share only if they evaluate the same."""
        shapes = str((self.size, self.nodes, dict(self.inputs), self.parameters))
        return digest("steps", shapes, self.step.identity)

    def notes(self) -> dict[str, Any]:
        """Those of a kernel without arrays: what a loop takes and gives is said by those who call it."""
        return Signature("steps", {}, {}).notes()


# ---- the functions of a step loop --------------------------------------------------------------------------


_PRICE_COMPONENT = 0.3  # nanoseconds per component of the state and step, beside the formulas
_SAMPLE = "ptr %rows, i64 %stride, i64 %following, ptr %slots, ptr %spare, double %weight"


def _read_sample(module: Module, length: int) -> str:
    """Name of a function that puts a row, and of the next one its weight, linearly, into `length` slots: of W states,
    as `Rows`. `spare` are as many slots to work in."""

    def write() -> None:
        b = module.builder()
        move_rows(b, Rows("%rows", "%stride", "%following"), "%slots", length, reading=True)
        with b.when(b.let("fcmp une double %weight, 0.0")):
            after = Rows(b.offset("%rows", 8 * length), "%stride", "%following")
            move_rows(b, after, "%spare", length, reading=True)
            weight = b.splat("%weight")
            for at in turns(b, length):
                low, high = (b.load(at(Port(0, length), base)) for base in ("%slots", "%spare"))
                b.store(b.fma(weight, b.sub(high, low), low), at(Port(0, length), "%slots"))
        b.line("ret void")
        module.define(name, "void", _SAMPLE, b)

    name = f"read_sample_{length}"
    module.once(name, write)
    return name


def write_steps(plan: StepPlan, module: Module) -> Size:
    """Define ENTRY for a step loop. It takes the table: HEADER, then (pointer, stride) of parameters, inputs,
    trajectory, state, stopping step (NaN: none) and `Outcome`. It goes on from the last three, and does the steps from
    `first` to `until`. Of the trajectory it writes the rows behind the first."""
    frame, signature, nodes = Frame(module), plan.step.signature, len(plan.nodes)
    at = take_ports(frame, dict(zip(signature.inputs, signature.input_sizes, strict=True)))
    x, following = at["x"], Port(frame.take(plan.size + 3), plan.size + 3)
    state = x._replace(length=plan.size)
    running, stopped, reason = (Port(x.slot + plan.size + k, 1) for k in range(3))
    spare = frame.take(max([0, *plan.inputs.values()]))
    cost = write_formula(plan.step, module, "step", frame, at, dict.fromkeys(signature.outputs, following))

    b = module.builder()
    begun, until, every, start, h, indices, weights = (
        b.load(b.offset("%table", 8 * k), llvm_type) for k, llvm_type in enumerate(HEADER.values())
    )
    arrays = []
    for k in range(len(plan.parameters) + len(plan.inputs) + 4):
        row = b.offset("%table", 8 * len(HEADER) + 16 * k)
        arrays.append((b.load(row, "ptr"), b.load(b.offset(row, 8), "i64")))
    parameters, inputs = arrays[: len(plan.parameters)], arrays[len(plan.parameters) : -4]
    trajectory, *kept = arrays[-4:]  # the others from call to call
    b.store(b.splat(h), b.slot("%frame", at["h"].slot))

    with b.loop("%begin", "%end", module.lanes) as first:
        more = b.let(f"sub i64 {b.let('sub i64 %end, 1')}, {first}")

        def rows(array: tuple[str, str], length: int, index: str = "0") -> Rows:
            """Rows of the states, of an array with several of so many numbers for each."""
            begin = b.offset(array[0], b.let(f"mul i64 {first}, {array[1]}"))
            return Rows(b.offset(begin, b.let(f"mul i64 {index}, {8 * length}")), array[1], more)

        def move(array: tuple[str, str], port: Port, reading: bool, index: str = "0") -> None:
            move_rows(b, rows(array, port.length, index), b.slot("%frame", port.slot), port.length, reading)

        for array, key in zip(parameters, plan.parameters, strict=True):
            move(array, at[key], reading=True)
        for array, port in zip(kept, (state, stopped, reason), strict=True):
            move(array, port, reading=True)
        lasts = b.number(b.compare("uno", b.load(b.slot("%frame", stopped.slot)), 0.0))
        b.store(lasts, b.slot("%frame", running.slot))
        with b.loop(begun, until) as s:
            after = b.let(f"add i64 {s}, 1")
            with b.when(b.any(b.truth(b.load(b.slot("%frame", running.slot))))):
                number = b.let(f"sitofp i64 {s} to double")
                for k, node in enumerate((*plan.nodes, 1.0)):
                    moved = b.let(f"fmul double {b.let(f'fadd double {number}, {double(node)}')}, {h}")
                    time = b.let(f"fadd double {start}, {moved}")
                    b.store(b.splat(time), b.slot("%frame", at["t"].slot + k))
                steps = b.splat(b.let(f"fadd double {number}, {double(1.0)}"))
                b.store(steps, b.slot("%frame", at["steps"].slot))
                for k, (key, length) in enumerate(plan.inputs.items()):
                    for node in range(nodes if length else 0):
                        place = b.let(f"mul i64 {s}, {8 * len(plan.inputs) * nodes}")
                        place = b.let(f"add i64 {place}, {8 * (k * nodes + node)}")
                        index = b.load(b.offset(indices, place), "i64")
                        weight = b.load(b.offset(weights, place), "double")
                        sample, slot = rows(inputs[k], length, index), at[key].slot + node * length
                        b.line(
                            f"call void @{_read_sample(module, length)}(ptr {sample.first}, i64 {sample.stride}, "
                            f"i64 {more}, ptr {b.slot('%frame', slot)}, ptr {b.slot('%frame', spare)}, double {weight})"
                        )
                b.line("call void @step(ptr %frame)")
                slots.copy_port(b, following, x)
            with b.when(b.let(f"icmp eq i64 {b.let(f'srem i64 {after}, {every}')}, 0")):
                move(trajectory, state, False, b.let(f"sdiv i64 {after}, {every}"))
        for array, port in zip(kept, (state, stopped, reason), strict=True):
            move(array, port, reading=False)
    b.line("ret void")
    module.define(ENTRY, "void", "ptr %table, i64 %begin, i64 %end, ptr %frame", b)
    price = cost.price + _PRICE_COMPONENT * plan.size
    return Size(slots_in(frame.finish(), module.lanes), cost.operations, price)
