"""From a tape to LLVM functions that work on a frame.

A frame is one block of memory of slots, W doubles each. It holds everything a kernel touches for W states: inputs,
outputs, values between parts of a long function. Functions that several others call have frames of their own behind
that, so that their code is the same in every kernel. A straight function takes its frame, reads the slots of its inputs
and writes those of its outputs. Long ones are split into functions that pass values through slots. Instruction
selection and register allocation of one huge block would take more than linear time.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.codegen import elementary, slots
from myoquat.kernels.control_flow.table_loop import Block, TracedRows
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.tape import Node, Tape, arguments

from .ir import Builder, Module
from .parts import Call, Cost, listed, price, write_calls
from .slots import Frame, Place, Schedule, at_once

# ---- straight functions ------------------------------------------------------------------------------------


_MAX_UNSPLIT_OPERATIONS = 600  # operations up to which a function stays whole
_OPERATIONS_PER_BLOCK = 64  # operations between two blocks of code
_OPERATIONS_PER_PART = 300  # operations per part above

_TRUTH = frozenset(row.name for row in OPERATIONS.values() if row.condition)
_TRUTHS = {row.name: row.truths for row in OPERATIONS.values()}


class _Emitter:
    """Writes nodes into a builder; `leaf` gives an input's value when it is first needed in this block."""

    def __init__(self, b: Builder, tape: Tape, leaf: Callable[[int], str], paired: frozenset[int]) -> None:
        self.b = b
        self.nodes = tape.nodes
        self.operands = tape.operands
        self.leaf = leaf
        self.paired = paired  # angles whose sine and cosine are both wanted here
        self.values: dict[int, str] = {}
        self.writers: dict[str, Callable[..., str]] = {}  # of the operations that were met
        self.pairs: dict[int, tuple[str, str]] = {}

    def raw(self, index: int) -> str:
        """The register of a node: float lanes, or truth lanes for a comparison."""
        known = self.values.get(index)
        if known is None:
            node = self.nodes[index]
            constant = node.operation == "const"
            known = self.values[index] = self.b.constant(node.number) if constant else self.leaf(index)
        return known

    def number(self, index: int) -> str:
        value = self.raw(index)
        return self.b.number(value) if self.nodes[index].operation in _TRUTH else value

    def truth(self, index: int) -> str:
        value = self.raw(index)
        return value if self.nodes[index].operation in _TRUTH else self.b.truth(value)

    def compute(self, index: int) -> None:
        """Write one operation."""
        b, nodes, values = self.b, self.nodes, self.values
        operation = nodes[index][0]
        if operation in ("sin", "cos") and nodes[index][1] in self.paired:
            values[index] = self._of_pair(nodes[index])
            return
        operands = []
        for place, i in enumerate(self.operands[index]):
            operand = values.get(i) or self.raw(i)
            is_truth = nodes[i][0] in _TRUTH
            if is_truth != (place in _TRUTHS[operation]):
                operand = b.number(operand) if is_truth else b.truth(operand)
            operands.append(operand)
        write = self.writers.get(operation)
        if write is None:
            method, *first = OPERATIONS[operation].code.split() or [""]
            write = partial(getattr(b, method), *first) if method else partial(elementary.call, b, operation)
            self.writers[operation] = write
        values[index] = write(*operands)

    def write(self, group: list[int]) -> None:
        """Write operations that go into one call."""
        if len({self.operands[i] for i in group}) > 1:
            self.compute_packed(group)
        else:
            for index in group:
                self.compute(index)

    def compute_packed(self, group: list[int]) -> None:
        """Write calls of one elementary function that do not depend on each other as one call on a vector."""
        nodes = [self.nodes[i] for i in group]
        if nodes[0].operation in ("sin", "cos") and nodes[0].a in self.paired:
            angles = list(dict.fromkeys(node.a for node in nodes))
            pairs = elementary.call_packed(self.b, "sincos", [[self.number(a)] for a in angles])
            self.pairs |= {a: (sine, cosine) for a, (sine, cosine) in zip(angles, pairs, strict=True)}
            for index in group:
                self.compute(index)
            return
        rows = [[self.number(i) for i in self.operands[index]] for index in group]
        for index, (value,) in zip(group, elementary.call_packed(self.b, nodes[0].operation, rows), strict=True):
            self.values[index] = value

    def _of_pair(self, node: Node) -> str:
        if node.a not in self.pairs:
            self.pairs[node.a] = elementary.call_sincos(self.b, self.number(node.a))
        return self.pairs[node.a][0 if node.operation == "sin" else 1]


