"""Scans over a tree whose member types have been traced: their identity, and their evaluation on other numbers."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from myoquat.core.content import digest
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.tree_scan_members import ROOT
from myoquat.kernels.tracing.tape import Apply, Ends, Inner, Node, Tape, interpret
from myoquat.kernels.tracing.traced import OfLoop

__all__ = ["MemberType", "PassSignature", "Stage", "TreeScan"]


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
