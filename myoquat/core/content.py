"""The content of records: an exact digest of what they hold, by which kernels and results are kept.

A record is a frozen dataclass of numbers, texts, enumeration members, None, and tuples, lists, sets, mappings, arrays
or records of these. Numbers count by their bits, so that 0.1 and its neighbour differ, and so do 0.0 and -0.0; records
by their class. How anything is printed plays no part.
"""

import hashlib
import math
import struct
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any

import numpy as np

from myoquat.core.class_content import identity, is_foreign
from myoquat.core.lazy_imports import masked
from myoquat.core.overwritten import overwritten

__all__ = ["FOREIGN", "content_digest", "content_key", "foreign_parts", "lasting_content"]

FOREIGN = "~"
_MARKED = len(FOREIGN) + 64

_met: ContextVar[list[object] | None] = ContextVar("met", default=None)  # what is foreign in what is being encoded


class _ForeignDigest(str):
    """A digest that begins with FOREIGN and knows the `parts` that make it so."""

    parts: tuple[object, ...]

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def content_digest(*values: object) -> str:
    """SHA-256 (hexadecimal) of the values, the same in every process.

    NumPy's numbers count as Python's, arrays as tuples, lists as tuples. Fields of dataclasses that do not take part in
    comparisons are left out. The code of classes of other packages may change without a trace in their content. If
    there are any among the values, the digest begins with FOREIGN, also through digests of digests. Raises TypeError,
    naming the class, for a value that is not a record (functions, symbols), and ValueError for NaN, which equals
    nothing.
    """
    outer, met = _met.get(), list[object]()
    token = _met.set(met)
    try:
        digest = hashlib.sha256(_encoded(values)).hexdigest()
    finally:
        _met.reset(token)
    if outer is not None:
        outer += met
    if not met:
        return digest
    foreign = _ForeignDigest(FOREIGN + digest)
    foreign.parts = tuple({id(part): part for part in met}.values())
    return foreign


def foreign_parts(key: object) -> list[object] | None:
    """The functions, classes and records in a key whose code is not in this package. None where not all are known, as
    for a digest that another process has made."""
    try:
        digest: object = content_digest(key)
    except (TypeError, ValueError):
        if isinstance(key, (tuple, list)) or _is_record(key):
            inner = [foreign_parts(item) for item in (key if isinstance(key, (tuple, list)) else _fields(key))]
            known = [part for parts in inner if parts is not None for part in parts]
            own = [key] if _is_record(key) and is_foreign(type(key)) else []
            return None if None in inner else [*own, *known]
        return [key]
    parts = list(digest.parts) if isinstance(digest, _ForeignDigest) else []
    return None if any(part is _UNKNOWN for part in parts) else parts


_UNKNOWN = object()


def _meet(part: object) -> None:
    """Note something foreign."""
    met = _met.get()
    if met is not None:
        met.append(part)


def lasting_content(key: object) -> str | None:
    """A key as a text that is the same in every process and depends on formulas of this package alone.

    None for keys with functions or other objects of this process, or classes of other packages. None also where a
    program has overwritten attributes of this package's classes or modules.
    """
    if overwritten() is not None:
        return None
    content = content_key(key)
    return content if isinstance(content, str) and not content.startswith(FOREIGN) else None


def content_key(value: object) -> Hashable:
    """A key for dictionaries in memory: equal for equal contents.

    Functions and other hashable objects that are no records count by identity.
    """
    try:
        return content_digest(value)
    except (TypeError, ValueError):
        if isinstance(value, (tuple, list)):
            return (type(value), *map(content_key, value))
        if _is_record(value):
            return (type(value), *map(content_key, _fields(value)))
        if isinstance(value, Hashable):
            return value
        raise


# ---- the encoding: a letter for the type, then the bits; parts of variable length begin with it -------------


def _encoded(value: object) -> bytes:
    encode = _ENCODERS.get(type(value))
    return encode(value) if encode is not None else _encoded_other(value)


