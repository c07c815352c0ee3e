"""What a file holds and this does not read: counted with lines, told in one warning."""

from typing import Any

from myoquat.data.leftovers import Tally

__all__ = ["Census", "UnsupportedWarning"]


class UnsupportedWarning(UserWarning):
    """Parts of a model file that were not read."""


class Census(Tally):
    """Elements that are not supported, by their lines."""

    warning = UnsupportedWarning
    opening = "not supported and left out"

    def count(self, element: Any, what: str) -> None:
        """Note an element."""
        self._found[f"{element.tag} ({what})"].append(element.sourceline)

    def described(self, kind: str, count: int, shown: str) -> str:
        return f"{count} {kind}, line{'s' * (count > 1)} {shown}"
