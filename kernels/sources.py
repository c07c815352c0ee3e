"""The formulas of this package as they are loaded: one digest, so that machine code of another formula is never served.

A kernel that is found by the content of a model instead of by its traced program must also name the formulas that would
have been traced. They are all in this package: the digest is of its source files as they were when it was imported.
Where that does not say what is loaded (a file changed since, as autoreload makes it, or a function put in another's
place) there is none, and kernels are found by tracing, which is always right.
"""

import functools
import hashlib
import operator
import os
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["sources_digest"]

_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(sys.modules[_PACKAGE].__path__[0])

_KNOWN = {  # whose functions may stand in this package's modules
    *(_PACKAGE, "_plotly_utils", "anywidget", "casadi", "click", "dask", "distributed", "ipywidgets", "lazy_loader"),
    *("llvmlite", "lxml", "matplotlib", "numpy", "pandas", "plotly", "scipy", "sympy", "tomlkit", "tqdm", "xarray"),
    "zarr",
}

Stamps = dict[str, tuple[int, int]]

_seen: dict[str, list[Any]] = {}  # module -> what stood in it when it was found whole


def _stamps() -> Stamps:
    """(time of change, size) of every source file of the package."""
    found: Stamps = {}
    for folder, folders, files in os.walk(_ROOT, followlinks=True):
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
        content = Path(path).read_bytes()
        total.update(f"{os.path.relpath(path, _ROOT)} {len(content)} ".encode())
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
    values = _values(module)
    seen = _seen.get(module.__name__, ())
    if len(seen) == len(values) and all(map(operator.is_, seen, values)):
        return True
    if not all(_is_known(value.__module__ or "") for value in values if isinstance(value, FunctionType)):
        return False
    _seen[module.__name__] = values
    return True


def _values(module: ModuleType) -> list[Any]:
    """What stands in a module and in its classes."""
    values = list(vars(module).values())
    for value in values:
        if isinstance(value, type) and value.__module__ == module.__name__:
            values += vars(value).values()
    return values


def _is_known(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _KNOWN or top in sys.stdlib_module_names
