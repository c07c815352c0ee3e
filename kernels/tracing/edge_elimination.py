"""Derivatives of a formula on fewer edges, before they are used many times.

The derivatives of operations by their arguments are edges of a graph from inputs to outputs. Eliminating a term
multiplies every edge that leads to it with every edge that leads away. A product is added to an edge that already joins
the same two terms. The derivatives of outputs by inputs stay the same. Terms are eliminated only as long as that saves
operations when all edges are traversed several times.

Source: Griewank and Reese, On the calculation of Jacobian matrices by the Markowitz rule, in: Automatic Differentiation
of Algorithms, SIAM 1991, 126-135.
"""

import heapq
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer

__all__ = ["Edge", "contracted"]

_PRODUCT_COST = 0.1  # of a product here against an edge less for those who run through


class Edge(NamedTuple):
    """The derivative of a term by one of its arguments. `chosen`: the derivative is a condition, 1 or 0: whether the
    term moves with the argument at all. `edged`: it may be infinite where the term and the argument are finite."""

    term: Term
    argument: Term
    part: Scalar
    chosen: bool
    edged: bool


def contracted(tracer: Tracer, edges: Sequence[Edge], kept: Set[Term]) -> list[Edge]:
    """Fewer edges with the same derivatives, terms in the same order; what is `kept` is not eliminated.

    Nor are the ends of conditions: what is not chosen, infinite or not a number, takes no part in any product.
    """
    web = _Web(tracer, edges)
    fixed = set(kept).union(*((edge.term, edge.argument) for edge in edges if edge.chosen))
    order = list(web.before)
    place = {term: k for k, term in enumerate(order)}
    fixed.update(term for term in order if term not in web.after)
    waiting = [(web.growth(term), place[term]) for term in order if term not in fixed]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < 0:
        known, k = heapq.heappop(waiting)
        term = order[k]
        if term not in web.before:
            continue
        growth = web.growth(term)
        if growth > known:
            if growth < 0:
                heapq.heappush(waiting, (growth, k))
            continue
        for neighbour in web.eliminate(term):
            if neighbour in web.before and neighbour not in fixed:
                growth = web.growth(neighbour)
                if growth < 0:
                    heapq.heappush(waiting, (growth, place[neighbour]))
    return [Edge(term, x, *edge) for term, found in web.before.items() for x, edge in found.items()]


class _Web:
    """The edges by their ends: of every term those to its arguments, and the terms that take it."""

    def __init__(self, tracer: Tracer, edges: Iterable[Edge]) -> None:
        self.tracer = tracer
        self.before: dict[Term, dict[Term, tuple[Scalar, bool, bool]]] = {}
        self.after: dict[Term, dict[Term, None]] = {}
        self.chosen: dict[Term, set[Term]] = {}  # arguments through conditions, which stay as they are
        for edge in edges:
            self._add(*edge)
            if edge.chosen:
                self.chosen.setdefault(edge.term, set()).add(edge.argument)

    def growth(self, term: Term) -> float:
        """What it costs to eliminate a term: edges more, and the price of products. Where it is not negative, any
        number that is not."""
        before, after = self.before[term], self.after[term]
        arguments, count = before.keys(), len(before)
        (only,) = before if count == 1 else (None,)
        edges, factors, all_before = -count - len(after), 0, self.before
        for y in after:
            known = all_before[y]
            if y in self.chosen and not self.chosen[y].isdisjoint(arguments):
                return float("inf")
            edges += (only not in known) if count == 1 else count - len(arguments & known.keys())
            if edges >= 0:
                return edges
            part = known[term][0]
            factors += not _is_sign(part)
        products = factors and factors * (count - sum(_is_sign(part) for part, *_ in before.values()))
        return edges + _PRODUCT_COST * products

    def eliminate(self, term: Term) -> list[Term]:
        """Lead all edges past a term; its neighbours."""
        before, after = self.before.pop(term), self.after.pop(term)
        for x in before:
            del self.after[x][term]
        for y in after:
            upper, _, edged = self.before[y].pop(term)
            for x, (part, _, also) in before.items():
                self._add(y, x, self.tracer.multiply(upper, part), False, edged or also)
        return [*before, *after]

    def _add(self, term: Term, x: Term, part: Scalar, chosen: bool, edged: bool) -> None:
        known = self.before.setdefault(term, {}).get(x)
        if known is not None:
            part, edged = self.tracer.add(known[0], part), edged or known[2]
        self.before[term][x] = part, chosen, edged
        self.after.setdefault(x, {})[term] = None


def _is_sign(part: Scalar) -> bool:
    return type(part) is not Term and abs(part) == 1.0  # type: ignore[arg-type]