def _encoded_float(value: float) -> bytes:
    if math.isnan(value):
        raise ValueError("NaN has no content: it equals nothing, itself included")
    return b"f" + struct.pack("<d", value)


def _encoded_text(value: str) -> bytes:
    if len(value) == _MARKED and value.startswith(FOREIGN):
        for part in getattr(value, "parts", (_UNKNOWN,)):
            _meet(part)
    return _sized(b"s", value.encode("utf-8", "surrogatepass"))


def _encoded_items(values: Iterable[object], tag: bytes = b"(") -> bytes:
    parts = [_encoded(value) for value in values]
    return b"%s%d:%s" % (tag, len(parts), b"".join(parts))


def _sized(tag: bytes, data: bytes) -> bytes:
    return b"%s%d:%s" % (tag, len(data), data)


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    NoneType: lambda value: b"n",
    bool: lambda value: b"b1" if value else b"b0",
    int: lambda value: _sized(b"i", b"%x" % value if value >= 0 else b"-%x" % -value),
    float: _encoded_float,
    str: _encoded_text,
    bytes: lambda value: _sized(b"y", value),
    tuple: _encoded_items,
    list: _encoded_items,
}


def _encoded_other(value: object) -> bytes:
    """Enumeration members, mappings, arrays and NumPy's numbers, subclasses of plain types, and records."""
    if isinstance(value, _ForeignDigest):
        return _encoded_text(value)
    if is_foreign(type(value)) and not isinstance(value, np.generic | np.ndarray) and not _is_of_python(type(value)):
        _meet(value)
    encode = next((encode for is_one, encode in _ENCODERS_OF_OTHERS if is_one(value)), None)
    if encode is not None:
        return encode(value)
    raise TypeError(
        f"{type(value).__module__}.{type(value).__qualname__} has no content that could be compared: numbers, texts, "
        "and frozen dataclasses of these have one"
    )


def _encoded_mapping(value: Mapping[object, object]) -> bytes:
    items = sorted((_encoded(key), _encoded(inner)) for key, inner in value.items())
    return b"{%d:%s" % (len(items), b"".join(key + inner for key, inner in items))


def _instance_of(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


# The first row that a value belongs to holds: subclasses of plain types count as these, but for tuples with a name.
_ENCODERS_OF_OTHERS: tuple[tuple[Callable[[object], bool], Callable[[Any], bytes]], ...] = (
    (_instance_of(Enum), lambda value: b"e" + _encoded_class(type(value)) + _encoded_text(value.name)),
    (_instance_of(Mapping), _encoded_mapping),
    (_instance_of(np.ndarray, np.generic), lambda value: _encoded_array(value)),
    (_instance_of(frozenset), lambda value: _sized(b"<", b"".join(sorted(map(_encoded, value))))),
    (lambda value: _is_record(value), lambda value: _encoded_class(type(value)) + _encoded_items(_fields(value), b"d")),
    (_instance_of(str), _ENCODERS[str]),
    (_instance_of(int), _ENCODERS[int]),
    (_instance_of(float), _ENCODERS[float]),
    (_instance_of(tuple), lambda value: _encoded_class(type(value)) + _encoded_items(value)),
)


def _encoded_class(tag: type) -> bytes:
    return _encoded_text(identity(tag))


def _is_of_python(tag: type) -> bool:
    """Whether a class is one of the standard library."""
    return tag.__module__.partition(".")[0] in sys.stdlib_module_names and tag.__module__ != "__main__"


def _encoded_array(value: np.ndarray | np.generic) -> bytes:
    if value.dtype.kind not in "biufUO" or value.dtype == np.longdouble or masked(value):
        raise TypeError(f"{type(value).__name__} of {value.dtype} has no content that could be compared")
    return _encoded(value.tolist())


def _is_record(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _fields(record: Any) -> list[object]:
    """The values of the fields in which records of a class differ."""
    return [getattr(record, name) for name in _names(record.__class__)]


@cache
def _names(tag: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass in which its instances differ."""
    return tuple(f.name for f in fields(tag) if f.compare)
