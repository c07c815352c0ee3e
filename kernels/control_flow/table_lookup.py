"""Entries of a table at a place that is computed: a search in increasing knots, whose code does not grow with them.

`looked_up` stands for a chain of selections, one for every knot. While a kernel is traced the formula goes on with
fresh symbols for the entries, and the kernel holds the table as constants and one search by halves.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.control_flow.map_rows import differentiated
from myoquat.kernels.control_flow.while_loop import gathering
from myoquat.kernels.runtime.cache import digest
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, symbols_of
from myoquat.kernels.symbolic.elements import is_term, is_traced
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.tape import Apply, Inner, Node

__all__ = ["Lookup", "PendingLookup", "looked_up", "write_lookup"]


@dataclass(frozen=True)
class Lookup:
    """Knots (k,), which increase, and columns (m, k): of each, entry i with knots[i] <= x < knots[i + 1] is wanted, the
    first below, the last above."""

    knots: tuple[float, ...]
    columns: tuple[tuple[float, ...], ...]

    @property
    def gives(self) -> int:
        """How many entries."""
        return len(self.columns)

    def identity(self) -> str:
        """Text that two tables share only if they hold the same."""
        return digest("lookup", str(self.gives), np.array([self.knots, *self.columns]).tobytes())

    def unrolled(self) -> Inner:
        """The chain of selections."""

        def function(apply: Apply, taken: list[Any]) -> list[Any]:
            def number(value: float) -> Any:
                return apply(Node("const", number=value))

            values = [number(column[0]) for column in self.columns]
            for k in range(1, len(self.knots)):
                after = apply(Node("le", 0, 0), number(self.knots[k]), taken[0])
                entries = [number(column[k]) for column in self.columns]
                values = [apply(Node("select", 0, 0, 0), after, c, v) for c, v in zip(entries, values, strict=True)]
            return values

        return Inner(function, self.gives, 1)

    def halved(self) -> Array:
        """(1 + m, n) knots and columns, n the next power of two; behind the last knot its entries again."""
        count = len(self.knots)
        more = (1 << (count - 1).bit_length()) - count
        rows = [np.pad(column, (0, more), mode="edge") for column in self.columns]
        return np.stack([np.pad(self.knots, (0, more), constant_values=np.inf), *rows])


@dataclass(frozen=True)
class PendingLookup:
    """A search met while a formula was traced: where, in what, and the symbols that stand for the entries."""

    x: Term
    table: Lookup
    given: list[Term]

    @property
    def taken(self) -> list[Scalar]:
        """What goes in."""
        return [self.x]

    def kept(self, live: Set[Term]) -> "PendingLookup | None":
        """The search for those entries that are among the terms that are needed, None if there are none."""
        used = [k for k, symbol in enumerate(self.given) if symbol in live]
        if not used:
            return None
        table = replace(self.table, columns=tuple(self.table.columns[k] for k in used))
        return replace(self, table=table, given=[self.given[k] for k in used])


def looked_up(x: Array, knots: Array, columns: Array) -> Array | None:
    """(..., m) of each of m columns (k,), the entry i with knots[i] <= x < knots[i + 1], the first below and the last
    above, at symbols x (...) of a kernel that is being traced; None where there is no such kernel, or symbols among the
    entries. A derivative with respect to x sees constants."""
    flat = list(np.asarray(x).flat) if is_symbolic(x) else []
    recording = next((e.recording for e in flat if is_term(e)), None)
    pending = gathering.get()
    known = all(isinstance(entry, float) for column in (knots, *columns) for entry in column)
    if pending is None or recording is None or differentiated.get() or not known or not all(map(is_traced, flat)):
        return None
    table = Lookup(tuple(knots), tuple(map(tuple, columns)))
    result = symbols_of(recording, (*np.shape(x), len(columns)))
    for place, row in zip(flat, np.asarray(result).reshape(len(flat), -1), strict=True):
        term = place if type(place) is Term else recording.constant(float(place))
        pending.append(PendingLookup(term, table, list(row)))
    return result.view(SymbolArray)


def write_lookup(module: Module, table: Lookup) -> str:
    """The name of `void name(ptr x, ptr entries)`, written at first use: for every lane of x, the entries one after the
    other in slots of as many lanes."""
    name = f"lookup_{table.identity()[:16]}_{module.lanes}"

    def write() -> None:
        numbers = table.halved()
        module.constants(f"{name}_table", numbers)
        b = module.builder(1)
        with b.loop(0, module.lanes) as lane:
            own = b.let(f"mul i64 {lane}, 8")
            where = _search(b, f"@{name}_table", b.load(b.offset("%x", own)), numbers.shape[1])
            entry = b.offset(f"@{name}_table", b.let(f"mul i64 {where}, 8"))
            target = b.offset("%entries", own)
            for k in range(table.gives):
                found = b.load(b.offset(entry, 8 * numbers.shape[1] * (k + 1)))
                b.store(found, b.offset(target, 8 * module.lanes * k))
        b.line("ret void")
        module.define(name, "void", "ptr %x, ptr %entries", b)

    return module.once(name, write)


def _search(b: Builder, table: str, x: str, size: int) -> str:
    """The index, as i64, of the last of `size` knots, a power of two, that is not above x; 0 if all but the first
    are."""
    found, half = "0", size // 2
    while half:
        next_one = b.let(f"add i64 {found}, {half}")
        knot = b.load(b.offset(table, b.let(f"mul i64 {next_one}, 8")))
        found = b.let(f"select i1 {b.compare('oge', x, knot)}, i64 {next_one}, i64 {found}")
        half //= 2
    return found
