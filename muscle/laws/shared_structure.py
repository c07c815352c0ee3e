"""Laws with the same structure, evaluated as rows of a table. The code does not grow with the number of muscles.

Two laws have the same structure if they have the same class and differ in numbers only. This module serves force laws
and activation dynamics.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array, Record, unchecked
from myoquat.joints.crossovers import MinRows
from myoquat.joints.ranges import ranges_of
from myoquat.joints.vectors import joined, rows_of, vector
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.symbolic.arrays import is_symbolic

OfLaw = Callable[[Any, Array], Array]  # of a law and its row (..., n), the results (..., m)
Law = TypeVar("Law", bound=Record)


def numbers_of(law: Record) -> dict[str, Any]:
    """The numbers of a law by name: floats, arrays or symbols. Those that are left open are none."""
    return {name: x for name in ranges_of(type(law)) if (x := getattr(law, name)) is not None}


def law_type_of(law: Record) -> tuple[type, tuple[tuple[str, Any], ...]]:
    """What laws of the same structure share: their class, and the fields that are not numbers, such as curves."""
    numbers = numbers_of(law)
    return type(law), tuple((f.name, getattr(law, f.name)) for f in fields(law) if f.name not in numbers)  # type: ignore[arg-type]


def of_laws(laws: Sequence[Record], function: OfLaw, rows: Sequence[Array], size: Callable[[Any], int]) -> list[Array]:
    """[(..., size(law)) function(law, row) of every law], from rows (..., n) of floats or symbols.

    In a traced kernel, laws of the same structure are one table. `function` then gets a law whose numbers are symbols.
    """
    results: dict[int, Array] = {}
    for members in _grouped(laws):
        if not MinRows.FORMULA.reached_by(len(members)):
            results |= {i: function(laws[i], rows[i]) for i in members}
            continue
        first = laws[members[0]]
        columns = _columns([laws[i] for i in members])
        symbols = {name: x for name, x in columns.items() if is_symbolic(x)}
        floats = {name: x for name, x in columns.items() if name not in symbols}
        stacked = rows_of(rows[i] for i in members)
        stacked = joined([stacked, *(x[:, None] for x in symbols.values())])
        numbers = np.array(list(floats.values())).reshape(len(floats), len(members)).T
        element = partial(_element, function, first, tuple(symbols), tuple(floats))
        found = map_rows(element, stacked, np.ascontiguousarray(numbers), size(first))
        results |= {i: found[..., k, :] for k, i in enumerate(members)}
    return [results[i] for i in range(len(laws))]


def stacked_laws(laws: Sequence[Law]) -> list[tuple[list[int], Law]]:
    """[(indices of k laws of the same structure, one law whose numbers are arrays (k,) where they differ)]."""
    groups = _grouped(laws)
    return [(members, unchecked(laws[members[0]], _columns([laws[i] for i in members]))) for members in groups]


def _element(
    function: OfLaw, first: Record, symbols: tuple[str, ...], floats: tuple[str, ...], row: Array, numbers: Array
) -> Array:
    """The function of a law with the structure of the first and other numbers, which are not checked."""
    own = row.shape[-1] - len(symbols)
    changes = {name: row[..., own + k] for k, name in enumerate(symbols)}
    changes |= {name: numbers[..., k] for k, name in enumerate(floats)}
    return function(unchecked(first, changes), row[..., :own])


def _grouped(laws: Sequence[Record]) -> list[list[int]]:
    """The indices of the laws, grouped by structure, in order. A law with arrays of numbers is a group by itself."""
    groups: dict[Hashable, list[int]] = {}
    for i, law in enumerate(laws):
        key: Hashable = law_type_of(law), tuple(x for x in numbers_of(law).values() if not _is_number(x))
        try:
            groups.setdefault(key, []).append(i)
        except TypeError:  # an array has no hash
            groups[i] = [i]
    return list(groups.values())


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, int)) or (is_symbolic(x) and x.ndim == 0)


def _columns(laws: Sequence[Record]) -> dict[str, Array]:
    """(k,) the numbers by name that are symbols in any of k laws of the same structure, as in a study, or differ."""
    found: dict[str, Array] = {}
    for name in numbers_of(laws[0]):
        values = [getattr(law, name) for law in laws]
        if any(map(is_symbolic, values)):
            found[name] = vector(values)
        elif values.count(values[0]) < len(values):
            found[name] = np.array(values, dtype=float)
    return found
