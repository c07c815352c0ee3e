"""Elements of an MJCF file."""

from typing import Any

from lxml import etree

__all__ = ["add"]


def add(parent: Any, tag: str, **attributes: Any) -> Any:
    """A new child of an element, with the attributes that are not None: text, a number or numbers, a truth."""
    texts = {key: _text(value) for key, value in attributes.items() if value is not None}
    return etree.SubElement(parent, tag, **texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    numbers = value if isinstance(value, (tuple, list)) else (value,)
    return " ".join(repr(float(x)) for x in numbers)
