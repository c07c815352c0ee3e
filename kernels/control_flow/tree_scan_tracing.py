"""Scans over a tree met while a formula is traced: the formulas of their members, and what of these is traced."""

import itertools
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.control_flow.map_rows import partially_evaluated
from myoquat.kernels.control_flow.out_of_line_call import OutOfLineCall
from myoquat.kernels.control_flow.structural_zeros import possibly_nonzero
from myoquat.kernels.control_flow.traced_tree_scan import PassSignature, TreeScan
from myoquat.kernels.control_flow.tree_scan_members import ROOT, Member, Pass, member_by_member
from myoquat.kernels.control_flow.tree_scan_stages import split_into_stages
from myoquat.kernels.symbolic.arrays import SymbolArray
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.tape import Tape
from myoquat.kernels.tracing.trace import name_of, tape_inside_loop, trace

__all__ = ["PendingTreeScan"]


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

    def pruned(self, live: Set[Term]) -> "PendingTreeScan | None":
        """The scan, if one of its results is among the terms that are needed."""
        return None if live.isdisjoint(self.results) else self

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
