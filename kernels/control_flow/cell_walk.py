"""Many small formulas on one array of cells, in the order of a list: recursions whose code does not grow with them.

`cell_walk` takes an array of cells, types of visits, each with a formula, and the order in which runs of visits are
made. A visit reads some cells and writes others, whose first ones a table gives; later visits read what earlier ones
wrote. While a kernel is traced the visits are not unrolled. The kernel holds the formula of every type once, in a loop
over its table, on cells that stay where they are.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core.content import digest
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import SymbolArray, symbols_of
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.context import entered
from myoquat.kernels.tracing.tape import Apply, Ends, Inner, Node, OfLoop, Tape, interpret
from myoquat.kernels.tracing.trace import name_of, tape_inside_loop

__all__ = [
    "Block",
    "CellWalk",
    "Run",
    "TracedVisit",
    "VisitTable",
    "VisitType",
    "Visits",
    "cell_walk",
]


class Block(NamedTuple):
    """Cells of every visit of a type: the first one (k,), and how far the others lie behind it (m,)."""

    first: Array
    behind: Array

    def cells(self, visit: int) -> Array:
        """(m,) those of a visit."""
        found: Array = self.first[visit] + self.behind
        return found


class VisitType(NamedTuple):
    """formula(what each block of `takes` holds (m,), in order) -> (n,) what those of `gives` hold afterwards, one after
    the other. Only the first block of `gives` may be one that is read."""

    formula: Callable[..., Array]
    takes: tuple[Block, ...]
    gives: tuple[Block, ...]


class Run(NamedTuple):
    """Visits first ... last - 1 of a type."""

    visit_type: int
    first: int
    last: int


class VisitTable:
    """The visits of a type while they are collected. It has their formula and, for each block that it takes or gives,
    the offsets of its cells from the first one. Of every visit it has the first cells of these blocks."""

    def __init__(self, formula: Callable[..., Array], takes: Sequence[Array], gives: Sequence[Array]) -> None:
        self.formula, self.takes, self.gives = formula, takes, gives
        self.firsts: list[tuple[int, ...]] = []

    def visit_type(self) -> VisitType:
        """The type."""
        firsts = np.array(self.firsts, dtype=np.int64).T
        blocks = [Block(first, behind) for first, behind in zip(firsts, [*self.takes, *self.gives], strict=True)]
        return VisitType(self.formula, tuple(blocks[: len(self.takes)]), tuple(blocks[len(self.takes) :]))


class Visits:
    """The visits of a walk in their order while they are collected; `tables` has those of every type by a key."""

    def __init__(self) -> None:
        self.tables: dict[Hashable, VisitTable] = {}
        self._order: list[Run] = []

    def add(self, key: Hashable, rows: Sequence[tuple[int, ...]]) -> None:
        """Visits of a type next, by the first cells of their blocks."""
        firsts, visit_type = self.tables[key].firsts, list(self.tables).index(key)
        before = self._order[-1] if self._order else None
        if before is not None and before.visit_type == visit_type:
            self._order[-1] = before._replace(last=before.last + len(rows))
        else:
            self._order.append(Run(visit_type, len(firsts), len(firsts) + len(rows)))
        firsts += rows

    def walked(self, cells: Sequence[Any], size: int) -> Array:
        """(size,) what the first cells hold after all visits, by `cell_walk`. Those that a visit writes before any
        reads them are None."""
        flat = np.empty(len(cells), dtype=object)
        flat[:] = cells
        types = [table.visit_type() for table in self.tables.values()]
        written = [(block.first[:, None] + block.behind).ravel() for one in types for block in one.gives]
        entries = np.concatenate(written) if written else np.arange(0)
        flat[entries[entries < size]] = None
        return cell_walk(flat, types, self._order, size)


def cell_walk(cells: Array, types: Sequence[VisitType], order: Sequence[Run], size: int) -> Array:
    """(size,) what the first cells hold after all visits. cells (n,): floats and symbols at the start, None where a
    visit writes before any reads.

    Beside floats and symbols of SymPy and CasADi, derivatives too see every visit by itself."""
    flat = np.asarray(cells)
    known = [i for i, x in enumerate(flat) if x is not None]
    entry = entered(flat[known])
    if entry is None:
        return _one_by_one(flat.copy(), types, order)[:size].view(SymbolArray)
    pending, tracer = entry
    result, walk = symbols_of(tracer, (size,)), (tuple(types), tuple(order))
    pending.append(PendingWalk(flat, known, *walk, list(np.asarray(result).flat)))
    return result


def _one_by_one(cells: Array, types: Sequence[VisitType], order: Sequence[Run]) -> Array:
    """The cells after all visits."""
    for run in order:
        formula, takes, gives = types[run.visit_type]
        for visit in range(run.first, run.last):
            given = formula(*(cells[block.cells(visit)].view(SymbolArray) for block in takes))
            cells[np.concatenate([block.cells(visit) for block in gives])] = np.asarray(given)
    return cells


@dataclass(frozen=True)
class PendingWalk:
    """A walk met while a formula was traced: its cells, those known at the start, and the symbols that stand for the
    result."""

    cells: Array
    known: list[int]
    types: tuple[VisitType, ...]
    order: tuple[Run, ...]
    results: list[Term]

    @property
    def operands(self) -> list[Scalar]:
        """What goes in."""
        return list(self.cells[[i for i in self.known if i not in self._fixed]])

    @functools.cached_property
    def _fixed(self) -> dict[int, float]:
        """Cells of the result that are numbers at the start."""
        return {i: self.cells[i] for i in self.known if i < len(self.results) and isinstance(self.cells[i], float)}

    def traced(self) -> "CellWalk":
        """The walk with the formula of each type traced. TypeError for one with a loop inside."""
        visits = tuple(
            TracedVisit(self._tape(visit_type), visit_type.takes, visit_type.gives) for visit_type in self.types
        )
        known = tuple(i for i in self.known if i not in self._fixed)
        fixed = tuple(self._fixed.items())
        return CellWalk(visits, self.order, len(self.cells), known, fixed, len(self.results))

    def _tape(self, visit_type: VisitType) -> Tape:
        shapes = {f"block{k}": len(block.behind) for k, block in enumerate(visit_type.takes)}
        tape = tape_inside_loop(visit_type.formula, shapes, None, name_of(visit_type.formula))
        if tape is None:
            raise TypeError(f"{name_of(visit_type.formula)}: a loop inside a visit to cells is not supported")
        return tape


@dataclass(frozen=True)
class TracedVisit:
    """A type of visits: the tape of its formula, and the blocks that it takes and gives."""

    tape: Tape
    takes: tuple[Block, ...]
    gives: tuple[Block, ...]

    def identity(self) -> str:
        """Text that two types share only if they do the same to the same cells."""
        parts = [part.tobytes() for block in (*self.takes, *self.gives) for part in block]
        return digest(self.tape.identity(), str((len(self.takes), len(self.gives))), *parts)


@dataclass(frozen=True)
class CellWalk:
    """A walk over so many cells: its types of visits and their order, and which cells are known at the start.

    fixed: cells of the result that are constants at the start. size: how many of the first cells are the result."""

    types: tuple[TracedVisit, ...]
    order: tuple[Run, ...]
    cells: int
    known: tuple[int, ...]
    fixed: tuple[tuple[int, float], ...]
    size: int
    has_solver: ClassVar[bool] = False
    multi_block: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        return Ends(self.size, len(self.known))

    def visits(self, visit_type: int) -> int:
        """How many visits of a type there are."""
        return sum(run.last - run.first for run in self.order if run.visit_type == visit_type)

    def identity(self) -> str:
        """Text that two walks share only if they write the same code."""
        sizes = str((self.order, self.cells, self.size, self.fixed))
        known = np.array(self.known, dtype=np.int64).tobytes()
        return digest("cell walk", sizes, known, *(visit_type.identity() for visit_type in self.types))

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The visits one after the other."""
        return Inner(self._play, *self.ends)

    def _play(self, apply: Apply, operands: list[Any]) -> list[Any]:
        zero = apply(Node("const", number=0.0))
        cells = [zero] * self.cells
        for place, value in zip(self.known, operands, strict=True):
            cells[place] = value
        for place, number in self.fixed:
            cells[place] = apply(Node("const", number=number))
        for run in self.order:
            visit_type = self.types[run.visit_type]
            for visit in range(run.first, run.last):
                read = [cells[i] for block in visit_type.takes for i in block.cells(visit)]
                written = [int(i) for block in visit_type.gives for i in block.cells(visit)]
                for place, value in zip(written, interpret(visit_type.tape, read, apply), strict=True):
                    cells[place] = value
        return cells[: self.size]
