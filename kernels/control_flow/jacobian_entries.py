"""The entries of a Jacobian: row by row or column by column, written out where that is little code, else compressed.

Written out, every entry has code of its own, which sees only the part of the formula between its row and its column.
Where that would be many times the formula, one direction is written, forwards or backwards. It is evaluated for one
group of columns, or rows, after the other. No row has entries in two columns of a group. Source: Curtis, Powell and
Reid, On the Estimation of Sparse Jacobian Matrices, IMA Journal of Applied Mathematics 13 (1974) 117-119.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.symbolic.operations import OPERATIONS, Rule
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered
from myoquat.kernels.tracing.adjoints import gradients, links, passes, push_forward
from myoquat.kernels.tracing.tape import PlacedConstruct, tape_of

from .table_loop import Block, Run, TableLoop, TracedRows


class _Edge(NamedTuple):
    """The derivative of a term by one of its arguments. `chosen`: the derivative is a condition, 1 or 0: whether the
    term moves with the argument at all. `edged`: it may be infinite where the term and the argument are finite."""

    term: Term
    argument: Term
    part: Scalar
    chosen: bool
    edged: bool


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

    @property
    def met(self) -> list[int]:
        """Of each output, as bits, the inputs on which it depends."""
        return [self.columns.get(y, 0) if isinstance(y, Term) else 0 for y in self.outputs]

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


def _transposed(rows: Sequence[int]) -> list[int]:
    """Of each column the rows, as bits, from the columns of each row."""
    width = max(map(int.bit_length, rows), default=0)
    return [sum(1 << i for i, bits in enumerate(rows) if bits >> j & 1) for j in range(width)]


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


# ---- swept --------------------------------------------------------------------------------------------------


def _compressed(tracer: Tracer, graph: _Graph, symmetric: bool) -> Entries:
    """Along that side which has fewer groups; forwards where the matrix is symmetric."""
    edges = [_edge(tracer, *link) for link in graph.links]
    mirrored = _apart(graph.met) if symmetric else set()
    columns = {j: bits for j, bits in enumerate(_transposed(graph.met)) if bits and j not in mirrored}
    heads = _heads(graph, edges, columns)
    by_columns = _groups({heads[j][0]: bits for j, bits in columns.items()})
    by_rows = _groups({y: graph.columns[y] for y in graph.outputs if isinstance(y, Term) and y in graph.columns})
    forwards = symmetric or max(by_columns.values()) <= max(by_rows.values())
    groups = by_columns if forwards else by_rows
    code = _Direction(tracer, groups)
    for edge in edges if forwards else reversed(edges):
        if not forwards:
            code.carry(edge, edge.term, edge.argument)
        elif edge.term not in groups:
            code.carry(edge, edge.argument, edge.term)
    if forwards:  # what moves at the ends of the directions: rows of the matrix, or columns
        ends = {i: y for i, y in enumerate(graph.outputs) if any(graph.met[i] >> j & 1 for j in heads)}
    else:
        ends = {j: graph.inputs[j] for j in columns}
    place = {end: k for k, end in enumerate(ends)}
    evaluation = code.evaluation(x for x in ends.values() if isinstance(x, Term))

    def entry(i: int, j: int) -> Scalar:
        (head, factor), end = (heads[j], i) if forwards else ((graph.outputs[i], 1.0), j)
        assert isinstance(head, Term)
        return tracer.multiply(evaluation.results[groups[head] * len(ends) + place[end]], factor)

    cells = [(i, j) for i, bits in enumerate(graph.met) for j in range(len(graph.inputs)) if bits >> j & 1]
    # Columns without a head are rows of a symmetric matrix.
    return Entries({(i, j): entry(i, j) if j in heads else entry(j, i) for i, j in cells}, (evaluation,))


def _edge(tracer: Tracer, term: Term, x: Term, rule: Rule) -> _Edge:
    """With its partial derivative; a quotient is a product with an inverse here."""
    part = rule(tracer, term, 1.0)
    row = OPERATIONS[term.operation]
    edged = row.infinite_slope or (isinstance(part, Term) and part.operation == "inv")
    return _Edge(term, x, part, row.choice, edged)


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


def _heads(graph: _Graph, edges: Sequence[_Edge], columns: Iterable[int]) -> dict[int, tuple[Term, Scalar]]:
    """Where each column begins, and its factor there. Inputs that enter only one term, which has no other arguments,
    begin at that term and share a direction."""
    outputs = {y for y in graph.outputs if isinstance(y, Term)}
    after: dict[Term, list[_Edge]] = {}
    before: dict[Term, list[_Edge]] = {}
    for edge in edges:
        after.setdefault(edge.argument, []).append(edge)
        before.setdefault(edge.term, []).append(edge)
    alone = {x for x in graph.inputs if len(after.get(x, ())) == 1 and not after[x][0].chosen and x not in outputs}
    found: dict[int, tuple[Term, Scalar]] = {}
    for j in columns:
        x = graph.inputs[j]
        common = x in alone and all(edge.argument in alone for edge in before[after[x][0].term])
        found[j] = (after[x][0].term, after[x][0].part) if common else (x, 1.0)
    return found


class _Direction:
    """The code of one direction while it is recorded. The partial derivatives of the formula are its inputs.

    groups  of every term where a direction begins, its group
    moved   of every term, its derivative along the direction and, as bits, the directions in which that is not zero.
            Elsewhere it stays zero, even if a partial derivative is infinite
    """

    def __init__(self, outside: Tracer, groups: Mapping[Term, int]) -> None:
        self.outside = outside
        self.tracer = Tracer()
        self.count = max(groups.values()) + 1
        self.seeds = self.tracer.inputs(len(groups))
        self.columns = [1 << group for group in groups.values()]  # of the table of seeds, as bits
        self.moved: dict[Term, tuple[Scalar, int]] = {}
        for term, seed, bits in zip(groups, self.seeds, self.columns, strict=True):
            self.moved[term] = seed, bits
        self.shared: dict[Term, Term] = {}
        self.conditions: dict[int, Term] = {}

    def carry(self, edge: _Edge, source: Term, target: Term) -> None:
        """Add what moves at the source of an edge to what moves at its target."""
        if source not in self.moved:
            return
        (value, bits), part = self.moved[source], edge.part
        if isinstance(part, Term):
            if part not in self.shared:
                (self.shared[part],) = self.tracer.inputs(1)
            part = self.shared[part]
        product = self.tracer.select(part, value, 0.0) if edge.chosen else self.tracer.multiply(value, part)
        if edge.edged:
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
