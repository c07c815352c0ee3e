"""Which class a record is of: its name and, outside of this package, the code of its methods.

A researcher who runs a notebook's cell again defines a class of the same name anew, perhaps with another formula. Its
records must not be taken for those of the old one.
"""

import hashlib
import itertools
import marshal
import os
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["identity", "is_foreign", "stripped"]

OWN = "myoquat"
PLAIN = (str, bytes, int, float, bool, type(None))

_known: "WeakKeyDictionary[type, str]" = WeakKeyDictionary()
_foreign: "WeakKeyDictionary[type, bool]" = WeakKeyDictionary()
_fresh = itertools.count()


def identity(cls: type) -> str:
    """A text that identifies a class: module and name and, for classes of others, a digest of their methods.

    The same in every process, unless a method holds objects that cannot be compared (in a closure or among its
    defaults). Then no other class has it, here or elsewhere. What methods look up by name in their module is not
    followed.
    """
    found = _known.get(cls)
    if found is None:
        found = _known[cls] = ":".join([f"{cls.__module__}.{cls.__qualname__}", *map(_methods, _foreign_classes(cls))])
    return found


def is_foreign(cls: type) -> bool:
    """Whether methods of a class, or of its bases, are neither of this package nor Python's."""
    found = _foreign.get(cls)
    if found is None:
        found = _foreign[cls] = next(_foreign_classes(cls), None) is not None
    return found


def _foreign_classes(cls: type) -> Iterator[type]:
    """The class and its bases, as far as they are neither ours nor Python's."""
    return (base for base in cls.__mro__ if base.__module__.split(".")[0] not in (OWN, "builtins", "abc", "enum"))


def _methods(cls: type) -> str:
    total = hashlib.sha256()
    try:
        for name, member in sorted(vars(cls).items()):
            function = _function(member)
            if function is not None and (name == "__call__" or not name.startswith("__")):
                total.update(name.encode() + b"\0" + _encoded(function, cls))
    except ValueError:
        total.update(f"{os.urandom(8).hex()} {next(_fresh)}".encode())
    return total.hexdigest()[:16]


def _function(member: Any) -> FunctionType | None:
    """The function behind a method, a property, or a class or static method."""
    for attribute in ("fget", "func", "__func__"):
        member = getattr(member, attribute, None) or member
    return member if isinstance(member, FunctionType) else None


def _encoded(function: FunctionType, cls: type) -> bytes:
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return marshal.dumps((stripped(function.__code__), [_value(x) for x in values if x is not cls]), 2)


def _value(x: Any) -> Any:
    """The contents of a method, as data; ValueError for objects."""
    if isinstance(x, tuple):
        return tuple(map(_value, x))
    if isinstance(x, FunctionType) and not x.__closure__:
        return stripped(x.__code__)
    if type(x) not in PLAIN:
        raise ValueError(f"{type(x).__name__} cannot be compared")
    return x


def stripped(code: CodeType) -> CodeType:
    """The code without where it was written, and with sets among its constants in an order of their own."""
    return code.replace(
        co_filename="", co_firstlineno=1, co_linetable=b"", co_consts=tuple(map(_constant, code.co_consts))
    )


def _constant(x: Any) -> Any:
    if isinstance(x, CodeType):
        return stripped(x)
    return ("set", *sorted(map(repr, x))) if isinstance(x, frozenset) else x
