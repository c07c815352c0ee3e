"""Attributes of this package's classes that a program has overwritten: kernels of the old formulas are not used.

A class that is a record has `RecordType` as its metaclass, which sees each attribute that is set or deleted. While all
attributes are those of the package, this costs nothing at a call.
"""

import itertools
import sys
from abc import ABCMeta
from typing import Any

__all__ = ["RecordType", "overwritten"]

_PACKAGE = "myoquat"
_MISSING = object()
_NO_FORMULAS = {"__abstractmethods__", "__annotations__", "__doc__", "__slotnames__", "_abc_impl"}  # Python sets these

_original: dict[tuple[type, str], object] = {}  # attributes that have been overwritten, as the package had them
_numbers = itertools.count(1)
_state: int | None = None


def overwritten() -> int | None:
    """A number for the overwritten attributes as they are now; None where all are those of the package.

    The number changes with each change, so that equal numbers mean equal attributes.
    """
    return _state


class RecordType(ABCMeta):
    """The class of records. It reports attributes of the package's classes that are overwritten."""

    def __setattr__(cls, name: str, value: Any) -> None:
        before = vars(cls).get(name, _MISSING)
        super().__setattr__(name, value)
        _report(cls, name, before, value)

    def __delattr__(cls, name: str) -> None:
        before = vars(cls).get(name, _MISSING)
        super().__delattr__(name)
        _report(cls, name, before, _MISSING)


def _report(cls: type, name: str, before: object, value: object) -> None:
    global _state
    if name in _NO_FORMULAS or before is value or not _is_loaded(cls.__module__):
        return
    if _original.setdefault((cls, name), before) is value:
        del _original[cls, name]
    _state = next(_numbers) if _original else None


def _is_loaded(module: str) -> bool:
    """Whether a module is of this package and has been imported: while it is, decorators still set attributes."""
    if module.partition(".")[0] != _PACKAGE:
        return False
    specification = getattr(sys.modules.get(module), "__spec__", None)
    return not getattr(specification, "_initializing", False)
