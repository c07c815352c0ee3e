"""The content of records: an exact digest of what they hold, by which kernels and results are kept.

A record is a frozen dataclass of numbers, texts, enumeration members, None, and tuples, lists, sets, mappings, arrays
or records of these. Numbers count by their bits, so that 0.1 and its neighbour differ, and so do 0.0 and -0.0; records
by the name of their class. How anything is printed plays no part.

A contract stands in place of watching. The formulas of this package are those of its source files when it was imported:
`package_digest` tells them from those of other versions. Code from outside the package may read globals, closures and
attributes that no content shows. The digest of a record of such a class says so, and whoever keeps something by content
asks for `lasting_content`, which there is none of.
"""

import functools
import hashlib
import itertools
import math
import os
import struct
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from .lazy_imports import masked

T = TypeVar("T")

FOREIGN = "~"
_PACKAGE = "myoquat"
_MARKED = len(FOREIGN) + 64
_IMPORTED_NS = time.time_ns()
_LENGTH = struct.Struct("<Q")

_foreign: "WeakKeyDictionary[type, bool]" = WeakKeyDictionary()
_met: ContextVar[bool] = ContextVar("met", default=False)  # whether what is being encoded has foreign parts


# ---- what is kept by content -------------------------------------------------------------------------------


class BoundedTable(Generic[T]):
    """What is kept by key, for all threads of a process, as long as the sum of its sizes is at most `limit`, each 1
    unless a function says more. Beyond that the one goes that was not asked for the longest. Two threads may make the
    same thing at once; the one that was ready first is kept."""

    def __init__(self, limit: int, size: Callable[[T], int] = lambda kept: 1) -> None:
        self._limit, self._size, self._total = limit, size, 0
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], lasts: Callable[[], bool] = lambda: True) -> T:
        """What is kept under the key, made where there is nothing, and kept if it `lasts` then."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        if not lasts():
            return made
        with self._lock:
            if key not in self._kept:
                self._total += self._size(made)
            found = self._kept.setdefault(key, made)
            while self._total > self._limit:
                self._total -= self._size(self._kept.popitem(last=False)[1])
        return found


# ---- digests of parts --------------------------------------------------------------------------------------


def digest(*parts: bytes | str) -> str:
    """Hexadecimal SHA-256 of the parts, each with its length, so that no two lists of parts share a digest."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(_LENGTH.pack(len(data)))
        total.update(data)
    return total.hexdigest()


@functools.cache
def package_digest() -> str:
    """SHA-256 of the source files of this package, so that machine code of another formula is never served.

    A file counts by its path, its size and the time of its last change, by which Python itself knows whether byte code
    is that of a source. Reading a thousand files would take a process longer than its first lengths. Formulas do not
    change while a process runs. Where a file has been written since the package was imported, the text that was loaded
    is not known. The digest is then one of this process alone.
    """
    inside, *beside = sys.modules[_PACKAGE].__path__
    # in a clone without links, the packages lie beside the first folder
    roots = [os.path.join(folder, name) for folder in beside for name in os.listdir(inside) if "." not in name]
    sources = sorted(itertools.chain.from_iterable(map(_sources, (inside, *roots))))
    own = os.urandom(16) if max(written for _, _, written in sources) > _IMPORTED_NS else b""
    return digest(os.path.realpath(inside), repr(sources), own)


def _sources(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of the last change [ns] of each source file in a folder and below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _sources(entry.path)


# ---- digests of content ------------------------------------------------------------------------------------


def is_foreign(cls: type) -> bool:
    """Whether methods of a class, or of its bases, are neither of this package nor Python's."""
    found = _foreign.get(cls)
    if found is None:
        tops = {base.__module__.partition(".")[0] for base in cls.__mro__}
        found = _foreign[cls] = not tops <= {_PACKAGE, "builtins", "abc", "enum"}
    return found


def content_digest(*values: object) -> str:
    """SHA-256 (hexadecimal) of the values, the same in every process.

    NumPy's numbers count as Python's, arrays as tuples, lists as tuples. Fields of dataclasses that do not take part in
    comparisons are left out. The code of classes of other packages may change without a trace in their content. If
    there are any among the values, the digest begins with FOREIGN, also through digests of digests. Raises TypeError,
    naming the class, for a value that is not a record (functions, symbols), and ValueError for NaN, which equals
    nothing.
    """
    token = _met.set(False)
    try:
        found = hashlib.sha256(_encoded(values)).hexdigest()
        return FOREIGN + found if _met.get() else found
    finally:
        _met.reset(token)


def lasting_content(key: object) -> str | None:
    """A key as a text that is the same in every process and depends on formulas of this package alone.

    None for keys with functions or other objects of this process, or with classes of other packages.
    """
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
        _met.set(True)
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
    """All other types: those of the table below."""
    cls = type(value)
    known = isinstance(value, np.generic | np.ndarray) or _is_of_python(cls)
    if not known and is_foreign(cls):
        _met.set(True)
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
    (lambda value: isinstance(value, type) and not is_foreign(value), lambda value: b"c" + _encoded_class(value)),
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
    return _encoded_text(f"{tag.__module__}.{tag.__qualname__}")


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


@functools.cache
def _names(tag: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass in which its instances differ."""
    return tuple(f.name for f in fields(tag) if f.compare)
