"""Scans over a tree inside a formula: one function for every type of its members, in loops over tables of numbers.

`tree_scan` runs passes down and up a tree: downwards a member takes what its parent gives, upwards the sum of what its
children give. While a kernel is traced the members are not unrolled. The code of a member of each type is traced once,
with the numbers in which the members differ as further inputs. The kernel holds it once for every pass. A number that
is the same in all members of a type is a constant of their code.
"""

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core.content import digest
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.map_rows import OutOfLineCall, RowMap, partially_evaluated
from myoquat.kernels.symbolic.arrays import SymbolArray, symbols_of
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.context import entered
from myoquat.kernels.tracing.tape import Apply, Ends, Inner, Node, OfLoop, Tape, arguments, interpret
from myoquat.kernels.tracing.trace import name_of, tape_inside_loop, trace

__all__ = [
    "ROOT",
    "Member",
    "MemberType",
    "Pass",
    "PassSignature",
    "PendingTreeScan",
    "Stage",
    "TreeScan",
    "member_by_member",
    "possibly_nonzero",
    "split_into_stages",
    "tree_scan",
]


ROOT = -1  # the parent of a member that has none


class Pass(NamedTuple):
    """One way through the tree: step(member, what comes (..., width)) -> what goes (..., width). Downwards roots take
    `start` (width,); upwards, where there is none, members take the sum of what their children give, zero at leaves."""

    step: Callable[[Any, Array], Array]
    width: int
    start: Array | None = None

    @property
    def down(self) -> bool:
        """Whether parents come first."""
        return self.start is not None


class Member(NamedTuple):
    """A node of the tree. The steps of the passes are called with the result of make(row, numbers). row (..., n):
    numbers that may depend on the state. `numbers` (c,): those that do not. Members of an equal `type_key` are made by
    the same formula, which reads nothing else that differs between them."""

    type_key: Hashable
    make: Callable[[Array, Array], Any]
    row: Array
    numbers: Array


def member_by_member(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array]
) -> list[Array]:
    """The result of every member after all passes, without any loop over a table."""
    made = [member.make(member.row, member.numbers) for member in members]
    for p in passes:
        come: list[Any] = [np.zeros(p.width) if p.start is None else p.start for _ in made]
        gone: list[Any] = list(come)
        order = range(len(made)) if p.down else reversed(range(len(made)))
        for i in order:
            parent = parents[i]
            if p.down and parent != ROOT:
                come[i] = gone[parent]
            gone[i] = p.step(made[i], come[i])
            if not p.down and parent != ROOT:
                come[parent] = come[parent] + gone[i]
    return [result(member) for member in made]


# ---- scans with traced members -----------------------------------------------------------------------------


class PassSignature(NamedTuple):
    """A pass: how many numbers go from member to member, and what roots take; None for a pass upwards."""

    width: int
    start: tuple[float, ...] | None


@dataclass(frozen=True)
class Stage:
    """What a member does in a pass. The tape takes slots of the member's own block, its numbers and what comes, one
    after the other. It gives `slots` of the block, and then what goes."""

    tape: Tape
    slots: tuple[int, ...]


@dataclass(frozen=True)
class MemberType:
    """The code of the members (k,) of a type: a stage for every pass, and their numbers (k, c). A stage acts on a block
    of `block` slots of a member, with its row (n,) first and its result (m,) last."""

    members: tuple[int, ...]
    stages: tuple[Stage, ...]
    block: int
    row: int
    result: int
    numbers: Array

    def identity(self) -> str:
        sizes = str((self.members, self.block, self.row, self.result, self.numbers.shape))
        stages = [part for stage in self.stages for part in (stage.tape.identity(), str(stage.slots))]
        return digest(sizes, self.numbers.tobytes(), *stages)


