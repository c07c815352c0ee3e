"""Scans over a tree inside a formula: one function for every type of its members, in loops over tables of numbers.

`tree_scan` runs passes down and up a tree: downwards a member takes what its parent gives, upwards the sum of what its
children give. While a kernel is traced the members are not unrolled. The code of a member of each type is traced once,
with the numbers in which the members differ as further inputs, and cut into the stages of the passes. The stages are
the rows of a loop over tables (`control_flow.table_loop`). A number that is the same in all members of a type is a
constant of their code.
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.table_loop import Block, TableLoop, TracedRows, in_runs, partially_evaluated
from myoquat.kernels.symbolic.arrays import SymbolArray, symbols_of
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.context import entered
from myoquat.kernels.tracing.tape import Node, Tape, arguments
from myoquat.kernels.tracing.trace import name_of, tape_inside_loop, trace

__all__ = ["ROOT", "Member", "Pass", "member_by_member", "tree_scan"]


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


# ---- Which numbers that go from member to member of a scan are zero in every state, whatever the rows are ------


def _possibly_nonzero(tapes: Sequence[Tape], row: Sequence[int], starts: Sequence[Array]) -> list[Array]:
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


# ---- What a member does, cut into the stages of the passes ---------------------------------------------------------


class _Cells(NamedTuple):
    """The first cells of every member: its result, its row, what it keeps from pass to pass, and what goes on from it
    to its children or comes from them. Behind the last row are the zeros with which sums begin. parents: -1 for a root.
    """

    result: Array
    row: Array
    kept: Array
    passed: Array
    parents: Array


class _Stages:
    """The members of a type (k,), with their numbers (k, c) and the tape of what they do, cut into a stage for every
    pass. The tape takes a row, what comes in every pass, and numbers. It gives what goes in every pass, and the result.

    A node that needs nothing of what comes is computed in the first pass that needs it. All others are computed as
    early as possible, and kept for later passes.
    """

    def __init__(self, members: Sequence[int], tape: Tape, numbers: Array, row: int, widths: Sequence[int]) -> None:
        self.members, self.tape, self.row_numbers = np.array(members), tape, numbers
        at = {int(node.number): index for index, node in enumerate(tape.nodes) if node.operation == "input"}
        inputs = [at.get(k, -1) for k in range(tape.inputs)]
        self.row, *self.come, self.numbers = (part.tolist() for part in np.split(inputs, np.cumsum([row, *widths])))
        *self.gone, self.results = (part.tolist() for part in np.split(tape.outputs, np.cumsum(widths)))
        self.turns = turns = self._turns()
        asked = {i for k, node in enumerate(tape.nodes) for i in arguments(node) if turns[i] < turns[k]}
        asked |= {i for turn, outputs in enumerate(self.gone) for i in outputs if turns[i] < turn}
        at_hand = {*self.row, *self.numbers, *(k for k, node in enumerate(tape.nodes) if node.operation == "const")}
        self.kept = sorted(asked - at_hand, key=lambda i: (turns[i], i))

    def _turns(self) -> list[int]:
        """The pass in which every node is computed."""
        nodes, comes = self.tape.nodes, {i: turn for turn, inputs in enumerate(self.come) for i in inputs}
        found: list[int] = []
        for index, node in enumerate(nodes):
            found.append(comes.get(index, max((found[i] for i in arguments(node)), default=-1)))
        asked = [len(self.gone) - 1] * len(nodes)
        for turn, outputs in enumerate(self.gone):
            for i in outputs:
                asked[i] = min(asked[i], turn)
        for index in reversed(range(len(nodes))):
            if found[index] < 0:
                found[index] = asked[index]
            for i in arguments(nodes[index]):
                asked[i] = min(asked[i], found[index])
        return found

    def rows(self, turn: int, down: bool, cells: _Cells) -> TracedRows:
        """The rows of a pass, in its order. A sum begins with zeros at the last child of a parent."""
        here = self.members if down else self.members[::-1]
        above = cells.parents[here]
        root, leaf = above[0] == ROOT, here[0] not in cells.parents
        own, of_parent = cells.passed[here], cells.passed[above]
        come, gone = (of_parent, own) if down else (own, of_parent)
        last = np.isin(here, list({parent: i for i, parent in enumerate(cells.parents.tolist())}.values()))
        known, then = (sum(self.turns[i] < later for i in self.kept) for later in (turn, turn + 1))
        now = [k for k, i in enumerate(self.results) if self.turns[i] == turn]
        outputs = [*self.kept[known:then], *(self.results[k] for k in now)]
        takes = [(cells.row[here], self.row), (cells.kept[here], self.kept[:known])]
        gives = [Block(cells.kept[here], np.arange(known, then)), Block(cells.result[here], np.array(now, dtype=int))]
        width = np.arange(len(self.gone[turn]))
        if not (root if down else leaf):
            takes.append((come, self.come[turn]))
        inputs, sums = [i for _, own in takes for i in own], list[int]()
        if not (leaf if down else root):
            outputs += self.gone[turn]
            gives.append(Block(gone, width))
            if not (down or last.all()):
                sums = [len(inputs) + k for k in range(len(width))]
                takes.append((np.where(last, cells.row[-1], gone), [-1] * len(width)))
        tape = _cut(self.tape, [*inputs, *[-1] * len(sums), *self.numbers], outputs)
        blocks = tuple(Block(first, np.arange(len(own))) for first, own in takes)
        return TracedRows(_added(tape, sums), self.row_numbers[:: 1 if down else -1], blocks, tuple(gives))


def _added(tape: Tape, inputs: Sequence[int]) -> Tape:
    """A tape whose last outputs are added to inputs."""
    nodes, outputs = list(tape.nodes), tape.outputs[: len(tape.outputs) - len(inputs)]
    for number, index in zip(inputs, tape.outputs[len(outputs) :], strict=True):
        nodes += [Node("input", number=number), Node("add", len(nodes), index)]
        outputs.append(len(nodes) - 1)
    return Tape(nodes, outputs, tape.inputs)


def _cut(tape: Tape, inputs: Sequence[int], outputs: Sequence[int]) -> Tape:
    """The part of a tape from some of its nodes, which become inputs, to others."""
    at = {index: k for k, index in enumerate(inputs)}
    needed, waiting = set[int](), list(outputs)
    while waiting:
        index = waiting.pop()
        if index not in needed:
            needed.add(index)
            waiting += () if index in at else arguments(tape.nodes[index])
    moved, nodes = {-1: -1}, list[Node]()
    for index in sorted(needed):
        operation, a, b, c, number = tape.nodes[index]
        moved[index] = len(nodes)
        nodes.append(
            Node("input", number=at[index]) if index in at else Node(operation, moved[a], moved[b], moved[c], number)
        )
    return Tape(nodes, [moved[i] for i in outputs], len(inputs))


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
        """What goes in, member by member, and zeros for sums to begin with."""
        zeros = max((p.width for p in self.passes if not p.down), default=0) * self._branches
        return [*(x for member in self.members for x in np.asarray(member.row).flat), *[0.0] * zeros]

    @property
    def _branches(self) -> bool:
        """Whether a member has several children."""
        carrying = [parent for parent in self.parents if parent != ROOT]
        return len(set(carrying)) < len(carrying)

    def traced(self) -> TableLoop | OutOfLineCall:
        """The scan as a loop, with the traced members of each type, traced again where some numbers that go are zero in
        every state. With a loop inside a member, a function that goes from member to member."""
        types = self.types()
        rows = [len(self.members[members[0]].row) for members in types]
        starts = [np.zeros(p.width) if p.start is None else p.start for p in self.passes]
        here = [np.ones(p.width, dtype=bool) for p in self.passes]
        found = [self._tape_of_type(members, here) for members in types]
        if any(tape is None for tape, _ in found):
            sizes = {"given": len(self.operands)}, {"result": len(self.results)}
            return OutOfLineCall(trace(self._by_members, *sizes, name_of(self.members[0].make)))
        here = _possibly_nonzero([tape for tape, _ in found if tape], rows, starts)
        if not all(map(np.all, here)):
            found = [self._tape_of_type(members, here) for members in types]
        widths = [int(lives.sum()) for lives in here]
        stages = [
            _Stages(members, *partially_evaluated(tape, numbers), row, widths)
            for members, row, (tape, numbers) in zip(types, rows, found, strict=True)
            if tape
        ]
        return self._loop(stages, max(widths))

    def _loop(self, types: list[_Stages], width: int) -> TableLoop:
        """The loop over the stages of all members. The first cells hold the results, and the next what goes in."""
        members, size, given = range(len(self.members)), len(self.results), len(self.operands)
        place = {int(i): (k, n) for k, own in enumerate(types) for n, i in enumerate(own.members)}
        of = [types[place[i][0]] for i in members]

        def laid(first: int, lengths: Sequence[int]) -> Array:
            return first + np.cumsum([0, *lengths])

        kept = laid(size + given, [len(own.kept) for own in of])
        cells = _Cells(
            laid(0, [len(own.results) for own in of]),
            laid(size, [len(own.row) for own in of]),
            kept,
            laid(int(kept[-1]), [width] * len(of)),
            np.array(self.parents),
        )
        rows, order = list[TracedRows](), list[tuple[int, int]]()
        for turn, p in enumerate(self.passes):
            rows += [own.rows(turn, p.down, cells) for own in types]
            for i in members if p.down else reversed(members):
                k, n = place[i]
                order.append((turn * len(types) + k, n if p.down else len(types[k].members) - 1 - n))
        known = tuple(range(size, size + given))
        return TableLoop(tuple(rows), in_runs(order), int(cells.passed[-1]), known, tuple(range(size)))

    def _by_members(self, given: Array) -> Array:
        """The results, member by member, of what goes in, member by member."""
        ends = np.cumsum([0, *(len(member.row) for member in self.members)]).tolist()
        rows = [given[a:b] for a, b in itertools.pairwise(ends)]
        members = [member._replace(row=row) for member, row in zip(self.members, rows, strict=True)]
        return np.concatenate(member_by_member(members, self.parents, self.passes, self.result))

    def _tape_of_type(self, members: list[int], here: list[Array]) -> tuple[Tape | None, Array]:
        """The tape of the members of a type, None with a loop inside, and the numbers (k, c) in which they differ."""
        first, (formula, numbers) = self.members[members[0]], self.formula_of_type(members, here)
        shapes = {"row": len(first.row), **{f"come{k}": int(lives.sum()) for k, lives in enumerate(here)}}
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
