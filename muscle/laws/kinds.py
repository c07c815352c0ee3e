"""Laws of one kind, evaluated as rows of a table: code that does not grow with the number of muscles.

Laws are of one kind that are of one class and differ in nothing but numbers: force laws, and activation dynamics.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.records import Record, unchecked
from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels.control_flow.crossovers import MinRows
from myoquat.kernels.control_flow.map_rows import map_rows
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["of_laws", "stacked_laws"]


OfLaw = Callable[[Any, Array], Array]  # of a law and its row (..., n), the results (..., m)


class _Kind(NamedTuple):
    """Laws of one kind: the first of them, the names of the numbers that are symbols in any of them, as in a study, and
    of those that differ, which are the columns of `numbers` (k, c)."""

    first: Record
    symbols: tuple[str, ...]
    names: tuple[str, ...]
    numbers: Array


def of_laws(laws: Sequence[Record], function: OfLaw, rows: Sequence[Array], size: int) -> list[Array]:
    """[(..., size) function(law, row) of every law], from rows (..., n): the formula, on floats and symbols.

    While a kernel is traced, laws of one kind are one table; `function` then sees a law whose numbers are symbols.
    """
    results: dict[int, Array] = {}
    for members in _grouped(laws, rows):
        if not MinRows.FORMULA.reached_by(len(members)):
            results |= {i: function(laws[i], rows[i]) for i in members}
            continue
        kind = _kind([laws[i] for i in members])
        own = [[as_array(getattr(laws[i], name))[..., None] for name in kind.symbols] for i in members]
        given = [joined([rows[i], *symbols]) for i, symbols in zip(members, own, strict=True)]
        stacked = np.stack(np.broadcast_arrays(*given, subok=True), axis=-2)
        found = map_rows(partial(_element, function, kind), stacked, kind.numbers, size)
        results |= {i: found[..., k, :] for k, i in enumerate(members)}
    return [results[i] for i in range(len(laws))]


def stacked_laws(laws: Sequence[ForceLaw]) -> list[tuple[list[int], ForceLaw]]:
    """[places of laws of one kind, one law that has their numbers as arrays (k,)], for laws of floats."""
    found = []
    for members in _grouped(laws, [np.zeros(0)] * len(laws)):
        kind = _kind([laws[i] for i in members])
        changes = {name: kind.numbers[:, k] for k, name in enumerate(kind.names)}
        found.append((members, unchecked(kind.first, changes)))
    return found


def _element(function: OfLaw, kind: _Kind, row: Array, numbers: Array) -> Array:
    """What the function gives for a law like the first with other numbers, past its checks."""
    own = row.shape[-1] - len(kind.symbols)
    changes = {name: row[..., own + k] for k, name in enumerate(kind.symbols)}
    changes |= {name: numbers[..., k] for k, name in enumerate(kind.names)}
    return function(unchecked(kind.first, changes), row[..., :own])


def _grouped(laws: Sequence[Record], rows: Sequence[Array]) -> list[list[int]]:
    """The places of the laws, those of one kind together, in order; one with arrays of numbers by itself."""
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


def _kind(laws: Sequence[Record]) -> _Kind:
    """The kind of some laws: of their numbers those that are symbols, and those that are not the same in all."""
    columns = {name: [getattr(law, name) for law in laws] for name, value in _fields(laws[0]) if _is_number(value)}
    symbols = tuple(name for name, values in columns.items() if any(map(_is_symbol, values)))
    names = tuple(name for name, values in columns.items() if name not in symbols and len(set(values)) > 1)
    table = np.array([columns[name] for name in names], dtype=float).reshape(len(names), len(laws)).T
    return _Kind(laws[0], symbols, names, np.ascontiguousarray(table))
