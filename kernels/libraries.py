"""Libraries imported when they are first used: a process that finds its kernels in the cache needs few of them."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["Library", "casadi", "is_imported", "pandas", "scipy", "sympy", "xarray"]


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


if TYPE_CHECKING:
    import casadi
    import pandas
    import scipy
    import sympy
    import xarray
else:
    casadi = Library("casadi")
    pandas = Library("pandas")
    scipy = Library("scipy")  # it imports its parts when they are first used
    sympy = Library("sympy")
    xarray = Library("xarray")
