"""Laws with the same structure, evaluated as rows of a table. The code does not grow with the number of muscles.

Two laws have the same structure if they have the same class and differ in numbers only. This module serves force laws
and activation dynamics.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, Record, unchecked
from myoquat.joints.crossovers import MinRows
from myoquat.joints.vectors import joined
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic

from .base import ForceLaw

OfLaw = Callable[[Any, Array], Array]  # of a law and its row (..., n), the results (..., m)


class _Table(NamedTuple):
    """k laws of the same structure, as a table.

    first    the first law, a prototype
    symbols  the names of the numbers that are symbols in any law, as in a study
    names    the names of the other numbers that differ
    numbers  (k, c) their values, a column for each name
    """

    first: Record
    symbols: tuple[str, ...]
    names: tuple[str, ...]
    numbers: Array


def of_laws(laws: Sequence[Record], function: OfLaw, rows: Sequence[Array], size: int) -> list[Array]:
    """[(..., size) function(law, row) of every law], from rows (..., n) of floats or symbols.

    In a traced kernel, laws of the same structure are one table. `function` then gets a law whose numbers are symbols.
    """
    results: dict[int, Array] = {}
    for members in _grouped(laws, rows):
        if not MinRows.FORMULA.reached_by(len(members)):
            results |= {i: function(laws[i], rows[i]) for i in members}
            continue
        table = _table([laws[i] for i in members])
        own = [[as_array(getattr(laws[i], name))[..., None] for name in table.symbols] for i in members]
        given = [joined([rows[i], *symbols]) for i, symbols in zip(members, own, strict=True)]
        stacked = np.stack(np.broadcast_arrays(*given, subok=True), axis=-2)
        found = map_rows(partial(_element, function, table), stacked, table.numbers, size)
        results |= {i: found[..., k, :] for k, i in enumerate(members)}
    return [results[i] for i in range(len(laws))]


def stacked_laws(laws: Sequence[ForceLaw]) -> list[tuple[list[int], ForceLaw]]:
    """[(indices of k laws of the same structure, one law whose numbers are arrays (k,))], for laws of floats."""
    found = []
    for members in _grouped(laws, [np.zeros(0)] * len(laws)):
        table = _table([laws[i] for i in members])
        changes = {name: table.numbers[:, k] for k, name in enumerate(table.names)}
        found.append((members, unchecked(table.first, changes)))
    return found


def _element(function: OfLaw, table: _Table, row: Array, numbers: Array) -> Array:
    """The function of a law with the structure of the first and other numbers, which are not checked."""
    own = row.shape[-1] - len(table.symbols)
    changes = {name: row[..., own + k] for k, name in enumerate(table.symbols)}
    changes |= {name: numbers[..., k] for k, name in enumerate(table.names)}
    return function(unchecked(table.first, changes), row[..., :own])


def _grouped(laws: Sequence[Record], rows: Sequence[Array]) -> list[list[int]]:
    """The indices of the laws, grouped by structure, in order. A law with arrays of numbers is a group by itself."""
    groups: dict[Hashable, list[int]] = {}
    for i, (law, row) in enumerate(zip(laws, rows, strict=True)):
        settings = tuple(value for name, value in _fields(law) if not _is_number(value))
        try:
            key: Hashable = (type(law), settings, row.shape[-1])
            groups.setdefault(key, []).append(i)
        except TypeError:  # an array has no hash
            groups[i] = [i]
    return list(groups.values())


def _fields(law: Record) -> list[tuple[str, Any]]:
    return [(f.name, getattr(law, f.name)) for f in fields(law)]  # type: ignore[arg-type]


def _is_number(value: Any) -> bool:
    return _is_symbol(value) or (isinstance(value, (float, int)) and not isinstance(value, bool))


def _is_symbol(value: Any) -> bool:
    return is_symbolic(value) and value.ndim == 0


def _table(laws: Sequence[Record]) -> _Table:
    """Laws of the same structure as a table. Numbers that are equal in all laws stay in the prototype."""
    columns = {name: [getattr(law, name) for law in laws] for name, value in _fields(laws[0]) if _is_number(value)}
    symbols = tuple(name for name, values in columns.items() if any(map(_is_symbol, values)))
    names = tuple(name for name, values in columns.items() if name not in symbols and len(set(values)) > 1)
    numbers = np.array([columns[name] for name in names], dtype=float).reshape(len(names), len(laws)).T
    return _Table(laws[0], symbols, names, np.ascontiguousarray(numbers))