def _paired(nodes: list[Node], part: Sequence[int]) -> frozenset[int]:
    sines = {nodes[i].a for i in part if nodes[i].operation == "sin"}
    return frozenset(sines & {nodes[i].a for i in part if nodes[i].operation == "cos"})


def _steps(b: Builder, nodes: list[Node], part: Sequence[int], paired: frozenset[int]) -> list[int | list[int]]:
    """The nodes of a part in an order in which arguments come first, for one lane. Calls of an elementary function
    that do not depend on each other come together, up to the width of the registers.

    A node's level is the number of calls on the longest way to it. At every level the calls come first, then the rest.
    """
    level: dict[int, int] = {}
    groups: dict[tuple[int, str], list[int]] = {}
    rest: dict[int, list[int]] = {}
    for i in part:
        node = nodes[i]
        deep = max((level.get(a, 0) for a in arguments(node)), default=0)
        packable = node.operation in elementary.PACKABLE
        level[i] = deep + packable
        if packable:
            pair = node.operation in ("sin", "cos") and node.a in paired
            groups.setdefault((level[i], "sincos" if pair else node.operation), []).append(i)
        else:
            rest.setdefault(level[i], []).append(i)
    ordered: list[int | list[int]] = []
    for depth in range(max(level.values(), default=0) + 1):
        for (at, _), group in groups.items():
            if at == depth:
                ordered += _chunks(nodes, group, b.module.width)
        ordered += rest.get(depth, [])
    return ordered


def _chunks(nodes: list[Node], group: list[int], width: int) -> list[list[int]]:
    """Parts of at most `width` different arguments each; equal arguments (a sine and its cosine) stay together."""
    by_argument: dict[tuple[int, ...], list[int]] = {}
    for i in group:
        by_argument.setdefault(arguments(nodes[i]), []).append(i)
    lists = list(by_argument.values())
    return [[i for part in lists[k : k + width] for i in part] for k in range(0, len(lists), width)]


def _emit(
    b: Builder, tape: Tape, part: Sequence[int], leaf: Callable[[int], str], ready: Callable[[_Emitter, int], None],
    split: Callable[[], None] = lambda: None,
) -> _Emitter:  # fmt: skip
    """Write some nodes into `b`. `leaf` gives the value of another node, `ready` hears of each as soon as it is
    written, and `split` begins a new block of code now and then."""
    emitter = _Emitter(b, tape, leaf, _paired(tape.nodes, part))
    packs = b.lanes == 1 and b.module.width > 1
    for count, step in enumerate(_steps(b, tape.nodes, part, emitter.paired) if packs else part, start=1):
        if isinstance(step, int):
            emitter.compute(step)
            ready(emitter, step)
        else:
            emitter.write(step)
            for index in step:
                ready(emitter, index)
        if count % _OPERATIONS_PER_BLOCK == 0:
            split()
    return emitter


class _Part(NamedTuple):
    """A part of a straight function: its nodes, the values that it passes on, each to a slot, and the function that is
    called before it."""

    nodes: list[int]
    passed: list[tuple[int, Place]]
    before: Call | None


