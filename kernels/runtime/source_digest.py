"""The formulas of this package as they are loaded: one digest, so that machine code of another formula is never served.

A kernel may be found by the content of a model instead of by its traced program. Its key must then also name the
formulas that would have been traced. They are all in this package: the digest is of its source files as they were when
it was imported. There is no digest if a file changed since, as with autoreload, or if a function was replaced by
another one. Kernels are then found by tracing, which is always right.
"""

import functools
import hashlib
import itertools
import operator
import os
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["sources_digest"]

_PACKAGE = __name__.partition(".")[0]
_ROOT = os.path.join(sys.modules[_PACKAGE].__path__[0], "")

_KNOWN = {  # whose functions may stand in this package's modules
    *(_PACKAGE, "_plotly_utils", "anywidget", "casadi", "click", "dask", "distributed", "gymnasium", "ipywidgets"),
    *("lazy_loader", "llvmlite", "lxml", "matplotlib", "numpy", "pandas", "plotly", "scipy", "sympy", "tomlkit"),
    *("xarray", "zarr"),
}

Stamps = dict[str, tuple[int, int]]

# module -> what stood in it, and in each of its classes, when it was found whole
_seen: dict[str, tuple[list[Any], list[tuple[Mapping[str, Any], list[Any]]]]] = {}


def _roots() -> list[str]:
    """The folders of the sources: the package's, and those beside it in a clone without links."""
    inside, *beside = sys.modules[_PACKAGE].__path__
    return [
        inside,
        *(os.path.join(folder, name) for folder in beside for name in os.listdir(inside) if "." not in name),
    ]


def _stamps() -> Stamps:
    """(time of change, size) of every source file of the package."""
    found: Stamps = {}
    for folder, folders, files in itertools.chain.from_iterable(os.walk(root, followlinks=True) for root in _roots()):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                status = os.stat(path)
                found[path] = status.st_mtime_ns, status.st_size
    return found


_AT_IMPORT = _stamps()


def sources_digest() -> str | None:
    """SHA-256 of the package's sources, or None where they do not say what is loaded."""
    if not all(_is_unchanged(module) and _is_whole(module) for module in _modules()):
        return None
    return _digest()


@functools.cache
def _digest() -> str:
    total = hashlib.sha256()
    for path in sorted(_AT_IMPORT):
        with open(path, "rb", buffering=0) as file:  # `pathlib` takes as long again
            content = file.read()
        total.update(f"{path.removeprefix(_ROOT)} {len(content)} ".encode())
        total.update(content)
    return total.hexdigest()


def _modules() -> list[ModuleType]:
    # copied at once: while a list of the items is made, a finalizer may import
    return [module for name, module in sys.modules.copy().items() if f"{name}.".startswith(f"{_PACKAGE}.")]


def _is_unchanged(module: ModuleType) -> bool:
    """Whether the file of a module is what it was when the package was imported."""
    path = module.__file__
    if path is None:
        return True
    try:
        status = os.stat(path)
    except OSError:
        return False
    return _AT_IMPORT.get(path) == (status.st_mtime_ns, status.st_size)


def _is_whole(module: ModuleType) -> bool:
    """Whether the functions that stand in a module and in its classes are this package's or a library's own."""
    values, seen = list(vars(module).values()), _seen.get(module.__name__)
    if (
        seen is not None
        and _are_same(seen[0], values)
        and all(_are_same(x, list(content.values())) for content, x in seen[1])
    ):
        return True
    contents: list[tuple[Mapping[str, Any], list[Any]]] = []
    everything = list(values)
    for value in everything:  # which grows by what stands in classes
        if isinstance(value, type) and value.__module__ == module.__name__:
            contents.append((vars(value), list(vars(value).values())))
            everything += contents[-1][1]
    if not all(_is_known(value.__module__ or "") for value in everything if isinstance(value, FunctionType)):
        return False
    _seen[module.__name__] = values, contents
    return True


def _are_same(before: list[Any], now: list[Any]) -> bool:
    return len(before) == len(now) and all(map(operator.is_, before, now))


def _is_known(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _KNOWN or top in sys.stdlib_module_names
