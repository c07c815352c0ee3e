"""A module in units: parts that stand by themselves, each compiled while the rest is still being written."""

import re
from collections.abc import Callable

__all__ = ["METADATA", "Units"]

METADATA = ("!0 = !{}", "!1 = !{i32 1}")  # of loads of what nothing writes, and of stores past the caches

UNIT_CHARACTERS = 200_000  # characters of a unit, about: fewer than a thousand operations
_UNITS_BEFORE_GROWTH = 4  # units after which they grow: each takes its time when the kernel is loaded from the cache
_SYMBOL = re.compile(r"@([\w.]+)")


class Units:
    """Takes the functions of a module as they are written, and gives them away in units, the same ones every time.

    A unit is assembly that can be compiled alone. It has functions, the constants to which they refer, and declarations
    of the functions that are defined elsewhere (`know`).
    """

    def __init__(self, give: Callable[[str], None]) -> None:
        self._give = give
        self._known: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._size = 0
        self._given = 0

    def know(self, name: str, line: str) -> None:
        """How a unit that does not define @name comes to know it."""
        self._known[name] = line

    def define(self, name: str, declaration: str, text: str, shared: bool = False) -> None:
        """One more function, and how units know it in which it does not stand. A `shared` one is a unit by itself."""
        self._known[name] = declaration
        if shared:
            self._give_away({name: text}, set(_SYMBOL.findall(text)))
            return
        self._waiting[name] = text
        self._wanted.update(_SYMBOL.findall(text))
        self._size += len(text)
        if (
            self._size >= UNIT_CHARACTERS * max(1, self._given // _UNITS_BEFORE_GROWTH)
            and self._wanted <= self._known.keys()
        ):
            self.finish()

    def finish(self) -> None:
        """Give away what is there, if anything."""
        if self._waiting:
            self._give_away(self._waiting, self._wanted)
            self._given += 1
        self._waiting, self._wanted, self._size = {}, set(), 0

    def _give_away(self, functions: dict[str, str], wanted: set[str]) -> None:
        """Give a unit away: functions, and how it knows what else they refer to."""
        elsewhere = sorted(name for name in wanted if name not in functions)
        known = [self._known[name] for name in elsewhere if name in self._known]
        self._give("\n".join([*known, *functions.values(), *METADATA, ""]))