@dataclass(frozen=True)
class TreeScan:
    """A scan over a tree: its member types, the parent of every member, and its passes."""

    types: tuple[MemberType, ...]
    parents: tuple[int, ...]
    ways: tuple[PassSignature, ...]
    has_solver: ClassVar[bool] = False
    multi_block: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """What it gives and takes."""
        gives = sum(member_type.result * len(member_type.members) for member_type in self.types)
        return Ends(gives, sum(member_type.row * len(member_type.members) for member_type in self.types))

    def indices(self) -> list[tuple[int, int]]:
        """(type, number among its members) of every member."""
        found = [(0, 0)] * len(self.parents)
        for k, member_type in enumerate(self.types):
            for number, member in enumerate(member_type.members):
                found[member] = k, number
        return found

    def order(self, way: PassSignature) -> Sequence[int]:
        """The members as a pass comes to them."""
        return range(len(self.parents)) if way.start is not None else range(len(self.parents) - 1, -1, -1)

    def identity(self) -> str:
        """Text that two scans share only if they write the same code."""
        return digest(
            "tree scan", str((self.parents, self.ways)), *(member_type.identity() for member_type in self.types)
        )

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The members one after the other."""
        return Inner(self._play, *self.ends)

    def _play(self, apply: Apply, operands: list[Any]) -> list[Any]:
        rows, types = iter(operands), [self.types[k] for k, _ in self.indices()]
        blocks = [
            [*itertools.islice(rows, member_type.row), *[None] * (member_type.block - member_type.row)]
            for member_type in types
        ]
        for turn in range(len(self.ways)):
            self._pass(apply, turn, blocks)
        return [
            x
            for member_type, block in zip(types, blocks, strict=True)
            for x in block[member_type.block - member_type.result :]
        ]

    def _pass(self, apply: Apply, turn: int, blocks: list[list[Any]]) -> None:
        """A pass over the blocks of all members."""
        way, indices = self.ways[turn], self.indices()
        start = [apply(Node("const", number=x)) for x in way.start or [0.0] * way.width]
        come: list[list[Any]] = [start for _ in indices]
        gone: list[list[Any]] = [[] for _ in indices]
        for i in self.order(way):
            member_type, number = self.types[indices[i][0]], indices[i][1]
            stage, parent = member_type.stages[turn], self.parents[i]
            if way.start is not None and parent != ROOT:
                come[i] = gone[parent]
            fixed = [apply(Node("const", number=x)) for x in member_type.numbers[number].tolist()]
            given = interpret(stage.tape, [*blocks[i], *fixed, *come[i]], apply)
            for slot, value in zip(stage.slots, given, strict=False):
                blocks[i][slot] = value
            gone[i] = given[len(stage.slots) :]
            if way.start is None and parent != ROOT:
                come[parent] = [apply(_SUM, a, b) for a, b in zip(come[parent], gone[i], strict=True)]


_SUM = Node("add", 0, 1)


# ---- Which numbers that go from member to member of a scan are zero in every state, whatever the rows are ------


def possibly_nonzero(tapes: Sequence[Tape], row: Sequence[int], starts: Sequence[Array]) -> list[Array]:
    """Which numbers between members may be other than zero, an array (width,) for every pass.

    tapes: those of all types. Each takes a row of `row` numbers, then what comes in every pass, and gives first what
    goes to other members in every pass. `starts`: the numbers before the first pass.
    """
    found = [start != 0.0 for start in starts]
    while True:
        before = np.concatenate(found)
        for tape, length in zip(tapes, row, strict=True):
            gone = _living(tape, length, np.concatenate(found))
            found = [a | b for a, b in zip(found, np.split(gone, np.cumsum([len(a) for a in found])[:-1]), strict=True)]
        if np.array_equal(np.concatenate(found), before):
            return found


def _living(tape: Tape, row: int, come: Array) -> Array:
    """(n,) which of the first n outputs may be other than zero, n the length of `come`, which says so of the inputs."""
    lives: list[bool] = []
    for operation, a, b, c, number in tape.nodes:
        if operation == "input":
            place = int(number) - row
            lives.append(not 0 <= place < len(come) or bool(come[place]))
        elif operation == "const":
            lives.append(number != 0.0)
        elif operation in ("mul", "if"):
            lives.append(lives[a] and lives[b])
        elif operation in ("add", "sub", "min", "max"):
            lives.append(lives[a] or lives[b])
        elif operation == "select":
            lives.append(lives[b] or lives[c])
        else:
            lives.append(lives[a] if operation == "div" or OPERATIONS[operation].zero_at_zero else True)
    return np.array([lives[i] for i in tape.outputs[: len(come)]])


# ---- What a member of a scan over a tree does, cut into the stages of its passes -------------------------------


def split_into_stages(element: RowMap, members: Sequence[int], row: int, widths: Sequence[int]) -> MemberType:
    """The type of a tape that takes a row, what comes in every pass, and numbers. It gives what goes in every pass, and
    the result. A node that needs nothing of what comes is computed from the row, in the first pass that needs it. All
    others are computed as early as possible, and kept for later passes."""
    sources = _Sources(element.tape, row, widths)
    ends = np.cumsum([0, *widths]).tolist()
    gone = [element.tape.outputs[a:b] for a, b in itertools.pairwise(ends)]
    results = element.tape.outputs[ends[-1] :]
    turns = sources.turns(gone, results)
    kept = sources.kept(turns, gone)
    first = row + len(kept)
    slots, block = {node: row + j for j, node in enumerate(kept)}, first + len(results)
    stages = []
    for turn, outputs in enumerate(gone):
        own = [node for node in kept if turns[node] == turn]
        last = {first + j: node for j, node in enumerate(results) if turns[node] == turn}
        tape = sources.stage(turn, turns, slots, block)
        for index, node in enumerate(element.tape.nodes):
            if turns[index] == turn and not sources.at_hand(node):
                tape.place(index)  # in the order in which they were recorded
        stages.append(Stage(tape.finish([*own, *last.values(), *outputs]), (*(slots[i] for i in own), *last)))
    return MemberType(tuple(members), tuple(stages), block, row, len(results), element.numbers)


@dataclass(frozen=True)
class _Sources:
    """The tape of a member, and what its inputs are: a row, what comes in every pass, and numbers."""

    element: Tape
    row: int
    widths: Sequence[int]

    @property
    def first_number(self) -> int:
        """The first input that is a number of the member."""
        return self.row + sum(self.widths)

    def comes(self, node: Node) -> int:
        """The pass in which an input comes; -1 for the row and numbers."""
        ends = np.cumsum([self.row, *self.widths])
        index = int(node.number)
        return -1 if index >= self.first_number else int(np.searchsorted(ends, index, side="right")) - 1

    def turns(self, gone: Sequence[Sequence[int]], results: Sequence[int]) -> list[int]:
        """The pass to which every node belongs: the one in which its last operand comes. A node that waits for nothing
        belongs to the first pass that needs it."""
        nodes = self.element.nodes
        found: list[int] = []
        for node in nodes:
            waits = [found[i] for i in arguments(node)]
            found.append(self.comes(node) if node.operation == "input" else max(waits, default=-1))
        asked = [len(self.widths) - 1] * len(nodes)
        for turn, outputs in enumerate(gone):
            for index in outputs:
                asked[index] = min(asked[index], turn)
        for index in reversed(range(len(nodes))):
            if found[index] < 0:
                found[index] = asked[index]
            for i in arguments(nodes[index]):
                asked[i] = min(asked[i], found[index])
        return found

    def kept(self, turns: Sequence[int], gone: Sequence[Sequence[int]]) -> list[int]:
        """The nodes that a later pass asks for."""
        nodes = self.element.nodes
        asked = {i for index, node in enumerate(nodes) for i in arguments(node) if turns[i] < turns[index]}
        asked |= {i for turn, outputs in enumerate(gone) for i in outputs if turns[i] < turn}
        return [i for i in sorted(asked) if not self.at_hand(nodes[i])]

    def at_hand(self, node: Node) -> bool:
        """Whether every pass finds a node: a constant, a number, or one of the row."""
        return node.operation == "const" or (node.operation == "input" and self.comes(node) < 0)

    def stage(self, turn: int, turns: Sequence[int], slots: Mapping[int, int], block: int) -> "_StageTape":
        """The tape of a pass under construction: `slots` are those of a block where nodes are kept."""
        known = {index: slot for index, slot in slots.items() if turns[index] < turn}
        return _StageTape(self, turn, known, block)


class _StageTape:
    """The tape of a pass, from the slots of a block, numbers, and what comes."""

    def __init__(self, sources: _Sources, turn: int, known: Mapping[int, int], block: int) -> None:
        self.sources, self.turn, self.known, self.block = sources, turn, known, block
        self.numbers = sources.element.inputs - sources.first_number
        self.nodes: list[Node] = []
        self.moved = {-1: -1}

    def place(self, index: int) -> int:
        """Where a node is in the new tape."""
        if index not in self.moved:
            node = self._node(index, self.sources.element.nodes[index])
            self.nodes.append(node)
            self.moved[index] = len(self.nodes) - 1
        return self.moved[index]

    def _node(self, index: int, node: Node) -> Node:
        sources = self.sources
        if index in self.known:
            return Node("input", number=self.known[index])
        if node.operation == "const":
            return node
        if node.operation != "input":
            return Node(node.operation, self.place(node.a), self.place(node.b), self.place(node.c), node.number)
        place = int(node.number)
        if place >= sources.first_number:
            return Node("input", number=self.block + place - sources.first_number)
        if place < sources.row:
            return node
        before = sources.row + sum(sources.widths[: self.turn])
        return Node("input", number=self.block + self.numbers + place - before)

    def finish(self, outputs: Sequence[int]) -> Tape:
        """The tape that gives these nodes."""
        width = self.sources.widths[self.turn]
        return Tape(self.nodes, [self.place(i) for i in outputs], self.block + self.numbers + width)


# ---- scans met while a formula is traced -------------------------------------------------------------------


@dataclass(frozen=True)
class PendingTreeScan:
    """A scan met while a formula was traced, and the symbols that stand for the result of every member."""

    members: tuple[Member, ...]
    parents: tuple[int, ...]
    passes: tuple[Pass, ...]
    result: Callable[[Any], Array]
    results: list[Term]

    @property
    def operands(self) -> list[Scalar]:
        """What goes in, member by member."""
        return [x for member in self.members for x in np.asarray(member.row).flat]

    def traced(self) -> TreeScan | OutOfLineCall:
        """The scan with the traced members of each type, traced again where some numbers that go are zero in every
        state. With a loop inside a member, a function that goes from member to member."""
        types = self.types()
        rows = [len(self.members[members[0]].row) for members in types]
        starts = [np.zeros(p.width) if p.start is None else p.start for p in self.passes]
        here = [np.ones(p.width, dtype=bool) for p in self.passes]
        found = [self._tape_of_type(members, here) for members in types]
        if any(tape is None for tape, _ in found):
            sizes = {"given": len(self.operands)}, {"result": len(self.results)}
            return OutOfLineCall(trace(self._by_members, *sizes, name_of(self.members[0].make)))
        here = possibly_nonzero([tape for tape, _ in found if tape], rows, starts)
        if not all(map(np.all, here)):
            found = [self._tape_of_type(members, here) for members in types]
        widths = [int(lives.sum()) for lives in here]
        cuts = [
            split_into_stages(partially_evaluated(tape, row + sum(widths), numbers), members, row, widths)
            for members, row, (tape, numbers) in zip(types, rows, found, strict=True)
            if tape
        ]
        ways = [
            PassSignature(width, tuple(start[lives].tolist()) if p.down else None)
            for p, width, start, lives in zip(self.passes, widths, starts, here, strict=True)
        ]
        return TreeScan(tuple(cuts), self.parents, tuple(ways))

    def _by_members(self, given: Array) -> Array:
        """The results, member by member, of what goes in, member by member."""
        ends = np.cumsum([0, *(len(member.row) for member in self.members)]).tolist()
        rows = [given[a:b] for a, b in itertools.pairwise(ends)]
        members = [member._replace(row=row) for member, row in zip(self.members, rows, strict=True)]
        return np.concatenate(member_by_member(members, self.parents, self.passes, self.result))

    def _tape_of_type(self, members: list[int], possibly_nonzero: list[Array]) -> tuple[Tape | None, Array]:
        """The tape of the members of a type, None with a loop inside, and the numbers (k, c) in which they differ."""
        first, (formula, numbers) = self.members[members[0]], self.formula_of_type(members, possibly_nonzero)
        shapes = {"row": len(first.row), **{f"come{k}": int(here.sum()) for k, here in enumerate(possibly_nonzero)}}
        shapes["numbers"] = numbers.shape[1]
        return tape_inside_loop(formula, shapes, None, name_of(first.make)), numbers

    def types(self) -> list[list[int]]:
        """The members of each type, roots and leaves apart: what comes there is known."""
        found: dict[Hashable, list[int]] = {}
        for i, member in enumerate(self.members):
            place = self.parents[i] == ROOT, i in self.parents
            found.setdefault((member.type_key, place, len(member.row), len(member.numbers)), []).append(i)
        return list(found.values())

    def formula_of_type(
        self, members: Sequence[int], possibly_nonzero: Sequence[Array]
    ) -> tuple[Callable[..., Array], Array]:
        """A formula of all members of a type, and the numbers (k, c) in which they differ. The formula takes (row, what
        comes in every pass, numbers), and gives what goes in every pass and the result, joined. `possibly_nonzero`: the
        numbers between members that are not structural zeros; only these are passed on."""
        numbers = np.stack([self.members[i].numbers for i in members])
        varying = np.flatnonzero([len({x.tobytes() for x in column}) > 1 for column in numbers.T])

        def formula(row: Array, *others: Array) -> Array:
            made = self.members[members[0]].make(row, _filled(numbers[0], varying, others[-1]))
            gone = [
                self._step(p, made, members[0], here, come)
                for p, here, come in zip(self.passes, possibly_nonzero, others[:-1], strict=True)
            ]
            return np.concatenate([*gone, self.result(made)])

        return formula, numbers[:, varying]

    def _step(self, p: Pass, made: Any, i: int, possibly_nonzero: Array, come: Array) -> Array:
        """What goes of what comes in a pass; roots and leaves take known numbers, and what they give is not read."""
        first, last = self.parents[i] == ROOT, i not in self.parents
        if not p.down:
            first, last = last, first
        zero = np.zeros(p.width)
        known = zero if p.start is None else p.start
        goes = p.step(made, known if first else _filled(zero, np.flatnonzero(possibly_nonzero), come))
        return (zero if last else goes)[possibly_nonzero]


def _filled(numbers: Array, varying: Array, own: Array) -> Array:
    """(c,) the numbers, those that vary replaced by a member's own."""
    if not varying.size:
        return numbers
    filled = numbers.astype(object)
    filled[varying] = np.asarray(own)
    return filled.view(SymbolArray)


# ---- the function that formulas call -----------------------------------------------------------------------


def tree_scan(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array],
    sizes: Sequence[int],
) -> list[Array]:  # fmt: skip
    """The (..., m) result of every member after all passes, where m is its size.

    Parents come before their children; `ROOT` is the parent of members without one. On floats, on symbols of SymPy and
    CasADi, and for derivatives, members are evaluated one by one. So they are in kernels where a member has a loop
    inside.
    """
    rows = [member.row for member in members]
    entry = entered(*rows)
    if entry is None:
        return member_by_member(members, parents, passes, result)
    pending, tracer = entry
    results = [symbols_of(tracer, (size,)) for size in sizes]
    given = [x for symbols in results for x in np.asarray(symbols).flat]
    pending.append(PendingTreeScan(tuple(members), tuple(parents), tuple(passes), result, given))
    return [symbols.view(SymbolArray) for symbols in results]
