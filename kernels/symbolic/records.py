"""Records of arrays: frozen dataclasses, named tuples, tuples and dictionaries, nested, as lists of arrays and back.

An array holds numbers or conditions. A field made by `static` holds no array: it is part of the record's structure.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array, frozen

from .arrays import as_array, is_symbolic
from .elements import is_term
from .operations import OPERATIONS

Record = TypeVar("Record")

_STATIC = "static"


def static() -> Any:
    """The default of a field of a frozen dataclass whose value holds no array.

    The value is hashable and part of the structure of the record, such as the type of a surface. Records whose static
    fields differ have different structures.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from myoquat import kernels
    >>> @dataclass(frozen=True)
    ... class Power:
    ...     x: np.ndarray
    ...     exponent: int = kernels.static()
    >>> raised = lambda power: Power(power.x**power.exponent, power.exponent)
    >>> kernels.while_loop(lambda power: power.x < 50.0, raised, Power(np.array([3.0, 9.0]), 2), max_steps=9).x
    array([81., 81.])
    """
    return field(metadata={_STATIC: True})


@frozen
class Structure:
    """The type of a record, and its parts by name. Equal records have equal structures. For an array, the type is None,
    with its shape and whether its elements are conditions. For a static field, the type is `Hashable`, with its value.
    """

    type: Any
    parts: tuple[tuple[Any, "Structure"], ...] = ()
    shape: tuple[int, ...] = ()
    condition: bool = False
    value: Any = None

    def record(self, arrays: Sequence[Any]) -> Any:
        """The record of these arrays, in the order of `arrays_of`."""
        return self._record(iter(arrays))

    def _record(self, arrays: Iterator[Any]) -> Any:
        if self.type is None:
            return next(arrays)
        if self.type is Hashable:
            return self.value
        parts = {name: part._record(arrays) for name, part in self.parts}
        if self.type is dict:
            return parts
        if self.type in (tuple, list):
            return self.type(parts.values())
        return self.type(**parts)

    def unpacked(self, columns: Array) -> Any:
        """The record of columns (n,), of which the first are its own."""
        arrays, first = [], 0
        for leaf in self.leaves:
            size = math.prod(leaf.shape)
            array = columns[first : first + size].reshape(leaf.shape)
            arrays.append(array > 0 if leaf.condition else array)
            first += size
        return self.record(arrays)

    def names(self, prefix: str = "") -> list[str]:
        """The name of every array: 'bracket.lower', or '[0]' in a tuple; one array has none."""
        if self.type is None:
            return [prefix]
        found: list[str] = []
        for name, part in self.parts:
            own = f"[{name!r}]" if self.type in (tuple, list, dict) else f".{name}" if prefix else name
            found += part.names(prefix + own)
        return found

    @cached_property
    def leaves(self) -> "tuple[Structure, ...]":
        """The structure of every array."""
        return (self,) if self.type is None else tuple(leaf for _, part in self.parts for leaf in part.leaves)

    @cached_property
    def _hash(self) -> int:
        return hash((self.type, self.parts, self.shape, self.condition, self.value))

    def __hash__(self) -> int:
        return self._hash


def flattened(record: Any) -> tuple[Structure, list[Array]]:
    """The structure of a record, and its arrays, depth first; ValueError for what is neither a record nor an array of
    numbers or conditions."""
    arrays: list[Array] = []
    return _structure(record, arrays), arrays


def structure_of(record: Any) -> Structure:
    """The structure of a record; ValueError as `flattened`."""
    return flattened(record)[0]


def arrays_of(record: Any) -> list[Array]:
    """The arrays of a record, depth first; ValueError as `flattened`."""
    parts = _parts(record)
    if parts is None:
        return [_array(record)]
    return [array for _, part, fixed in parts if not fixed for array in arrays_of(part)]


def arrays_if_alike(old: Any, new: Any) -> list[Array] | None:
    """The arrays of the record `new`, depth first, if it has the structure of another one but for which arrays hold
    conditions; None if not. ValueError as `flattened`."""
    parts, others = _parts(old), _parts(new)
    if parts is None:
        array = None if others is not None else _array(new)
        return None if array is None or array.shape != np.shape(old) else [array]
    if others is None or type(old) is not type(new) or len(parts) != len(others):
        return None
    arrays: list[Array] = []
    for (name, part, fixed), (other, value, _) in zip(parts, others, strict=True):
        inside = [] if fixed else arrays_if_alike(part, value)
        if inside is None or name != other or (fixed and part is not value and part != value):
            return None
        arrays += inside
    return arrays


def _structure(record: Any, arrays: list[Array]) -> Structure:
    """The structure of a record, whose arrays are appended."""
    parts = _parts(record)
    if parts is None:
        array = _array(record)
        arrays.append(array)
        return Structure(None, shape=array.shape, condition=_holds_conditions(array))
    return Structure(
        type(record),
        tuple(
            (name, Structure(Hashable, value=part) if fixed else _structure(part, arrays))
            for name, part, fixed in parts
        ),
    )


def choose(condition: Array, yes: Record, no: Record) -> Record:
    """The record `yes` where a condition (...) on the batch axes holds, elsewhere `no`, array by array.

    >>> import numpy as np
    >>> from myoquat.kernels import choose
    >>> pairs = [(np.full(2, x), np.full((2, 1), x)) for x in (1.0, 2.0)]
    >>> choose(np.array([True, False]), *pairs)[0]
    array([1., 2.])
    """
    structure, arrays_of_yes = flattened(yes)
    arrays = zip(arrays_of_yes, arrays_of(no), strict=True)
    chosen: Record = structure.record([_chosen(condition, x, y) for x, y in arrays])
    return chosen


def _chosen(condition: Array, x: Array, y: Array) -> Array:
    if any(_holds_conditions(array) for array in (x, y)):
        x, y = (array if _holds_conditions(array) else array > 0 for array in (x, y))
        result: Array = (condition & x) | (~condition & y)
        return result
    more = max(x.ndim, y.ndim) - np.ndim(condition)
    return np.where(condition[(..., *[None] * more)], x, y)


def numbers_of(array: Array) -> Array:
    """An array of numbers as it is; of conditions 1 where they hold and 0 elsewhere."""
    return np.where(array, 1.0, 0.0) if _holds_conditions(array) else array


def _array(x: Any) -> Array:
    if isinstance(x, (bool, np.bool_)) or (type(x) is np.ndarray and x.dtype == bool):
        return np.asarray(x)
    return as_array(x)


def _holds_conditions(array: Array) -> bool:
    """Whether the elements are conditions; a condition that is known while a formula is traced is a number."""
    if not is_symbolic(array):
        return array.dtype == bool
    name = next((x.operation for x in np.asarray(array).flat if is_term(x)), "")
    return name in OPERATIONS and OPERATIONS[name].condition


def _parts(record: Any) -> list[tuple[Any, Any, bool]] | None:
    """(name, part, whether it is static) of a record, None of an array."""
    if isinstance(record, np.ndarray):
        return None
    if is_dataclass(record) and not isinstance(record, type):
        return [(name, getattr(record, name), fixed) for name, fixed in _fields(type(record))]
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return [(name, part, False) for name, part in zip(record._fields, record, strict=True)]
    if isinstance(record, (tuple, list)):
        return [(i, part, False) for i, part in enumerate(record)]
    return [(name, part, False) for name, part in record.items()] if isinstance(record, Mapping) else None


@lru_cache(maxsize=512)
def _fields(cls: Any) -> list[tuple[str, bool]]:
    """The names of a dataclass's fields, and whether each is static."""
    return [(f.name, bool(f.metadata.get(_STATIC))) for f in fields(cls)]
