"""Entries of a table at a place that is computed: a search in increasing knots, whose code does not grow with them.

`table_lookup` stands for a chain of selections, one for every knot. While a kernel is traced, symbols stand for the
entries. The kernel holds the table as constants and one bisection.
"""

from collections.abc import Sequence, Set
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, digest, frozen
from myoquat.kernels.symbolic.arrays import SymbolArray, symbols_of
from myoquat.kernels.symbolic.terms import Term
from myoquat.kernels.tracing.context import entered
from myoquat.kernels.tracing.tape import Apply, Ends, OfLoop, PlacedConstruct, interpret
from myoquat.kernels.tracing.trace import trace


@frozen
class Lookup:
    """Increasing knots (k,) and columns (m, k). The result is entry i of each column, with knots[i] <= x < knots[i +
    1]: the first entry below the knots, the last one above."""

    knots: tuple[float, ...]
    columns: tuple[tuple[float, ...], ...]
    has_solver: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        return Ends(self.gives, 1)

    @property
    def gives(self) -> int:
        """How many entries."""
        return len(self.columns)

    @property
    def identity(self) -> str:
        """Text that two tables share only if they hold the same."""
        return digest("lookup", str(self.gives), np.array([self.knots, *self.columns]).tobytes())

    def unrolled(self, operands: list[Any], apply: Apply, of_loop: OfLoop | None) -> list[Any]:
        """The chain of selections."""

        def chain(x: Array) -> Array:
            first, *others = np.array(self.columns).T
            found: Array = first
            for knot, entries in zip(self.knots[1:], others, strict=True):
                found = np.where(x >= knot, entries, found)
            return found

        return interpret(trace(chain, {"x": ()}).tape, operands, apply)

    def halved(self) -> Array:
        """(1 + m, n) knots and columns, n the next power of two; behind the last knot its entries again."""
        count = len(self.knots)
        more = (1 << (count - 1).bit_length()) - count
        rows = [np.pad(column, (0, more), mode="edge") for column in self.columns]
        return np.stack([np.pad(self.knots, (0, more), constant_values=np.inf), *rows])


def _placed(x: Term, table: Lookup, results: Sequence[Term]) -> PlacedConstruct:
    """The search in a table at x, in a formula that is traced."""

    def pruned(live: Set[Term]) -> PlacedConstruct:
        used = [k for k, symbol in enumerate(results) if symbol in live]
        return _placed(x, Lookup(table.knots, tuple(table.columns[k] for k in used)), [results[k] for k in used])

    return PlacedConstruct([x], results, lambda: table, pruned=pruned)


def table_lookup(x: Array, knots: Array, columns: Array) -> Array | None:
    """(..., m) entry i of each of m columns (k,), with knots[i] <= x < knots[i + 1], at symbols x (...) of a kernel
    that is being traced. Below the knots it is the first entry, above the last one. None where there is no such kernel,
    or symbols among the entries. A derivative with respect to x sees constants."""
    entry = entered(x)
    known = all(isinstance(entry, float) for column in (knots, *columns) for entry in column)
    if entry is None or not known:
        return None
    (pending, tracer), flat = entry, list(np.asarray(x).flat)
    table = Lookup(tuple(knots), tuple(map(tuple, columns)))
    result = symbols_of(tracer, (*np.shape(x), len(columns)))
    for place, row in zip(flat, np.asarray(result).reshape(len(flat), -1), strict=True):
        term = place if type(place) is Term else tracer.constant(float(place))
        pending.append(_placed(term, table, list(row)))
    return result.view(SymbolArray)
