"""Recursions of which every kind has been traced: cut into passes, played on other numbers, and told apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from myoquat.kernels.cache import digest
from myoquat.kernels.mapped import Element
from myoquat.kernels.packing import Ends
from myoquat.kernels.recursion import ROOT
from myoquat.kernels.tape import Apply, Inner, Node, Tape, arguments, played
from myoquat.kernels.typing import Array

__all__ = ["Kind", "Recursive", "Stage", "Way", "cut"]


class Way(NamedTuple):
    """A pass: how many numbers go from member to member, and what roots take; None for a pass upwards."""

    width: int
    start: tuple[float, ...] | None


@dataclass(frozen=True)
class Stage:
    """What a member does in a pass. The tape takes slots of the member's own block, its numbers and what comes, one after
    the other; it gives slots of the block, by their places, and then what goes."""

    tape: Tape
    places: tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    """What members (k,) of a kind do: a stage for every pass, on a block of so many slots each, the row (n,) first and
    the result (m,) last, and their numbers (k, c)."""

    members: tuple[int, ...]
    stages: tuple[Stage, ...]
    block: int
    row: int
    result: int
    numbers: Array

    def identity(self) -> str:
        parts = [str((self.members, self.block, self.row, self.result, self.numbers.shape)), self.numbers.tobytes()]
        return digest(*parts, *(part for s in self.stages for part in (s.tape.identity(), str(s.places))))


@dataclass(frozen=True)
class Recursive:
    """A recursion: its kinds, the parent of every member, and its passes."""

    kinds: tuple[Kind, ...]
    parents: tuple[int, ...]
    ways: tuple[Way, ...]

    @property
    def ends(self) -> Ends:
        """What it gives and takes."""
        return Ends(*(sum(n * len(kind.members) for n, kind in zip(sizes, self.kinds, strict=True)) for sizes in (
            [kind.result for kind in self.kinds], [kind.row for kind in self.kinds])))  # fmt: skip

    def places(self) -> list[tuple[int, int]]:
        """(kind, number among its members) of every member."""
        found = [(0, 0)] * len(self.parents)
        for k, kind in enumerate(self.kinds):
            for number, member in enumerate(kind.members):
                found[member] = k, number
        return found

    def order(self, way: Way) -> Sequence[int]:
        """The members as a pass comes to them."""
        return range(len(self.parents)) if way.start is not None else range(len(self.parents) - 1, -1, -1)

    def identity(self) -> str:
        """Text that two recursions share only if they write the same code."""
        return digest("recursive", str((self.parents, self.ways)), *(kind.identity() for kind in self.kinds))

    def unrolled(self) -> Inner:
        """The members one after the other."""
        return Inner(self._play, *self.ends)

    def _play(self, apply: Apply, taken: list[Any]) -> list[Any]:
        def number(x: float) -> Any:
            return apply(Node("const", number=x))

        places, rows = self.places(), iter(taken)
        kinds = [self.kinds[k] for k, _ in places]
        blocks = [[*(next(rows) for _ in range(kind.row)), *[None] * (kind.block - kind.row)] for kind in kinds]
        fixed = [[number(x) for x in self.kinds[k].numbers[i].tolist()] for k, i in places]
        for turn, way in enumerate(self.ways):
            gone: list[list[Any]] = [[] for _ in kinds]
            come = [[*map(number, way.start or [0.0] * way.width)] for _ in kinds]
            for i in self.order(way):
                stage, parent = kinds[i].stages[turn], self.parents[i]
                if way.start is not None and parent != ROOT:
                    come[i] = gone[parent]
                given = played(stage.tape, [*blocks[i], *fixed[i], *come[i]], apply)
                for place, value in zip(stage.places, given, strict=False):
                    blocks[i][place] = value
                gone[i] = given[len(stage.places) :]
                if way.start is None and parent != ROOT:
                    come[parent] = [apply(_SUM, a, b) for a, b in zip(come[parent], gone[i], strict=True)]
        return [x for kind, block in zip(kinds, blocks, strict=True) for x in block[kind.block - kind.result :]]


_SUM = Node("add", 0, 1)


def cut(element: Element, members: Sequence[int], row: int, widths: Sequence[int]) -> Kind:
    """The kind of a tape that takes a row, what comes in every pass and numbers, and gives what goes in every pass and
    the result. What waits for nothing that comes is computed in the first pass that asks for it, from the row; all else
    as soon as it can be, and kept for later passes."""
    sources = _Sources(element.tape, row, widths)
    ends = np.cumsum([0, *widths]).tolist()
    gone = [element.tape.outputs[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    results = element.tape.outputs[ends[-1] :]
    turns = sources.turns(gone, results)
    kept = sources.kept(turns, gone)
    first = row + len(kept)
    places = {node: row + j for j, node in enumerate(kept)}
    stages = []
    for turn, outputs in enumerate(gone):
        own = [node for node in kept if turns[node] == turn]
        last = [(first + j, node) for j, node in enumerate(results) if turns[node] == turn]
        given = [*own, *(node for _, node in last), *outputs]
        tape = sources.tape(turn, turns, places, first + len(results), given)
        stages.append(Stage(tape, (*(places[node] for node in own), *(place for place, _ in last))))
    return Kind(tuple(members), tuple(stages), first + len(results), row, len(results), element.numbers)


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
        """The pass to which every node belongs."""
        nodes = self.element.nodes
        found = [-1] * len(nodes)
        for index, node in enumerate(nodes):
            if node.operation == "input":
                found[index] = self.comes(node)
            else:
                found[index] = max((found[i] for i in arguments(node)), default=-1)
        wanted = [len(self.widths) - 1] * len(nodes)  # of a node that waits for nothing: the first pass that asks for it
        for turn, outputs in enumerate(gone):
            for index in outputs:
                wanted[index] = min(wanted[index], turn)
        for index in reversed(range(len(nodes))):
            if found[index] < 0:
                found[index] = wanted[index]
            for i in arguments(nodes[index]):
                wanted[i] = min(wanted[i], found[index])
        return found

    def kept(self, turns: Sequence[int], gone: Sequence[Sequence[int]]) -> list[int]:
        """The nodes that a later pass asks for."""
        nodes = self.element.nodes
        asked = {i for index, node in enumerate(nodes) for i in arguments(node) if turns[i] < turns[index]}
        asked |= {i for turn, outputs in enumerate(gone) for i in outputs if turns[i] < turn}
        return [i for i in sorted(asked) if not self._at_hand(nodes[i])]

    def _at_hand(self, node: Node) -> bool:
        """Whether every pass finds a node: a constant, a number, or one of the row."""
        return node.operation == "const" or (node.operation == "input" and self.comes(node) < 0)

    def tape(
        self, turn: int, turns: Sequence[int], places: dict[int, int], block: int, outputs: Sequence[int]
    ) -> Tape:
        """What a pass computes, from the slots of a block, numbers, and what comes."""
        numbers = self.element.inputs - self.first_number
        before = self.row + sum(self.widths[:turn])
        nodes: list[Node] = []
        moved = {-1: -1}

        def place(index: int) -> int:
            if index in moved:
                return moved[index]
            node = self.element.nodes[index]
            if index in places and turns[index] < turn:
                node = Node("input", number=places[index])
            elif node.operation == "input":
                source, shift = self.comes(node), int(node.number)
                if shift >= self.first_number:
                    node = node._replace(number=block + shift - self.first_number)
                elif source >= 0:
                    node = node._replace(number=block + numbers + shift - before)
            elif node.operation != "const":
                node = Node(node.operation, place(node.a), place(node.b), place(node.c), node.number)
            nodes.append(node)
            moved[index] = len(nodes) - 1
            return moved[index]

        for index, node in enumerate(self.element.nodes):
            if turns[index] == turn and not self._at_hand(node):
                place(index)
        return Tape(nodes, [place(index) for index in outputs], block + numbers + self.widths[turn])
