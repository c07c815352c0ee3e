"""Elements of an MJCF file."""

from typing import Any

from lxml import etree

from myoquat.data.xml import Element

__all__ = ["add"]


def add(parent: Element, tag: str, **attributes: Any) -> Element:
    """A new child of an element, with the attributes that are not None: text, a number or numbers, a truth."""
    texts = {key: _text(value) for key, value in attributes.items() if value is not None}
    element: Element = etree.SubElement(parent, tag, **texts)
    return element


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    numbers = value if isinstance(value, (tuple, list)) else (value,)
    return " ".join(repr(float(x)) for x in numbers)