def emit_straight(
    module: Module,
    name: str,
    tape: Tape,
    frame: Frame,
    ends: tuple[Sequence[Place], Sequence[Place]],
    calls: Sequence[Call],
    schedule: Schedule,
    parameters: Sequence[str],
    several: bool,
) -> None:
    """Define a function with these `parameters`, its frame first, as `parts.write_calls`.

    `ends`: slots of inputs, the i-th for flat input i, and slots of outputs, the j-th for flat output j. Slots of
    inputs and outputs that are needed at one level must not overlap. Values that pass between parts of a split function
    get slots of `frame`. several: it takes several blocks of states.
    """
    work: list[list[int]] = [[] for _ in range(len(calls) + 1)]
    for i, node in enumerate(tape.nodes):
        if node.operation not in ("const", "input"):
            work[schedule.levels[i]].append(i)
    parts, starts = list[_Part](), list[int]()  # the latter of every level
    for own, call in zip(work, (None, *calls), strict=True):
        starts.append(len(parts))
        size = _OPERATIONS_PER_PART if len(own) > _MAX_UNSPLIT_OPERATIONS else _MAX_UNSPLIT_OPERATIONS
        for first in range(0, max(len(own), 1), size):
            parts.append(_Part(own[first : first + size], [], None if first else call))
    part_of = {index: number for number, part in enumerate(parts) for index in part.nodes}
    computed: dict[int, list[Place]] = {}  # of nodes, the slots that receive it when it is computed
    for index, place, level in dict.fromkeys(zip(tape.outputs, ends[1], schedule.due, strict=True)):
        if part_of.get(index, -1) >= starts[level]:
            computed.setdefault(index, []).append(place)
        else:
            parts[starts[level]].passed.append((index, place))
    spills = _spill_slots(tape, parts, part_of, frame)
    for index, slot in spills.items():
        computed[index] = [Place(slot), *computed.get(index, ())]
    function = _Straight(module, tape, ends[0], parameters, computed, spills)
    if len(parts) == 1 and not several:
        function.define(name, parts[0])
        return
    steps = list[Call]()
    for number, part in enumerate(parts):
        function.define(f"{name}_{number}", part, quick=several and bool(calls))
        steps += [Call(f"{name}_{number}")] if part.before is None else [part.before, Call(f"{name}_{number}")]
    write_calls(module, name, frame, parameters, steps, several)


def _spill_slots(tape: Tape, parts: Sequence[_Part], part_of: Mapping[int, int], frame: Frame) -> dict[int, int]:
    """Slot of every value that a later part needs; a slot is used again once its value has been read last."""
    last: dict[int, int] = {}
    for number, part in enumerate(parts if len(parts) > 1 else ()):
        needed = (argument for index in part.nodes for argument in tape.operands[index])
        for index in itertools.chain(needed, (index for index, _ in part.passed)):
            if part_of.get(index, number) < number:
                last[index] = number
    slots: dict[int, int] = {}
    free: list[int] = []
    expiring: dict[int, list[int]] = {}
    for number, part in enumerate(parts):
        free += expiring.pop(number, [])
        for index in part.nodes:
            if index in last:
                slots[index] = free.pop() if free else frame.take(1)
                expiring.setdefault(last[index] + 1, []).append(slots[index])
    return slots


@dataclass
class _Straight:
    """Writes the parts of a straight function. last: the slot that the part being written reads, of each parameter."""

    module: Module
    tape: Tape
    inputs: Sequence[Place]
    parameters: Sequence[str]
    computed: dict[int, list[Place]]
    spills: dict[int, int]
    last: dict[str, int] = field(default_factory=dict)

    def define(self, name: str, part: _Part, quick: bool = False) -> None:
        """Define the function of a part.

        Between the calls of a function over several blocks, parts mostly copy numbers. They are `quick`: LLVM takes
        half the time without optimizing, and its code as long.

        No part writes a slot that it reads. The loads are marked as unchanging, so that the instruction
        scheduler does not compare every read with every write.
        """
        b, nodes = self.module.builder(), self.tape.nodes
        self.last = {}

        def ready(emitter: _Emitter, index: int) -> None:
            for place in self.computed.get(index, ()):
                b.store(emitter.number(index), place.of(b))

        _emit(b, self.tape, part.nodes, lambda i: self._read(b, i), ready)
        # Outputs that are inputs, constants or of earlier parts: many of them in loops over tables of their slots.
        fixed = [(nodes[i].number, place) for i, place in part.passed if nodes[i].operation == "const"]
        moved = [(self._place(i), place) for i, place in part.passed if nodes[i].operation != "const"]
        slots.copy(b, [(here, there) for here, there in moved if here != there])
        slots.fill(b, fixed)
        b.line("ret void")
        reach = {base: f" dereferenceable({8 * b.lanes * (slot + 1)})" for base, slot in self.last.items()}
        listed = ", ".join(f"ptr align 8{reach.get(p, '')} {p}" for p in self.parameters)
        self.module.define(name, "void", listed, b, facts="nofree nosync", quick=quick)

    def _place(self, index: int) -> Place:
        """Where an input, or a value of an earlier part, is."""
        node = self.tape.nodes[index]
        return self.inputs[int(node.number)] if node.operation == "input" else Place(self.spills[index])

    def _read(self, b: Builder, index: int) -> str:
        node, place = self.tape.nodes[index], self._place(index)
        self.last[place.base] = max(self.last.get(place.base, 0), place.slot)
        value = b.load_unchanging(place.base, place.slot)
        return b.truth(value) if node.operation in _TRUTH else value


