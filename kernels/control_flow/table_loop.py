"""Formulas on the rows of tables, one row after the other: maps and recursions whose code does not grow with them.

A loop acts on an array of cells. A row of a type takes the numbers of some cells and numbers of its own, and its
formula gives those of others. The first cells of its blocks stand in a table. Rows run in an order that is given, so
that a row may take what an earlier one gave. While a kernel is traced the rows are not unrolled. The kernel holds the
formula of every type once, in a loop over its table, on cells that stay where they are.

`map_rows` is the loop of one type whose rows depend on each other in nothing. `over_rows` is one of records, which also
sums over rows, and one call on arrays of numbers. `Rows` collects the rows of others, such as passes over a tree.
"""

import math
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, digest, frozen
from myoquat.kernels.symbolic.arrays import SymbolArray, symbols_of
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.symbolic.records import Structure, arrays_of, flattened, numbers_of, structure_of
from myoquat.kernels.symbolic.terms import Term, number_of
from myoquat.kernels.tracing.context import entered, unrolled_constructs
from myoquat.kernels.tracing.tape import Apply, Ends, Node, OfLoop, PlacedConstruct, Tape, arguments, interpret
from myoquat.kernels.tracing.trace import name_of, trace

from .out_of_line_call import OutOfLineCall, out_of_line_call


class Block(NamedTuple):
    """Cells of every row of a type: the first one (k,), and how far the others lie behind it (m,)."""

    first: Array
    behind: Array

    @property
    def cells(self) -> Array:
        """(k, m)."""
        found: Array = self.first[:, None] + self.behind
        return found


class RowType(NamedTuple):
    """formula(what each block of `takes` holds (m,), in order) -> (n,) what those of `gives` hold afterwards, one after
    the other. With `numbers` (k, c), it takes those of the row (c,) last. `added`: of each block of `gives`, whether
    what it gives is added to what the block holds."""

    formula: Callable[..., Array]
    takes: tuple[Block, ...]
    gives: tuple[Block, ...]
    numbers: Array | None = None
    added: tuple[bool, ...] = ()

    @property
    def widths(self) -> list[int]:
        """How many numbers each argument of the formula has."""
        own = [] if self.numbers is None else [self.numbers.shape[1]]
        return [*(len(block.behind) for block in self.takes), *own]


class Run(NamedTuple):
    """Rows first ... last - 1 of a type, by its number."""

    row_type: int
    first: int
    last: int


def in_runs(rows: Sequence[tuple[int, int]]) -> tuple[Run, ...]:
    """Rows, each as (number of its type, its own number), in runs of neighbours."""
    found: list[Run] = []
    for row_type, row in rows:
        if found and found[-1].row_type == row_type and found[-1].last == row:
            found[-1] = found[-1]._replace(last=row + 1)
        else:
            found.append(Run(row_type, row, row + 1))
    return tuple(found)


class Rows:
    """The rows of a loop while they are collected in their order. `types` has, by a key, the formula of a type with the
    offsets of the cells from the first one, for each block that it takes or gives."""

    def __init__(self) -> None:
        self.types: dict[Hashable, tuple[Callable[..., Array], Sequence[Array], Sequence[Array]]] = {}
        self._rows: dict[Hashable, list[tuple[tuple[int, ...], Array | None]]] = {}
        self._order: list[tuple[int, int]] = []

    def add(self, key: Hashable, firsts: tuple[int, ...], numbers: Array | None = None) -> None:
        """A row of a type next, by the first cells of its blocks, with its numbers (c,), if the formula takes them."""
        own = self._rows.setdefault(key, [])
        self._order.append((list(self.types).index(key), len(own)))
        own.append((firsts, numbers))

    def looped(self, cells: Sequence[Any], size: int) -> Array:
        """(size,) what the first cells hold after all rows, by `table_loop`. Those that a row gives before any takes
        them are None."""
        flat, types = np.empty(len(cells), dtype=object), []
        flat[:] = cells
        for key, (formula, takes, gives) in self.types.items():
            firsts, numbers = zip(*self._rows[key], strict=True)
            starts = np.array(firsts, dtype=np.int64).T
            blocks = [Block(first, behind) for first, behind in zip(starts, [*takes, *gives], strict=True)]
            own = (formula, None) if numbers[0] is None else _of_varying(formula, np.stack(numbers))
            types.append(RowType(own[0], tuple(blocks[: len(takes)]), tuple(blocks[len(takes) :]), own[1]))
            for block in blocks[len(takes) :]:
                flat[block.cells[block.cells < size]] = None
        return table_loop(flat, types, in_runs(self._order), size)


