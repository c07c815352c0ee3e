"""Elements of an MJCF file, and rows of arrays as numbers in them."""

from typing import Any

import numpy as np
from lxml import etree

from myoquat.data.xml import Element, written

__all__ = ["add", "numbers"]


def add(parent: Element, tag: str, **attributes: Any) -> Element:
    """A new child of an element, with the attributes that are not None: text, a number or numbers, a truth."""
    texts = {key: written(value) for key, value in attributes.items() if value is not None}
    element: Element = etree.SubElement(parent, tag, **texts)
    return element


def numbers(row: Any) -> tuple[float, ...]:
    """The numbers of a row of an array."""
    return tuple(float(x) for x in np.ravel(row))
