"""Recursions of which every kind has been traced: told apart, and played on other numbers."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from myoquat.core.digests import digest
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
    after the other; it gives slots of the block, by their places, and then what goes."""

    tape: Tape
    places: tuple[int, ...]


@dataclass(frozen=True)
class MemberType:
    """What members (k,) of a kind do: a stage for every pass, on a block of so many slots each, the row (n,) first and
    the result (m,) last, and their numbers (k, c)."""

    members: tuple[int, ...]
    stages: tuple[Stage, ...]
    block: int
    row: int
    result: int
    numbers: Array

    def identity(self) -> str:
        sizes = str((self.members, self.block, self.row, self.result, self.numbers.shape))
        stages = [part for stage in self.stages for part in (stage.tape.identity(), str(stage.places))]
        return digest(sizes, self.numbers.tobytes(), *stages)


@dataclass(frozen=True)
class TreeScan:
    """A recursion: its kinds, the parent of every member, and its passes."""

    kinds: tuple[MemberType, ...]
    parents: tuple[int, ...]
    ways: tuple[PassSignature, ...]
    has_solver: ClassVar[bool] = False
    multi_block: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """What it gives and takes."""
        gives = sum(kind.result * len(kind.members) for kind in self.kinds)
        return Ends(gives, sum(kind.row * len(kind.members) for kind in self.kinds))

    def places(self) -> list[tuple[int, int]]:
        """(kind, number among its members) of every member."""
        found = [(0, 0)] * len(self.parents)
        for k, kind in enumerate(self.kinds):
            for number, member in enumerate(kind.members):
                found[member] = k, number
        return found

    def order(self, way: PassSignature) -> Sequence[int]:
        """The members as a pass comes to them."""
        return range(len(self.parents)) if way.start is not None else range(len(self.parents) - 1, -1, -1)

    def identity(self) -> str:
        """Text that two recursions share only if they write the same code."""
        return digest("recursive", str((self.parents, self.ways)), *(kind.identity() for kind in self.kinds))

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The members one after the other."""
        return Inner(self._play, *self.ends)

    def _play(self, apply: Apply, taken: list[Any]) -> list[Any]:
        rows, kinds = iter(taken), [self.kinds[k] for k, _ in self.places()]
        blocks = [[*itertools.islice(rows, kind.row), *[None] * (kind.block - kind.row)] for kind in kinds]
        for turn in range(len(self.ways)):
            self._pass(apply, turn, blocks)
        return [x for kind, block in zip(kinds, blocks, strict=True) for x in block[kind.block - kind.result :]]

    def _pass(self, apply: Apply, turn: int, blocks: list[list[Any]]) -> None:
        """A pass over the blocks of all members."""
        way, places = self.ways[turn], self.places()
        start = [apply(Node("const", number=x)) for x in way.start or [0.0] * way.width]
        come: list[list[Any]] = [start for _ in places]
        gone: list[list[Any]] = [[] for _ in places]
        for i in self.order(way):
            kind, number = self.kinds[places[i][0]], places[i][1]
            stage, parent = kind.stages[turn], self.parents[i]
            if way.start is not None and parent != ROOT:
                come[i] = gone[parent]
            fixed = [apply(Node("const", number=x)) for x in kind.numbers[number].tolist()]
            given = interpret(stage.tape, [*blocks[i], *fixed, *come[i]], apply)
            for place, value in zip(stage.places, given, strict=False):
                blocks[i][place] = value
            gone[i] = given[len(stage.places) :]
            if way.start is None and parent != ROOT:
                come[parent] = [apply(_SUM, a, b) for a, b in zip(come[parent], gone[i], strict=True)]


_SUM = Node("add", 0, 1)