def _of_varying(formula: Callable[..., Array], numbers: Array) -> tuple[Callable[..., Array], Array]:
    """A formula that takes those of the numbers (k, c) of all rows that vary, and these: it is traced with the others,
    whose zeros are structural."""
    varying = np.flatnonzero([len({x.tobytes() for x in column}) > 1 for column in numbers.T])

    def of_varying(*given: Array) -> Array:
        return formula(*given[:-1], _filled(numbers[0], varying, given[-1]))

    of_varying.__name__ = name_of(formula)
    return of_varying, numbers[:, varying]


def _filled(numbers: Array, varying: Array, own: Array) -> Array:
    """(c,) the numbers, those that vary replaced by others."""
    if not varying.size:
        return numbers
    filled = numbers.astype(object)
    filled[varying] = np.asarray(own)
    return filled.view(SymbolArray)


def table_loop(cells: Array, types: Sequence[RowType], order: Sequence[Run], size: int) -> Array:
    """(size,) what the first cells hold after all rows. cells (n,): floats and symbols at the start, None where a row
    gives numbers before any takes them.

    Beside floats and symbols of SymPy and CasADi, derivatives too see every row by itself. A formula with a loop inside
    is a function, which is called for each row."""
    flat = np.asarray(cells)
    known = np.array([x is not None for x in flat])
    entry = entered(flat[known])
    if entry is None:
        return _row_by_row(flat.copy(), types, order)[:size].view(SymbolArray)
    pending, tracer = entry
    result = symbols_of(tracer, (size,))
    outputs = dict(enumerate(np.asarray(result).flat))
    pending.append(_Pending(flat, np.flatnonzero(known), tuple(types), tuple(order), outputs).placed())
    return result


def map_rows(formula: Callable[[Any, Any], Any], rows: Array, numbers: Array, size: int) -> Array:
    """(..., k, m) what formula(row (..., n), numbers (c,)) -> (..., m) gives for each of the rows (..., k, n).

    numbers (k, c) are floats, and size is m. What the formula computes from them alone is computed while tracing.
    Beside floats and symbols of SymPy and CasADi, where the rows are taken one after the other, derivatives too see
    every row by itself. A kernel for one state takes as many rows at once as its registers have lanes.
    """
    if entered(rows) is None:
        return np.stack([formula(rows[..., i, :], numbers[i]) for i in range(len(numbers))], axis=-2)
    (count, width), each = rows.shape, np.arange(len(numbers))
    cells = np.empty(count * (size + width), dtype=object)  # column by column
    cells[count * size :] = np.asarray(rows).T.reshape(-1)
    takes, gives = Block(each + count * size, count * np.arange(width)), Block(each, count * np.arange(size))
    row_type = RowType(formula, (takes,), (gives,), np.asarray(numbers, dtype=float))
    found: Array = table_loop(cells, [row_type], [Run(0, 0, count)], count * size).reshape(size, count).T
    return found


