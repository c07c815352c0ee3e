"""What a file holds and this does not read: counted with lines, told in one warning."""

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

from joints.errors import ModelError

__all__ = ["Census", "UnsupportedWarning"]

SHOWN = 5  # lines named of each kind


class UnsupportedWarning(UserWarning):
    """Parts of a model file that were not read."""


class Census:
    """Elements that are not supported, by kind."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = defaultdict(list)

    def count(self, element: Any, what: str) -> None:
        """Note an element."""
        self._lines[f"{element.tag} ({what})"].append(element.sourceline)

    def report(self, path: Path, strict: bool) -> None:
        """One warning with counts and lines, or, where `strict`, a ModelError; nothing if nothing was left out."""
        if not self._lines:
            return
        parts = []
        for kind, lines in self._lines.items():
            shown = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
            parts.append(f"{len(lines)} {kind}, line{'s' * (len(lines) > 1)} {shown}")
        message = "not supported and left out: " + "; ".join(parts)
        if strict:
            raise ModelError(message, file=path)
        warnings.warn(f"{path}: {message}", UnsupportedWarning, stacklevel=4)
