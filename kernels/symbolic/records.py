"""Records of arrays: frozen dataclasses, named tuples, tuples and dictionaries, nested, as lists of arrays and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["Structure", "arrays_of", "structure_of"]


@dataclass(frozen=True)
class Structure:
    """The type of a record and its parts by name; of an array (type None) the shape. Equal records have equal ones."""

    type: Any
    parts: tuple[tuple[Any, "Structure"], ...] = ()
    shape: tuple[int, ...] = ()

    def record(self, arrays: Sequence[Any]) -> Any:
        """The record of these arrays, in the order of `arrays_of`."""
        return self._record(iter(arrays))

    def _record(self, arrays: Iterator[Any]) -> Any:
        if self.type is None:
            return next(arrays)
        parts = {name: part._record(arrays) for name, part in self.parts}
        if self.type is dict:
            return parts
        if self.type in (tuple, list):
            return self.type(parts.values())
        return self.type(**parts)

    def names(self, prefix: str = "") -> list[str]:
        """The name of every array: 'bracket.lower', or '[0]' in a tuple; one array has none."""
        if self.type is None:
            return [prefix]
        found = []
        for name, part in self.parts:
            own = f"[{name!r}]" if self.type in (tuple, list, dict) else f".{name}" if prefix else name
            found += part.names(prefix + own)
        return found

    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of every array."""
        return [self.shape] if self.type is None else [shape for _, part in self.parts for shape in part.shapes()]


def structure_of(record: Any) -> Structure:
    """The structure of a record; ValueError for what is neither a record nor an array of numbers."""
    parts = _parts(record)
    if parts is None:
        return Structure(None, shape=as_array(record).shape)
    return Structure(type(record), tuple((name, structure_of(part)) for name, part in parts))


def arrays_of(record: Any) -> list[Array]:
    """The arrays of a record, depth first."""
    parts = _parts(record)
    if parts is None:
        return [as_array(record)]
    return [array for _, part in parts for array in arrays_of(part)]


def _parts(record: Any) -> list[tuple[Any, Any]] | None:
    """(name, part) of a record, None of an array."""
    if is_dataclass(record) and not isinstance(record, type):
        return [(f.name, getattr(record, f.name)) for f in fields(record)]
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return list(zip(record._fields, record, strict=True))
    if isinstance(record, (tuple, list)):
        return list(enumerate(record))
    return list(record.items()) if isinstance(record, Mapping) else None
