"""Libraries imported when they are first used: a process that finds its kernels in the cache needs few of them."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

__all__ = [
    "Library",
    "casadi",
    "difflib",
    "html",
    "is_imported",
    "masked",
    "metadata",
    "pandas",
    "resources",
    "scipy",
    "subprocess",
    "sympy",
    "tomlkit",
    "xarray",
]


class Library:
    """A module that is imported when one of its attributes is first asked for, by any thread."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)  # asked for once
        return found

    def __repr__(self) -> str:
        return f"<library {self._name!r}>"


def is_imported(name: str) -> bool:
    """Whether anybody has imported a library; what it defines cannot be met before."""
    return name in sys.modules


def masked(array: Any) -> bool:
    """Whether an array is one of NumPy's masked arrays, whose module is not imported before anybody asks for one."""
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(array, kind)


if TYPE_CHECKING:
    import difflib
    import html
    import subprocess
    from importlib import metadata, resources

    import casadi
    import pandas
    import scipy
    import sympy
    import tomlkit
    import xarray
else:
    casadi = Library("casadi")
    difflib = Library("difflib")
    html = Library("html")
    metadata = Library("importlib.metadata")
    pandas = Library("pandas")
    resources = Library("importlib.resources")
    scipy = Library("scipy")  # it imports its parts when they are first used
    tomlkit = Library("tomlkit")
    subprocess = Library("subprocess")
    sympy = Library("sympy")
    xarray = Library("xarray")
