"""Recursions over a tree inside a formula: one function for every kind of its members, in loops over tables of numbers.

`recursion` runs passes down and up a tree: downwards a member takes what its parent gives, upwards the sum of what its
children give. While a kernel is traced the members are not unrolled: what a member of each kind does is traced once,
with the numbers in which the members differ as further inputs, and the kernel holds it once for every pass. A number
that is the same in all members of a kind is a constant of their code.
"""

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.control_flow.map_rows import differentiated
from myoquat.kernels.control_flow.while_loop import gathering
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, symbols_of
from myoquat.kernels.symbolic.elements import is_term, is_traced
from myoquat.kernels.symbolic.terms import Recording, Scalar, Term

__all__ = ["ROOT", "Member", "Pass", "PendingRecursion", "looped", "recursion"]

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
    """What stands at one place of the tree: make(row, numbers) is what the steps of the passes are called with, of
    numbers that may depend on the state, row (..., n), and others that do not, numbers (c,). Members of an equal `kind`
    are made by the same formula, which knows nothing else that differs between them."""

    kind: Hashable
    make: Callable[[Array, Array], Any]
    row: Array
    numbers: Array


@dataclass(frozen=True)
class PendingRecursion:
    """A recursion met while a formula was traced, and the symbols that stand for the result of every member."""

    members: tuple[Member, ...]
    parents: tuple[int, ...]
    passes: tuple[Pass, ...]
    result: Callable[[Any], Array]
    given: list[Term]

    @property
    def taken(self) -> list[Scalar]:
        """What goes in, member by member."""
        return [x for member in self.members for x in np.asarray(member.row).flat]

    def kept(self, live: Set[Term]) -> "PendingRecursion | None":
        """The recursion, if one of its results is among the terms that are needed."""
        return None if live.isdisjoint(self.given) else self

    def kinds(self) -> list[list[int]]:
        """The members of each kind, roots and leaves apart: what comes there is known."""
        found: dict[Hashable, list[int]] = {}
        for i, member in enumerate(self.members):
            place = self.parents[i] == ROOT, i in self.parents
            found.setdefault((member.kind, place, len(member.row), len(member.numbers)), []).append(i)
        return list(found.values())

    def kind(self, members: Sequence[int], alive: Sequence[Array]) -> tuple[Callable[..., Array], Array]:
        """What the members of a kind do, a formula (row, what comes in every pass, numbers) -> what goes in every pass
        and the result, joined; and the numbers (k, c) in which they differ. alive: which of the numbers that go from
        member to member are not zero, and so are there."""
        numbers = np.stack([self.members[i].numbers for i in members])
        varying = np.flatnonzero([len({x.tobytes() for x in column}) > 1 for column in numbers.T])

        def formula(row: Array, *others: Array) -> Array:
            made = self.members[members[0]].make(row, _filled(numbers[0], varying, others[-1]))
            gone = [
                self._step(p, made, members[0], here, come)
                for p, here, come in zip(self.passes, alive, others[:-1], strict=True)
            ]
            return np.concatenate([*gone, self.result(made)])

        return formula, numbers[:, varying]

    def _step(self, p: Pass, made: Any, i: int, alive: Array, come: Array) -> Array:
        """What goes of what comes in a pass, at a root or a leaf of what is known to come there, and for nobody."""
        first, last = self.parents[i] == ROOT, i not in self.parents
        if not p.down:
            first, last = last, first
        zero = np.zeros(p.width)
        known = zero if p.start is None else p.start
        goes = p.step(made, known if first else _filled(zero, np.flatnonzero(alive), come))
        return (zero if last else goes)[alive]


def recursion(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array],
    sizes: Sequence[int],
) -> list[Array]:  # fmt: skip
    """The (..., m) result of every member after all passes, m its size; parents come before their children, `ROOT`
    stands for none.

    Beside floats and symbols of SymPy and CasADi, derivatives too see every member by itself.
    """
    rows = [member.row for member in members]
    pending, recording = gathering.get(), _recording_of(rows)
    if pending is None or recording is None or not looped(rows):
        return _written_out(members, parents, passes, result)
    results = [symbols_of(recording, (size,)) for size in sizes]
    given = [x for symbols in results for x in np.asarray(symbols).flat]
    pending.append(PendingRecursion(tuple(members), tuple(parents), tuple(passes), result, given))
    return [symbols.view(SymbolArray) for symbols in results]


def looped(rows: Sequence[Array]) -> bool:
    """Whether a recursion over such rows becomes loops: in a kernel that is traced, and not differentiated."""
    return gathering.get() is not None and not differentiated.get() and _recording_of(rows) is not None


def _recording_of(rows: Sequence[Array]) -> Recording | None:
    """The tracing to which all symbols among the rows belong, None if there are none or others."""
    flat = [x for row in rows if is_symbolic(row) for x in np.asarray(row).flat]
    if not all(map(is_traced, flat)):
        return None
    return next((x.recording for x in flat if is_term(x)), None)


def _written_out(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array]
) -> list[Array]:
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


def _filled(numbers: Array, varying: Array, own: Array) -> Array:
    """(c,) the numbers, those that vary replaced by a member's own."""
    if not varying.size:
        return numbers
    filled = numbers.astype(object)
    filled[varying] = np.asarray(own)
    return filled.view(SymbolArray)
