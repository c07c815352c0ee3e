"""Attributes of this package's classes and modules that a program has overwritten: kernels of the old formulas are not
used.

A class that is a record has `RecordType` as its metaclass, which sees each attribute that is set or deleted. A module
of the package is a `PackageModule`, which sees the same of its globals; its own code writes them without it. While all
attributes are those of the package, this costs nothing at a call.
"""

import itertools
import sys
from abc import ABCMeta
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

__all__ = ["PackageModule", "RecordType", "overwritten", "watch_modules"]

_PACKAGE = "myoquat"
_MISSING = object()
_NO_FORMULAS = {"__abstractmethods__", "__annotations__", "__doc__", "__slotnames__", "_abc_impl"}  # Python sets these

# attributes that have been overwritten, as the package had them
_original: dict[tuple[type | ModuleType, str], object] = {}
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


class PackageModule(ModuleType):
    """A module of the package. It reports globals that are overwritten from outside."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = vars(self).get(name, _MISSING)
        super().__setattr__(name, value)
        if getattr(value, "__name__", None) != f"{self.__name__}.{name}":  # a submodule, set when it is imported
            _report(self, name, before, value)

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name, _MISSING)
        super().__delattr__(name)
        _report(self, name, before, _MISSING)


class _Loader(SourceFileLoader):
    """Loads a source file as a `PackageModule`."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return PackageModule(spec.name)


class _Finder:
    """Finds modules of the package as Python does, and loads them by `_Loader`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(f"{_PACKAGE}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def watch_modules() -> None:
    """Load the modules of the package from now on so that overwritten globals are reported."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _report(owner: type | ModuleType, name: str, before: object, value: object) -> None:
    global _state
    module = owner.__module__ if isinstance(owner, type) else owner.__name__
    special = name in _NO_FORMULAS or (isinstance(owner, ModuleType) and name.startswith("__"))
    if special or before is value or not _is_loaded(module):
        return
    if _original.setdefault((owner, name), before) is value:
        del _original[owner, name]
    _state = next(_numbers) if _original else None


def _is_loaded(module: str) -> bool:
    """Whether a module is of this package and has been imported: while it is, decorators still set attributes."""
    if module.partition(".")[0] != _PACKAGE:
        return False
    specification = getattr(sys.modules.get(module), "__spec__", None)
    return not getattr(specification, "_initializing", False)
