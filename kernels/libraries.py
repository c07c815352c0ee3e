"""Libraries imported when they are first used: a process that finds its kernels in the cache needs few of them."""

import importlib
import sys
from typing import Any

__all__ = ["Library", "casadi"]


class Library:
    """A module that is imported when one of its attributes is first asked for, by any thread."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def imported(self) -> bool:
        """Whether anybody has imported it; what it defines cannot be met before."""
        return self._name in sys.modules

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)  # asked for once
        return found

    def __repr__(self) -> str:
        return f"<library {self._name!r}>"


casadi = Library("casadi")
