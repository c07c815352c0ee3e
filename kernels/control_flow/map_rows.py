"""Formulas inside formulas that are written once: `out_of_line_call` as a function, `map_rows` in a loop over rows.

While a kernel is traced, neither is written where it stands. The outer formula goes on with fresh symbols for the
results, and the kernel holds the inner one once.

- `out_of_line_call` evaluates a plain NumPy formula, any number of times with other arguments.
- `map_rows` calls one for every row of an array, with numbers of its own. A kernel for one state takes as many rows at
  once as its registers have lanes. What an element computes from its numbers alone is computed while tracing.
"""

from collections.abc import Callable, Set
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from myoquat.core.content import digest
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, symbols_of
from myoquat.kernels.symbolic.terms import Scalar, Term, number_of
from myoquat.kernels.tracing.context import entered, shared_trace
from myoquat.kernels.tracing.tape import Apply, Ends, Inner, Node, OfLoop, Tape, Traced, arguments, interpret
from myoquat.kernels.tracing.trace import name_of, tape_inside_loop, trace

__all__ = [
    "OutOfLineCall",
    "PendingCall",
    "PendingMap",
    "RowMap",
    "holds_symbols",
    "map_rows",
    "out_of_line_call",
    "partially_evaluated",
]


MAX_FORMULAS_KEPT = 8  # traced formulas, which are long, and asked for again by the other bodies of a step loop


@dataclass(frozen=True)
class PendingCall:
    """A call met while a formula was traced: of what, what goes in, and the symbols that stand for what comes out."""

    formula: "partial[Any]"
    operands: list[Scalar]
    results: list[Term]

    def traced(self) -> "OutOfLineCall":
        """The call with its formula traced, once for all calls in the kernels of a model."""
        sizes = len(self.operands), len(self.results)
        key = (self.formula.func, *map(id, self.formula.args), *sizes)
        traced, _ = shared_trace("formulas", key, MAX_FORMULAS_KEPT, lambda: (self._trace(), self.formula))
        return OutOfLineCall(
            traced
        )  # beside the trace its formula is kept, so that the identities in the key stay its own

    def _trace(self) -> Traced:
        sizes = {"given": len(self.operands)}, {"result": len(self.results)}
        return trace(self.formula, *sizes, name_of(self.formula))


@dataclass(frozen=True)
class OutOfLineCall:
    """A formula of one input and one output inside another as a function; see `out_of_line_call`."""

    formula: Traced

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        (gives,), (takes,) = self.formula.signature.output_sizes, self.formula.signature.input_sizes
        return Ends(gives, takes)

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return self.formula.has_solver

    @property
    def multi_block(self) -> bool:
        """Whether a kernel evaluates several blocks of states together for it."""
        return self.formula.multi_block

    def identity(self) -> str:
        """Text that two calls share only if they are of the same formula."""
        return digest("called", self.formula.identity())

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The formula in its place."""
        formula = self.formula
        return Inner(
            lambda apply, operands: interpret(formula.tape, operands, apply, formula.unrolled(of_loop)), *self.ends
        )


def out_of_line_call(formula: Callable[..., Any], own: tuple[Any, ...], x: Array, size: int) -> Array:
    """(..., size) formula(*own, x (..., n)): the formula depends on nothing else, and calls of the same formula with
    the same objects `own` are one function.

    Beside floats and symbols of SymPy and CasADi, derivatives too, and formulas whose `own` hold symbols, as in a
    study, see the formula itself.
    """
    entry = None if holds_symbols(own) else entered(x)
    if entry is None:
        result: Array = formula(*own, x)
        return result
    pending, tracer = entry
    symbols = symbols_of(tracer, (size,))
    pending.append(PendingCall(partial(formula, *own), list(np.asarray(x).flat), list(np.asarray(symbols).flat)))
    return symbols.view(SymbolArray)


def holds_symbols(value: Any) -> bool:
    """Whether there are symbols in a value, the items of a tuple or the fields of a record."""
    if isinstance(value, tuple):
        return any(map(holds_symbols, value))
    if is_dataclass(value) and not isinstance(value, type):
        return any(holds_symbols(getattr(value, f.name)) for f in fields(value))
    return is_symbolic(value)


Formula = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class PendingMap:
    """Rows met while a formula was traced: their formula, operands (k, n), numbers (k, c), and the symbols of the
    result (k, m). `columns`: which of the formula's results these are."""

    formula: Formula
    rows: Array
    numbers: Array
    result: Array
    columns: tuple[int, ...]

    @property
    def operands(self) -> list[Scalar]:
        """What goes in, column by column."""
        return list(np.asarray(self.rows).T.flat)

    @property
    def results(self) -> list[Term]:
        """What comes out, column by column."""
        return list(np.asarray(self.result).T.flat)

    def element(self, row: Array, numbers: Array) -> Array:
        """(m,) what comes out for one row."""
        wanted: Array = self.formula(row, numbers)[..., list(self.columns)]
        return wanted

    def pruned(self, live: Set[Term]) -> "PendingMap | None":
        """The table with the columns of which a result is among the terms that are needed, None if there are none."""
        used = [k for k, column in enumerate(np.asarray(self.result).T) if not live.isdisjoint(column)]
        if not used:
            return None
        return replace(self, result=self.result[:, used], columns=tuple(self.columns[k] for k in used))

    def traced(self) -> "RowMap | OutOfLineCall":
        """The element, traced once for all rows; one with a loop inside as a function that is called for each row."""
        shapes = {"row": self.rows.shape[1], "numbers": self.numbers.shape[1]}
        result = {"result": self.result.shape[1]}
        tape = tape_inside_loop(self.element, shapes, result, name_of(self.formula))
        if tape is not None:
            return partially_evaluated(tape, shapes["row"], self.numbers)
        sizes = {"given": self.rows.size}, {"result": self.result.size}
        return OutOfLineCall(trace(self._by_rows, *sizes, name_of(self.formula)))

    def _by_rows(self, given: Array) -> Array:
        """What comes out, column by column, of what goes in, column by column, by calls of one function."""
        count, width = self.rows.shape
        own = (self.formula, self.columns, width)
        found = [
            out_of_line_call(_element, own, np.concatenate([given[row::count], self.numbers[row]]), len(self.columns))
            for row in range(count)
        ]
        return np.stack(found, axis=-1).reshape(-1)