# ---- rows of tables ----------------------------------------------------------------------------------------


class _Laid(NamedTuple):
    """The slots (k, m) of a block, counted from the pointer `base`: the first of each row, and how far the others lie
    behind it. A block that is the same in all rows has zero and all. ValueError for slots that lie differently in some
    rows."""

    base: str
    first: np.ndarray
    behind: list[int]

    @classmethod
    def of(cls, base: str, slots: np.ndarray) -> "_Laid":
        if not slots.size:
            return cls(base, np.zeros(len(slots), dtype=np.int64), [])
        behind = slots - slots[:, :1]
        if np.any(np.diff(behind, axis=0)):
            raise ValueError("the slots of a block lie differently in some rows")
        fixed = not np.any(np.diff(slots[:, 0]))
        return cls(base, 0 * slots[:, 0], slots[0].tolist()) if fixed else cls(base, slots[:, 0], behind[0].tolist())

    @property
    def key(self) -> tuple[str, bytes]:
        """What blocks share whose rows begin at the same slots."""
        return self.base, self.first.tobytes()

    def overlaps(self, other: "_Laid") -> bool:
        """Whether the slots of a row may be those of the same row in another block."""
        if self.base != other.base or not (self.behind and other.behind):
            return False
        apart = self.first - other.first
        least, most = min(self.behind) - max(other.behind), max(self.behind) - min(other.behind)
        return bool(np.any((apart + least <= 0) & (apart + most >= 0)))


@frozen
class Cells:
    """Where the cells of a loop are: slots (n,), and by number (n,) the pointers from which they count."""

    slots: np.ndarray
    bases: np.ndarray
    pointers: Sequence[str]

    def place(self, cell: int) -> Place:
        """The slot of a cell."""
        return Place(int(self.slots[cell]), self.pointers[self.bases[cell]])

    def laid(self, block: Block) -> _Laid:
        """The slots of a block, which counts from one pointer."""
        return _Laid.of(self.pointers[self.bases[block.cells].max(initial=0)], self.slots[block.cells])


class _Target(NamedTuple):
    """Where a row leaves a number: so many slots behind a pointer; whether it is `added` to what is there. `late`: it
    is written last, since the row may take numbers from there."""

    pointer: str
    slot: int
    added: bool
    late: bool


def write_rows(module: Module, name: str, frame: Frame, rows: TracedRows, cells: Cells, once: bool) -> Cost:
    """Define `void name(ptr frame, ..., i64 first, i64 last)`: these rows of a type, with all pointers of the cells. A
    long row is a straight function.

    once: it is called once, for all rows. With one lane, it then takes as many rows at once as registers have lanes, if
    neighbouring rows lie side by side, and none takes what another one gives. The last iteration repeats some rows
    where their number is no multiple of that.
    """
    tape, count = rewritten(rows.tape), len(rows.numbers)
    takes, gives = ([cells.laid(block) for block in blocks] for blocks in (rows.takes, rows.gives))
    width = _rows_at_once(module, rows, [*takes, *gives], count) if once else 1
    b = module.builder(width if width > 1 else None)
    firsts = {laid.key: laid.first for laid in (*takes, *gives) if laid.first.any()}
    numbers = rows.numbers.T if width > 1 else rows.numbers
    with b.loop("%first", "%last", width) as counter:
        row = counter
        if width > 1:
            over = b.let(f"icmp sgt i64 {counter}, {count - width}")
            row = b.let(f"select i1 {over}, i64 {count - width}, i64 {counter}")
        pointers = _pointers(b, row, firsts)
        own = _own_numbers(b, row, numbers, 1 if width > 1 else numbers.shape[1])
        sources = [(pointers.get(laid.key, laid.base), slot) for laid in takes for slot in laid.behind]
        targets = list[_Target]()
        for laid, added in zip(gives, rows.added or [False] * len(gives), strict=True):
            late = any(laid.overlaps(other) for other in takes)
            pointer = pointers.get(laid.key, laid.base)
            targets += [_Target(pointer, slot, added, late) for slot in laid.behind]

        def number(index: int) -> str:
            address = b.offset(own, 8 * (count if width > 1 else 1) * index)
            return b.load(address) if width > 1 else b.splat(b.load(address, "double"))

        def read(index: int) -> str:
            return b.load(_address(b, *sources[index])) if index < len(sources) else number(index - len(sources))

        if is_long(rows) and width == 1 and not any(target.added or target.late for target in targets):
            at = frame.take(numbers.shape[1])
            for k in range(numbers.shape[1]):
                b.store(number(k), b.slot("%frame", at + k))
            names = {base: base for base in cells.pointers}
            names |= {pointer: f"%rows{k}" for k, pointer in enumerate(pointers.values())}
            read_from = [Place(slot, names[pointer]) for pointer, slot in sources]
            read_from += [Place(at + k) for k in range(numbers.shape[1])]
            ends = read_from, [Place(target.slot, names[target.pointer]) for target in targets]
            emit_straight(
                module, f"{name}_row", tape, frame, ends, (), at_once(tape, ()), [*names.values()], several=False
            )
            b.line(f"call void @{name}_row({listed(list(names))})")
        else:
            _write_row(b, tape, counter, read, targets)
    b.line("ret void")
    # beside solvers they take a small part of the time
    module.define(name, "void", f"{listed(cells.pointers)}, i64 %first, i64 %last", b, quick=module.blocks > 1)
    return price(tape).times(count)


