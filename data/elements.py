"""Elements of an .osim file, the names that OpenSim lets them have, and numbers as texts."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree

from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.joints.sequences import euler_from_quaternion

__all__ = ["add", "add_set", "body_fixed", "checked_name", "three", "written"]

FORBIDDEN = re.compile(r"[/\\*+\s]")  # in the name of an OpenSim component


def add(parent: Element, tag: str, content: Any = None, name: str = "") -> Element:
    """A new child of an element, with text, a number or numbers in it."""
    element: Element = etree.SubElement(parent, tag, **({"name": name} if name else {}))
    if content is not None:
        element.text = written(content)
    return element


def add_set(parent: Element, tag: str) -> Element:
    """The <objects> of a new set."""
    return add(add(parent, tag, name=tag.lower()), "objects")


def written(content: Any) -> str:
    """Text as it is, numbers so that they are read back equal."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str):
        return content
    values: Sequence[Any] = content if isinstance(content, (tuple, list)) else (content,)
    return " ".join(repr(float(x)) for x in values)


def three(v: Any) -> tuple[float, float, float]:
    """The numbers of a vector (3,)."""
    x, y, z = map(float, v)
    return x, y, z


def body_fixed(orientation: Sequence[float]) -> tuple[float, ...]:
    """A unit quaternion as OpenSim writes orientations: body-fixed angles about x, y, z [rad]."""
    return tuple(euler_from_quaternion(np.array(orientation), "XYZ"))


def checked_name(name: str, element: str) -> str:
    """The name, or ModelError for one that no OpenSim component can have."""
    if not name or FORBIDDEN.search(name):
        raise ModelError(f"OpenSim allows no blanks and none of / \\ * + in a name: {name!r}", element=element)
    return name