def _element(formula: Formula, columns: tuple[int, ...], width: int, row: Array) -> Array:
    """(..., m) what comes out for a row and its numbers (..., width + c)."""
    wanted: Array = formula(row[..., :width], row[..., width:])[..., list(columns)]
    return wanted


@dataclass(frozen=True)
class RowMap:
    """The tape of a row (n,) and numbers (c,), one after the other, and the numbers (k, c) of all rows."""

    tape: Tape
    width: int
    numbers: Array
    has_solver: ClassVar[bool] = False
    multi_block: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        return Ends(len(self.tape.outputs) * self.count, self.width * self.count)

    @property
    def count(self) -> int:
        """The rows."""
        return len(self.numbers)

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The rows one after the other, column by column in and out."""

        def function(apply: Apply, operands: list[Any]) -> list[Any]:
            results = []
            for row, numbers in enumerate(self.numbers):
                given = [operands[self.count * i + row] for i in range(self.width)]
                fixed = [apply(Node("const", number=x)) for x in numbers.tolist()]
                results.append(interpret(self.tape, [*given, *fixed], apply))
            return [x for column in zip(*results, strict=True) for x in column]

        return Inner(function, *self.ends)

    def identity(self) -> str:
        """Text that two elements share only if they write the same code."""
        return digest("element", self.tape.identity(), str(self.width), str(self.numbers.shape), self.numbers.tobytes())


def map_rows(formula: Formula, rows: Array, numbers: Array, size: int) -> Array:
    """(..., k, m) what formula(row (..., n), numbers (c,)) -> (..., m) gives for each of the rows (..., k, n).

    numbers (k, c) are floats, and size is m. Beside floats and symbols of SymPy and CasADi, where the rows are taken
    one after the other, derivatives too see every row by itself. A formula with a loop inside is a function, which is
    called for each row.
    """
    entry = entered(rows)
    if entry is None:
        return np.stack([formula(rows[..., i, :], numbers[i]) for i in range(len(numbers))], axis=-2)
    pending, tracer = entry
    result = symbols_of(tracer, (len(numbers), size))
    pending.append(PendingMap(formula, rows, np.asarray(numbers, dtype=float), result, tuple(range(size))))
    return result.view(SymbolArray)


def partially_evaluated(tape: Tape, width: int, numbers: Array) -> RowMap:
    """The element of a tape of a row (width,) and numbers (c,): what the numbers (k, c) alone decide is a number."""
    columns: list[Array] = []
    fixed: dict[int, Any] = {}  # of nodes that no entry of the row enters, the values, (k,) or one for all
    moved: dict[int, int] = {-1: -1}
    nodes: list[Node] = []

    def place(index: int) -> int:
        """Where a node is in the new tape."""
        if index not in moved:
            moved[index] = len(nodes)
            nodes.append(_leaf(fixed[index], width, columns))
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
    return RowMap(Tape(nodes, outputs, width + len(columns)), width, table)


def _leaf(values: Any, width: int, columns: list[Array]) -> Node:
    """The node of values of the rows: a constant where they are the same, else one more column of numbers."""
    flat = np.atleast_1d(np.asarray(values, dtype=float))
    if all(x.tobytes() == flat[0].tobytes() for x in flat):
        return Node("const", number=float(flat[0]))
    columns.append(flat)
    return Node("input", number=width + len(columns) - 1)