def is_long(rows: TracedRows) -> bool:
    """Whether a row is a straight function, which needs slots of its own."""
    return rows.tape.operations > _MAX_UNSPLIT_OPERATIONS


def _rows_at_once(module: Module, rows: TracedRows, laid: Sequence[_Laid], count: int) -> int:
    """How many rows of a kernel for one state are taken at once."""
    taken, given = (
        np.concatenate([np.zeros(0), *(block.cells.reshape(-1) for block in blocks)])
        for blocks in (rows.takes, rows.gives)
    )
    beside = all(np.all(np.diff(part.first) == 1) for part in laid if part.behind)
    width = 1
    if module.lanes == 1 and beside and not any(rows.added) and not np.isin(taken, given).any():
        while 2 * width <= min(module.width, count):
            width *= 2
    return width


_Key = tuple[str, bytes]  # of blocks whose rows begin at the same slots


def _pointers(b: Builder, row: str, slots: Mapping[_Key, np.ndarray]) -> dict[_Key, str]:
    """Pointers to slots (k,) of a row."""
    if not slots:
        return {}
    table = b.module.constants(8 * b.module.lanes * np.stack(list(slots.values()), axis=-1))
    line = b.offset(f"@{table}", b.let(f"mul i64 {row}, {8 * len(slots)}"))
    return {key: b.offset(key[0], b.load(b.offset(line, 8 * k), "i64")) for k, key in enumerate(slots)}


def _own_numbers(b: Builder, row: str, numbers: np.ndarray, stride: int) -> str:
    """Where the numbers of a row begin."""
    if not numbers.size:
        return ""
    return b.offset(f"@{b.module.constants(numbers)}", b.let(f"mul i64 {row}, {8 * stride}"))


def _address(b: Builder, pointer: str, slot: int) -> str:
    return b.offset(pointer, 8 * b.module.lanes * slot)


def _write_row(b: Builder, tape: Tape, counter: str, read: Callable[[int], str], targets: Sequence[_Target]) -> None:
    """The code of a row: numbers are stored as soon as they are known, late ones at the end."""
    nodes, receivers = tape.nodes, dict[int, list[_Target]]()
    for index, target in zip(tape.outputs, targets, strict=True):
        receivers.setdefault(index, []).append(target)

    def store(emitter: _Emitter, index: int, late: bool = False) -> None:
        for target in receivers.get(index, ()):
            if target.late != late:
                continue
            address, value = _address(b, target.pointer, target.slot), emitter.number(index)
            b.store(b.add(b.load(address), value) if target.added else value, address)

    computed = [i for i, node in enumerate(nodes) if node.operation not in ("const", "input")]
    emitter = _emit(b, tape, computed, lambda i: read(int(nodes[i].number)), store, lambda: b.split(counter))
    for index in receivers:
        emitter.number(index)  # all that is taken is read before the late ones are written
    for late in (False, True):
        for index in receivers if late else [i for i in receivers if nodes[i].operation in ("const", "input")]:
            store(emitter, index, late)
