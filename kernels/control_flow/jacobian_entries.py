"""The entries of a Jacobian: row by row or column by column, written out where that is little code, else compressed.

Written out, every entry has code of its own, which sees only the part of the formula between its row and its column.
Where that would be many times the formula, one direction is written, forwards or backwards. It is evaluated for one
group of columns, or rows, after the other. No row has entries in two columns of a group. Source: Curtis, Powell and
Reid, On the Estimation of Sparse Jacobian Matrices, IMA Journal of Applied Mathematics 13 (1974) 117-119.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.symbolic.operations import OPERATIONS, Rule
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered
from myoquat.kernels.tracing.adjoints import gradients, links, passes, push_forward
from myoquat.kernels.tracing.tape import PlacedConstruct, tape_of

from .table_loop import Block, Run, TableLoop, TracedRows

_MAX_UNROLLED_PRODUCTS = 12_000  # products up to which all entries are written out
_MAX_UNROLLED_DIRECTIONS = 4  # and as many times those of one direction

Link = tuple[Term, Term, Rule]  # a term, the argument through which it moves, and the rule of their derivative


@frozen
class Entries:
    """The entries (row, column) that are not structurally zero, and what gives some of them: compressed Jacobians in
    the formula. Each is a loop whose rows are the directions, with results direction after direction."""

    values: dict[tuple[int, int], Scalar]
    evaluations: tuple[PlacedConstruct, ...] = ()


def entries_of(
    tracer: Tracer,
    outputs: Sequence[Sequence[Scalar]],
    inputs: Sequence[Sequence[Term]],
    symmetric: bool = False,
) -> Entries:
    """The derivatives of all groups of outputs by all groups of inputs, rows and columns counted over all of them.

    Written out, each pair of groups goes its own way, and has the same bits as alone. `symmetric`: the matrix is.
    """
    whole = _Graph.of([y for group in outputs for y in group], [x for group in inputs for x in group])
    if min(whole.forwards, whole.backwards) > max(_MAX_UNROLLED_PRODUCTS, _MAX_UNROLLED_DIRECTIONS * len(whole.links)):
        return _compressed(tracer, whole, symmetric)
    found: dict[tuple[int, int], Scalar] = {}
    top = 0
    for rows in outputs:
        left = 0
        for columns in inputs:
            graph = _Graph.of(rows, columns)
            write = _by_columns if graph.forwards < graph.backwards else _by_rows
            found |= {(top + i, left + j): value for (i, j), value in write(tracer, graph).items()}
            left += len(columns)
        top += len(rows)
    return Entries(found)


@frozen
class _Graph:
    """The terms between inputs and outputs.

    order: the terms, arguments first; links: the pairs of a term and an argument that both lie between, in that order.
    Columns and rows: of each term, as bits, the inputs on which it depends and the outputs that depend on it.
    """

    outputs: Sequence[Scalar]
    inputs: Sequence[Term]
    order: list[Term]
    links: list[Link]
    columns: dict[Term, int]
    rows: dict[Term, int]

    @property
    def forwards(self) -> int:
        """The products of all directions, one input after the other."""
        return sum(self.columns[x].bit_count() for _, x, _ in self.links)

    @property
    def backwards(self) -> int:
        """The products of all directions, one output after the other."""
        return sum(self.rows[y].bit_count() for y, _, _ in self.links)

    @classmethod
    def of(cls, outputs: Sequence[Scalar], inputs: Sequence[Term]) -> "_Graph":
        """The graph of a tracer."""
        order = ordered([y for y in outputs if type(y) is Term])
        columns = {x: 1 << j for j, x in enumerate(inputs)}
        edges = []
        for term in order:
            for x, rule in links(term):
                if x in columns and passes(term, rule):
                    columns[term] = columns.get(term, 0) | columns[x]
                    edges.append((term, x, rule))
        rows: dict[Term, int] = {}
        for i, y in enumerate(outputs):
            if isinstance(y, Term):
                rows[y] = rows.get(y, 0) | 1 << i
        for term, x, _ in reversed(edges):
            rows[x] = rows.get(x, 0) | rows.get(term, 0)
        return cls(outputs, inputs, order, [edge for edge in edges if rows.get(edge[0])], columns, rows)


def _groups(lines: Mapping[Term, int]) -> dict[Term, int]:
    """The group of every line, counted from 0; a line is a row or a column, named by the term where it begins. No two
    lines of a group meet the same cell."""
    occupied: list[int] = []
    found: dict[Term, int] = {}
    for line, bits in lines.items():
        group = next((g for g, cells in enumerate(occupied) if not cells & bits), len(occupied))
        if group == len(occupied):
            occupied.append(0)
        occupied[group] |= bits
        found[line] = group
    return found


# ---- written out --------------------------------------------------------------------------------------------


def _by_rows(tracer: Tracer, graph: _Graph) -> dict[tuple[int, int], Scalar]:
    """Backwards from every output."""
    matrix = gradients(tracer, graph.outputs, graph.inputs)
    return {(i, j): value for i, row in enumerate(matrix) for j, value in enumerate(row) if _is_there(value)}


def _by_columns(tracer: Tracer, graph: _Graph) -> dict[tuple[int, int], Scalar]:
    """Forwards from every input."""
    found: dict[tuple[int, int], Scalar] = {}
    for j, x in enumerate(graph.inputs):
        ahead = [term for term in graph.order if graph.columns.get(term, 0) >> j & 1 and term is not x]
        dots = push_forward(tracer, {x: 1.0}, ahead)
        for i, y in enumerate(graph.outputs):
            value = dots.get(y, 0.0) if isinstance(y, Term) else 0.0
            if _is_there(value):
                found[i, j] = value
    return found


def _is_there(value: Scalar) -> bool:
    return type(value) is Term or value != 0.0


# ---- compressed ----------------------------------------------------------------------------------------------


def _compressed(tracer: Tracer, graph: _Graph, symmetric: bool) -> Entries:
    """Along that side which has fewer groups; forwards where the matrix is symmetric."""
    rows = {y: graph.columns[y] for y in graph.outputs if isinstance(y, Term) and y in graph.columns}
    met = [rows[y] if isinstance(y, Term) and y in rows else 0 for y in graph.outputs]
    mirrored = _apart(met) if symmetric else set[int]()
    columns = {x: graph.rows[x] for j, x in enumerate(graph.inputs) if x in graph.rows and j not in mirrored}
    by_columns, by_rows = _groups(columns), _groups(rows)
    forwards = symmetric or max(by_columns.values()) <= max(by_rows.values())
    code = _Direction(tracer, by_columns if forwards else by_rows)
    for link in graph.links if forwards else reversed(graph.links):
        code.carry(link, forwards)
    ends = [x for x in (rows if forwards else columns) if x in code.moved]
    place = {end: k for k, end in enumerate(ends)}
    evaluation = code.evaluation(ends)
    values: dict[tuple[int, int], Scalar] = {}
    for i, bits in enumerate(met):
        for j in (j for j in range(bits.bit_length()) if bits >> j & 1):
            y, x = (graph.outputs[j], graph.inputs[i]) if j in mirrored else (graph.outputs[i], graph.inputs[j])
            assert isinstance(y, Term)
            head, end = (x, y) if forwards else (y, x)
            values[i, j] = evaluation.results[code.groups[head] * len(ends) + place[end]]
    return Entries(values, (evaluation,))


def _apart(met: Sequence[int]) -> set[int]:
    """Lines of a symmetric pattern none of which meets another of them, nor itself: their entries are those of rows of
    the others."""
    found: set[int] = set()
    bits = 0
    for k in sorted(range(len(met)), key=lambda k: met[k].bit_count()):
        if met[k] and not met[k] & (bits | 1 << k):
            found.add(k)
            bits |= 1 << k
    return found


class _Direction:
    """The code of one direction while it is recorded. The partial derivatives of the formula are its inputs.

    groups  of every term where a direction begins, its group
    moved   of every term, its derivative along the direction and, as bits, the directions in which that is not zero.
            Elsewhere it stays zero, even if a partial derivative is infinite
    """

    def __init__(self, outside: Tracer, groups: Mapping[Term, int]) -> None:
        self.outside, self.groups = outside, groups
        self.tracer = Tracer()
        self.count = max(groups.values()) + 1
        self.seeds = self.tracer.inputs(len(groups))
        self.columns = [1 << group for group in groups.values()]  # of the table of seeds, as bits
        self.moved: dict[Term, tuple[Scalar, int]] = {}
        for term, seed, bits in zip(groups, self.seeds, self.columns, strict=True):
            self.moved[term] = seed, bits
        self.shared: dict[Term, Term] = {}
        self.conditions: dict[int, Term] = {}

    def carry(self, link: Link, forwards: bool) -> None:
        """Add what moves at the argument of a term to what moves at the term, or backwards."""
        term, argument, rule = link
        source, target = (argument, term) if forwards else (term, argument)
        if source not in self.moved:
            return
        (value, bits), part, row = self.moved[source], rule(self.outside, term, 1.0), OPERATIONS[term.operation]
        # A quotient is a product with an inverse here, which may be infinite where the term and the argument are not.
        edged = row.infinite_slope or (isinstance(part, Term) and part.operation == "inv")
        if isinstance(part, Term):
            if part not in self.shared:
                (self.shared[part],) = self.tracer.inputs(1)
            part = self.shared[part]
        product = self.tracer.select(part, value, 0.0) if row.choice else self.tracer.multiply(value, part)
        if edged:
            product = self.tracer.select(self._moves(bits), product, 0.0)
        if target in self.moved:
            known, others = self.moved[target]
            product, bits = self.tracer.add(known, product), bits | others
        self.moved[target] = product, bits

    def _moves(self, bits: int) -> Scalar:
        """Whether this direction is one of those: a symbol, or 1 for all of them."""
        if bits == (1 << self.count) - 1:
            return 1.0
        if bits not in self.conditions:
            (self.conditions[bits],) = self.tracer.inputs(1)
        return self.conditions[bits]

    def evaluation(self, results: Iterable[Term]) -> PlacedConstruct:
        """The evaluation over all directions, which gives what moves at the results."""
        moved = [self.moved[x][0] for x in results]
        symbols, columns = [*self.seeds, *self.conditions.values()], [*self.columns, *self.conditions]
        tape = tape_of(self.tracer, [*self.shared.values(), *symbols], moved)
        seeds = np.array([[bits >> k & 1 for bits in columns] for k in range(self.count)], dtype=float)
        size, each = self.count * len(moved), np.arange(self.count)
        cells = size + len(self.shared)
        takes, gives = (
            Block(0 * each + size, np.arange(len(self.shared))),
            Block(each * len(moved), np.arange(len(moved))),
        )
        loop = TableLoop(
            (TracedRows(tape, seeds, (takes,), (gives,)),), (Run(0, 0, self.count),), cells,
            tuple(range(size, cells)), tuple(range(size)),
        )  # fmt: skip
        return PlacedConstruct(list(self.shared), self.outside.inputs(size), lambda: loop)