def over_rows(formula: Callable[..., Any], rows: Sequence[Any], shared: Sequence[Any] = (), *, group: int) -> Any:
    """(each, sums) of formula(*rows, *shared): what it gives for every row, and sums over the rows.

    rows    records of arrays (..., n, ...), the rows behind the batch axes
    shared  records of what all rows need, with the same batch axes
    group   of so many rows a kernel calls the formula at once, so that sums are read and written once for them

    The formula is one of any number of rows. It gives two records: of arrays as those of the rows, and of sums over
    the rows that it is called with. In a kernel it is a loop, elsewhere one call. While it is traced, the formula is
    called with ones, to see what it gives.
    """
    form, arrays = flattened((*rows, *shared))
    count = len(arrays_of(tuple(rows)))
    n = len(arrays[0])
    if entered(*arrays) is None or not n:
        return formula(*rows, *shared)
    with np.errstate(all="ignore"):
        ones = [np.ones(leaf.shape, bool if leaf.condition else float) for leaf in form.leaves]
        gives = structure_of(formula(*form.record(ones)))
    each, sums = (len(part.leaves) for _, part in gives.parts)
    leaves = [*gives.leaves, *form.leaves]
    by_row = [*[True] * each, *[False] * sums, *[True] * count, *[False] * (len(arrays) - count)]
    sizes = [math.prod(leaf.shape) for leaf in leaves]
    firsts = np.cumsum([0, *sizes])
    size = int(firsts[each + sums])
    cells = np.empty(firsts[-1], dtype=object)
    cells[firsts[each] : size] = 0.0
    cells[size:] = np.concatenate([np.asarray(numbers_of(x), dtype=object).reshape(-1) for x in arrays])
    types = []
    for begin, end, own in ((0, n - n % group, group), (n - n % group, n, n % group)):
        if begin < end:
            at = np.arange(begin, end, own)
            blocks = [
                Block(first + at * (width // n), np.arange(own * width // n)) if of_row else
                Block(first + 0 * at, np.arange(width))
                for first, width, of_row in zip(firsts, sizes, by_row, strict=False)
            ]  # fmt: skip
            takes, added = tuple(blocks[each + sums :]), (*[False] * each, *[True] * sums)
            call = _of_group(formula, form, count, own)
            types.append(RowType(call, takes, tuple(blocks[: each + sums]), added=added))
    order = [Run(k, 0, len(row_type.takes[0].first)) for k, row_type in enumerate(types)]
    return gives.unpacked(table_loop(cells, types, order, size))


def _of_group(formula: Callable[..., Any], form: Structure, count: int, size: int) -> Callable[..., Array]:
    """The formula of a group of rows, of the numbers of each array; the first `count` arrays have rows."""
    shapes = [(size, *leaf.shape[1:]) if k < count else leaf.shape for k, leaf in enumerate(form.leaves)]

    def of_group(*blocks: Array) -> Array:
        arrays = [
            block.reshape(shape) > 0 if leaf.condition else block.reshape(shape)
            for block, shape, leaf in zip(blocks, shapes, form.leaves, strict=True)
        ]
        found = arrays_of(formula(*form.record(arrays)))
        return np.concatenate([np.reshape(numbers_of(x), -1) for x in found])

    of_group.__name__ = name_of(formula)
    return of_group


def _row_by_row(cells: Array, types: Sequence[RowType], order: Sequence[Run]) -> Array:
    """The cells after all rows."""
    for run in order:
        formula, takes, gives, numbers, _ = types[run.row_type]
        added = _added(types[run.row_type])
        for row in range(run.first, run.last):
            own = [] if numbers is None else [numbers[row]]
            given = formula(*(cells[block.first[row] + block.behind].view(SymbolArray) for block in takes), *own)
            written = np.concatenate([block.first[row] + block.behind for block in gives])
            new = np.asarray(given, dtype=object)
            new[added] = new[added] + cells[written[added]]
            cells[written] = new
    return cells


def _added(rows: "RowType | TracedRows") -> Array:
    """(n,) of every number that a row gives, whether it is added."""
    return np.repeat(rows.added or [False] * len(rows.gives), [len(block.behind) for block in rows.gives])


# ---- loops met while a formula is traced -------------------------------------------------------------------


@frozen
class _Pending:
    """A loop met while a formula was traced: its cells, those known at the start, and the symbols that stand for the
    cells of the result. `kept`: of each type, which numbers its formula gives, where not all are needed."""

    cells: Array
    known: Array
    types: tuple[RowType, ...]
    order: tuple[Run, ...]
    outputs: dict[int, Term]
    kept: tuple[Array, ...] = ()

    def placed(self) -> PlacedConstruct:
        """The loop in the formula."""
        operands, results = list(self.cells[self.known]), list(self.outputs.values())
        return PlacedConstruct(operands, results, self.traced, pruned=lambda live: self.pruned(live).placed())

    def pruned(self, live: Set[Term]) -> "_Pending":
        """The loop without what no row and no term that is needed takes from any row of a type."""
        needed, given = (np.zeros(len(self.cells), dtype=bool) for _ in range(2))
        needed[[cell for cell, term in self.outputs.items() if term in live]] = True
        for block in (block for row_type in self.types for block in row_type.takes):
            needed[block.cells] = True
        kept = tuple(
            np.flatnonzero(np.concatenate([needed[block.cells].any(axis=0) for block in row_type.gives]))
            for row_type in self.types
        )
        given[self.known] = True
        for row_type, columns in zip(self.types, kept, strict=True):
            given[np.concatenate([block.cells for block in row_type.gives], axis=1)[:, columns]] = True
        return replace(self, outputs={cell: term for cell, term in self.outputs.items() if given[cell]}, kept=kept)

    def traced(self) -> "TableLoop | OutOfLineCall":
        """The loop with the formula of each type traced, again where it takes numbers that are zero in every state. A
        function of calls where one has a loop inside."""
        types = [self._traced_rows(*pair) for pair in zip(self.types, self.kept, strict=True)]
        found = tuple(rows for rows in types if rows is not None)
        if len(found) < len(types):
            sizes = {"given": len(self.known)}, {"result": len(self.outputs)}
            return OutOfLineCall(trace(self._by_calls, *sizes, name_of(self.types[0].formula)))
        living = self._living(found)
        if all(lives.all() for blocks in living for lives in blocks):
            known, outputs = map(tuple, (self.known.tolist(), self.outputs))
            return TableLoop(found, self.order, len(self.cells), known, outputs)
        again = replace(self, types=tuple(map(_without_zeros, self.types, living)))
        return again.pruned({*self.outputs.values()}).traced()

    def _living(self, types: Sequence["TracedRows"]) -> list[list[Array]]:
        """Of every block that a type takes, which numbers may be other than zero in some row and state."""
        nonzero = np.array([type(x) is Term or (x is not None and x != 0.0) for x in self.cells])
        while True:
            before = nonzero.copy()
            found = [[np.any(nonzero[block.cells], axis=0) for block in rows.takes] for rows in types]
            for rows, blocks in zip(types, found, strict=True):
                lives = _possibly_nonzero(rows.tape, np.concatenate([*blocks, np.ones(rows.numbers.shape[1])]))
                nonzero[np.concatenate([block.cells for block in rows.gives], axis=1)[:, lives]] = True
            if np.array_equal(nonzero, before):
                return found

    def _traced_rows(self, row_type: RowType, kept: Array) -> "TracedRows | None":
        """The traced rows of a type; None with a loop inside."""
        formula, takes, gives, numbers, added = row_type
        shapes = {f"argument{k}": width for k, width in enumerate(row_type.widths)}
        with unrolled_constructs():
            traced = trace(lambda *given: formula(*given)[kept], shapes, None, name_of(formula))
        ends = np.cumsum([0, *(len(block.behind) for block in gives)])
        given = [
            Block(block.first, block.behind[kept[(first <= kept) & (kept < last)] - first])
            for block, first, last in zip(gives, ends, ends[1:], strict=False)
        ]
        count = len(gives[0].first)
        own = np.zeros((count, 0)) if numbers is None else numbers
        if traced.inner:
            return None
        return TracedRows(*partially_evaluated(traced.tape, own), takes, tuple(given), added)

    def _by_calls(self, given: Array) -> Array:
        """The result of what goes in, by calls of a function for every type."""
        cells = self.cells.copy()
        cells[self.known] = np.asarray(given)
        types = [row_type._replace(formula=partial(_by_call, row_type)) for row_type in self.types]
        return _row_by_row(cells, types, self.order)[list(self.outputs)].view(SymbolArray)


def _without_zeros(row_type: RowType, living: Sequence[Array]) -> RowType:
    """A type that takes only those numbers that live, the others are zero."""
    indices = [np.flatnonzero(lives) for lives in living]

    def formula(*given: Array) -> Array:
        takes = (_filled(np.zeros(len(lives)), own, x) for lives, own, x in zip(living, indices, given, strict=False))
        return row_type.formula(*takes, *given[len(living) :])

    formula.__name__ = name_of(row_type.formula)
    takes = (Block(block.first, block.behind[own]) for block, own in zip(row_type.takes, indices, strict=True))
    return row_type._replace(formula=formula, takes=tuple(takes))


def _possibly_nonzero(tape: Tape, inputs: Array) -> Array:
    """(n,) which outputs may be other than zero, where only some inputs may."""
    lives: list[bool] = []
    for operation, a, b, c, number in tape.nodes:
        if operation == "input":
            lives.append(bool(inputs[int(number)]))
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
    return np.array([lives[i] for i in tape.outputs], dtype=bool)


def _by_call(row_type: RowType, *given: Array) -> Array:
    """What a row gives, by a call of the function of its type."""
    size = sum(len(block.behind) for block in row_type.gives)
    return out_of_line_call(_of_joined, (row_type.formula, row_type), np.concatenate(given), size)


def _of_joined(formula: Callable[..., Array], row_type: RowType, given: Array) -> Array:
    """A formula of its arguments one after the other (..., n)."""
    return formula(*np.split(given, np.cumsum(row_type.widths)[:-1], axis=-1))


def partially_evaluated(tape: Tape, numbers: Array) -> tuple[Tape, Array]:
    """A tape whose last inputs are the numbers (k, c) of the rows, with what these alone decide as numbers (k, d) in
    their place; where it is the same in all rows, a constant."""
    width, columns = tape.inputs - numbers.shape[1], list[Array]()
    fixed: dict[int, Any] = {}  # of nodes that nothing else enters, the values, (k,) or one for all
    moved: dict[int, int] = {-1: -1}
    nodes: list[Node] = []

    def place(index: int) -> int:
        """Where a node is in the new tape."""
        if index not in moved:
            moved[index] = len(nodes)
            flat = np.atleast_1d(np.asarray(fixed[index], dtype=float))
            if all(x.tobytes() == flat[0].tobytes() for x in flat):
                nodes.append(Node("const", number=float(flat[0])))
            else:
                nodes.append(Node("input", number=width + len(columns)))
                columns.append(flat)
        return moved[index]

    for index, node in enumerate(tape.nodes):
        if node.operation == "const":
            fixed[index] = node.number
        elif node.operation == "input" and node.number >= width:
            fixed[index] = numbers[:, int(node.number) - width]
        elif node.operation != "input" and all(i in fixed for i in arguments(node)):
            fixed[index] = number_of(node.operation, *(fixed[i] for i in arguments(node)))
        else:
            a, b, c = place(node.a), place(node.b), place(node.c)
            moved[index] = len(nodes)
            nodes.append(Node(node.operation, a, b, c, node.number))
    outputs = [place(i) for i in tape.outputs]
    table = np.stack(columns, axis=-1) if columns else np.zeros((len(numbers), 0))
    return Tape(nodes, outputs, width + len(columns)), table


# ---- traced loops ------------------------------------------------------------------------------------------


@frozen
class TracedRows:
    """The rows of a type: the tape of their formula, their numbers (k, c), and the blocks that they take and give.

    added: of each block that they give, whether its numbers are added to; by default all are stored."""

    tape: Tape
    numbers: Array
    takes: tuple[Block, ...]
    gives: tuple[Block, ...]
    added: tuple[bool, ...] = ()

    @property
    def identity(self) -> str:
        """Text that two types share only if they do the same to the same cells."""
        parts = [part.tobytes() for block in (*self.takes, *self.gives) for part in (*block, self.numbers)]
        sizes = str((len(self.takes), self.gives and len(self.gives[0].first), self.numbers.shape, self.added))
        return digest(self.tape.identity, sizes, *parts)


@frozen
class TableLoop:
    """A loop over so many cells: the rows of its types and their order, which cells are known at the start, and which
    are the result."""

    types: tuple[TracedRows, ...]
    order: tuple[Run, ...]
    cells: int
    known: tuple[int, ...]
    outputs: tuple[int, ...]
    has_solver: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        return Ends(len(self.outputs), len(self.known))

    @property
    def identity(self) -> str:
        """Text that two loops share only if they write the same code."""
        numbers = np.array([len(self.known), *self.known, *self.outputs], dtype=np.int64).tobytes()
        return digest("table loop", str((self.order, self.cells)), numbers, *(rows.identity for rows in self.types))

    def unrolled(self, operands: list[Any], apply: Apply, of_loop: OfLoop | None) -> list[Any]:
        """The rows one after the other."""
        cells: list[Any] = [None] * self.cells
        for cell, value in zip(self.known, operands, strict=True):
            cells[cell] = value
        blocks = [[[block.cells for block in own] for own in (rows.takes, rows.gives)] for rows in self.types]
        added = [_added(rows).tolist() for rows in self.types]
        for run in self.order:
            (takes, gives), rows = blocks[run.row_type], self.types[run.row_type]
            for row in range(run.first, run.last):
                given = [cells[i] for block in takes for i in block[row]]
                given += [apply(Node("const", number=x)) for x in rows.numbers[row].tolist()]
                written = [i for block in gives for i in block[row]]
                values = interpret(rows.tape, given, apply)
                for cell, value, adds in zip(written, values, added[run.row_type], strict=True):
                    cells[cell] = apply(Node("add"), cells[cell], value) if adds else value
        return [cells[i] for i in self.outputs]
