"""The attributes of an element, those of its default class among them, each checked when it is asked for."""

from collections.abc import Iterable, Mapping

from myoquat.data.xml import BASE, MOBILITY, Element, checked_numbers, complain

__all__ = ["Values", "attributes"]


def attributes(element: Element) -> dict[str, str]:
    """The attributes that stand in the file."""
    return {str(key): str(value) for key, value in element.attrib.items() if key not in (BASE, MOBILITY)}


class Values:
    """The attributes of an element, with the element's own above those of its default class.

    It records which attributes were read, so that the others can be reported (`unread`).
    """

    def __init__(self, element: Element, inherited: Mapping[str, str]) -> None:
        self.element = element
        self._given = {**inherited, **attributes(element)}
        self._asked: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the attribute is given."""
        self._asked.add(key)
        return key in self._given

    def text(self, key: str, default: str | None = None) -> str:
        """The attribute as text; ModelError where it is missing and there is no default."""
        self._asked.add(key)
        value = self._given.get(key, default)
        if value is None:
            complain(self.element, f"<{self.element.tag}> needs the attribute {key!r}")
        return value

    def word(self, key: str, allowed: Iterable[str], default: str) -> str:
        """One of the `allowed` words."""
        value, words = self.text(key, default), tuple(allowed)
        if value not in words:
            complain(self.element, f"{key} is one of {', '.join(words)}, not {value!r}")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        return self.word(key, ("true", "false"), "true" if default else "false") == "true"

    def numbers(self, key: str, least: int, most: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """From `least` to `most` finite numbers, or the default where the attribute is missing."""
        if default is not None and not self.has(key):
            return default
        return checked_numbers(self.element, key, self.text(key), least, most)

    def vector(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has."""
        return self.numbers(key, len(default), len(default), default)

    def number(self, key: str, default: float | None = None) -> float:
        """One finite number."""
        return self.numbers(key, 1, 1, None if default is None else (default,))[0]

    def limited(self, switch: str, key: str, automatic: bool) -> bool:
        """Whether the range `key` is enforced: as `switch` says, and where it says nothing, if the range is given."""
        given = self.word(switch, ("true", "false", "auto"), "auto")
        return self.has(key) and (automatic if given == "auto" else given == "true")

    def unread(self, quiet: Iterable[str]) -> list[str]:
        """The attributes that were not read and that are not `quiet`."""
        return sorted(set(self._given) - self._asked - set(quiet))
