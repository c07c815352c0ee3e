"""Laws of one kind, evaluated as rows of a table: code that does not grow with the number of muscles.

Laws are of one kind that are of one class and differ in nothing but numbers.
"""

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.kernels.elements import is_term
from myoquat.kernels.mapped import mapped
from myoquat.kernels.typing import Array
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["of_laws"]

FEWEST = 4  # laws of a kind from which a table pays

OfLaw = Callable[[Any, Array], Array]  # of a law and its row (..., n), the results (..., m)


class _Kind(NamedTuple):
    """Laws of one kind: their places, the first of them, and the numbers (k, c) that differ, by name."""

    members: list[int]
    first: ForceLaw
    names: tuple[str, ...]
    numbers: Array


def of_laws(laws: Sequence[ForceLaw], function: OfLaw, rows: Sequence[Array], size: int) -> list[Array]:
    """[(..., size) function(law, row) of every law], from rows (..., n): the formula, on floats and symbols.

    While a kernel is traced, laws of one kind are one table; `function` then sees a law whose numbers are symbols.
    """
    results: dict[int, Array] = {}
    for members in _grouped(laws, rows):
        kind = _kind([laws[i] for i in members], members) if len(members) >= FEWEST else None
        if kind is None:
            results |= {i: function(laws[i], rows[i]) for i in members}
            continue
        stacked = np.stack(np.broadcast_arrays(*(rows[i] for i in members), subok=True), axis=-2)
        element = partial(_element, function, kind.first, kind.names)
        found = mapped(element, stacked, kind.numbers, size)
        results |= {i: found[..., k, :] for k, i in enumerate(members)}
    return [results[i] for i in range(len(laws))]


def _element(function: OfLaw, first: ForceLaw, names: tuple[str, ...], row: Array, numbers: Array) -> Array:
    """What the function gives for a law like `first` with other numbers, past its checks."""
    law = copy.copy(first)
    for k, name in enumerate(names):
        object.__setattr__(law, name, numbers[..., k])
    return function(law, row)


def _grouped(laws: Sequence[ForceLaw], rows: Sequence[Array]) -> list[list[int]]:
    """The places of the laws, those of one kind together, in order."""
    groups: dict[Hashable, list[int]] = {}
    for i, (law, row) in enumerate(zip(laws, rows, strict=True)):
        groups.setdefault((*_settings(law), row.shape[-1]) if _is_known(law) else i, []).append(i)
    return list(groups.values())


def _settings(law: ForceLaw) -> tuple[Hashable, ...]:
    """The class of a law, and what it has beside numbers."""
    return (type(law), *(getattr(law, f.name) for f in fields(law) if not _is_number(law, f.name)))  # type: ignore[arg-type]


def _is_known(law: ForceLaw) -> bool:
    """Whether the law has numbers and settings only, no arrays or symbols: it does not vary in a study."""
    try:
        hash(_settings(law))
    except TypeError:
        return False
    return not any(is_term(getattr(law, f.name)) for f in fields(law))  # type: ignore[arg-type]


def _is_number(law: ForceLaw, name: str) -> bool:
    value = getattr(law, name)
    return isinstance(value, (float, int)) and not isinstance(value, bool)


def _kind(laws: Sequence[ForceLaw], members: list[int]) -> _Kind:
    """The kind of some laws: of their numbers those that are not the same in all."""
    numbers = {f.name for f in fields(laws[0]) if _is_number(laws[0], f.name)}  # type: ignore[arg-type]
    names = tuple(name for name in sorted(numbers) if len({getattr(law, name) for law in laws}) > 1)
    table = [[float(getattr(law, name)) for name in names] for law in laws]
    return _Kind(members, laws[0], names, np.array(table).reshape(len(laws), len(names)))
