"""What a member of a scan over a tree does, cut into the stages of its passes."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.kernels.control_flow.map_rows import RowMap
from myoquat.kernels.control_flow.traced_tree_scan import MemberType, Stage
from myoquat.kernels.tracing.tape import Node, Tape, arguments

__all__ = ["split_into_stages"]


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
