"""Elements and attributes of URDF files."""

import re
from pathlib import Path

from myoquat.data.xml import Element, checked_numbers, complain, with_plain_comments
from myoquat.data.xml import parse as parse_xml

__all__ = ["child", "complain", "not_negative", "number", "numbers", "parse", "text_of"]

# The source of the extensions spells the attribute 'rotor inertia', which is no XML: joined before parsing.
_SPACED = re.compile(r"(?<=[\s\"'])rotor[ \t]inertia(?=\s*=)")


def parse(path: Path) -> Element:
    """The root element of a URDF file; ModelError for one that is malformed or declares a document type."""
    return parse_xml(path, lambda text: with_plain_comments(_SPACED.sub("rotor_inertia", text)))


def child(element: Element, tag: str) -> Element | None:
    """The only child of a tag, None if there is none; ModelError if there are several."""
    found = element.findall(tag)
    if len(found) > 1:
        complain(found[1], f"<{element.tag}> has more than one <{tag}>")
    return found[0] if found else None


def text_of(element: Element, attribute: str) -> str:
    """An attribute that must be there and not be empty."""
    value = element.get(attribute)
    if value is None or not value.strip():
        complain(element, f"<{element.tag}> needs the attribute {attribute!r}")
    return str(value).strip()


def numbers(
    element: Element | None, attribute: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """`count` finite numbers of an attribute, or the default where it is missing."""
    value = None if element is None else element.get(attribute)
    if value is None:
        if default is None:
            complain(element, f"<{'' if element is None else element.tag}> needs the attribute {attribute!r}")
        return default
    return checked_numbers(element, attribute, value, count, count)


def number(element: Element | None, attribute: str, default: float | None = None) -> float:
    """One finite number of an attribute, or the default where it is missing."""
    return numbers(element, attribute, 1, None if default is None else (default,))[0]


def not_negative(element: Element | None, attribute: str) -> float:
    """One finite number of an attribute, zero where it or the element is missing; ModelError below zero."""
    value = 0.0 if element is None else number(element, attribute, 0.0)
    if value < 0:
        complain(element, f"{attribute} must not be negative, not {value:g}")
    return value
