"""What a model holds and a file of another program cannot: counted by name, told in one warning."""

import warnings
from collections import defaultdict
from pathlib import Path

from joints.errors import ModelError

__all__ = ["Leftovers", "UnwrittenWarning"]

SHOWN = 5  # names told of each kind


class UnwrittenWarning(UserWarning):
    """Parts of a model that a file does not hold."""


class Leftovers:
    """Parts of a model that are not written, by kind."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = defaultdict(list)

    def count(self, what: str, name: str) -> None:
        """Note a part."""
        self._names[what].append(name)

    def report(self, path: Path, strict: bool) -> None:
        """One warning with counts and names, or, where `strict`, a ModelError; nothing if nothing was left out."""
        if not self._names:
            return
        parts = []
        for what, names in self._names.items():
            shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            parts.append(f"{len(names)} {what} ({shown})")
        message = "the file cannot hold: " + "; ".join(parts)
        if strict:
            raise ModelError(message, file=path)
        warnings.warn(f"{path}: {message}", UnwrittenWarning, stacklevel=4)
