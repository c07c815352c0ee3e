"""XML from strangers: parsed without document types and entities, every complaint with element and line."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, Protocol, overload

from lxml import etree

from myoquat.data.files import MAX_BYTES, read_text
from myoquat.joints.errors import ModelError
from myoquat.joints.ranges import MAX_NUMBER, is_plausible

__all__ = ["BASE", "MOBILITY", "Element", "checked_numbers", "complain", "described", "located", "parse"]


BASE = "{http://www.w3.org/XML/1998/namespace}base"  # the attribute that tells the file of an included element
MOBILITY = "{urn:myoquat}mobility"  # J M^-1 J^T of a part of a compiled model, at its reference pose


class Element(Protocol):
    """What is used of an element of lxml, which brings no types of its own."""

    tag: str
    text: str | None
    tail: str | None
    sourceline: int | None
    base: str | None
    attrib: Mapping[str, str]

    @overload
    def get(self, key: str) -> str | None: ...
    @overload
    def get(self, key: str, default: str) -> str: ...
    def find(self, path: str) -> "Element | None": ...
    def findall(self, path: str) -> "list[Element]": ...
    def iter(self, *tags: str) -> "Iterator[Element]": ...
    def iterchildren(self, *tags: str) -> "Iterator[Element]": ...
    def remove(self, element: "Element") -> None: ...
    def index(self, element: "Element") -> int: ...
    def __setitem__(self, key: slice, elements: "list[Element]") -> None: ...
    def set(self, key: str, value: str) -> None: ...
    def append(self, element: "Element") -> None: ...
    def getparent(self) -> "Element | None": ...
    def getroottree(self) -> "Tree": ...
    def __iter__(self) -> "Iterator[Element]": ...


class Tree(Protocol):
    """The whole to which an element belongs."""

    def iter(self, *tags: str) -> Iterator[Element]: ...


def parse(
    path: Path,
    prepare: Callable[[str], str] = str,
    limit: int = MAX_BYTES,
    decode: Callable[[bytes], str] | None = None,
) -> Element:
    """The root element of an XML file; ModelError for one that is malformed or declares a document type.

    prepare: what makes text of a known dialect XML, called where the text is none; it must keep the lines. limit,
    decode: as in `read_text`.
    """
    text = read_text(path, limit, decode)
    declared = re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE)
    if declared:
        line = text.count("\n", 0, declared.start()) + 1
        raise ModelError("document types and entities are refused", file=path, line=line)
    try:
        root = _root(text)
    except etree.XMLSyntaxError:
        try:
            root = _root(prepare(text))
        except etree.XMLSyntaxError as error:
            raise ModelError(f"this is not valid XML: {error.msg}", file=path, line=error.lineno) from None
    etree.strip_attributes(root, BASE, MOBILITY)  # which only this package sets
    return root


def _root(text: str) -> Element:
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    root: Element = etree.fromstring(text.encode(), parser)
    return root


def described(element: Element | None) -> str:
    """The nearest named element at or above this one, in words: "link 'arm'"."""
    while element is not None:
        if element.get("name"):
            return f"{element.tag} {element.get('name')!r}"
        element = element.getparent()
    return "the file"


def complain(element: Element | None, message: str) -> NoReturn:
    """Raise a ModelError at an element, with the file that was included if it stands in one, or at the whole file."""
    line, file = (None, None) if element is None else (element.sourceline, element.base)
    raise ModelError(message, element=described(element), line=line, file=file)


def located(error: ModelError, path: Path | None, root: Element | None) -> ModelError:
    """The error with a file and a line. An error without a file gets `path`. An error without a line gets that of the
    last element with the name in its message. Of two elements of one name, the second is the invalid one."""
    if error.line is None and root is not None:
        named = {element.get("name"): element for element in root.iter()}
        for name in re.findall(r"'([^']+)'", f"{error.element or ''} {error.message}"):
            if name in named and named[name].sourceline:
                return error.located(error.file or named[name].base or path, named[name].sourceline)
    return error.located(error.file or path, error.line)


def checked_numbers(
    element: Element | None, what: str, text: str, least: int = 0, most: int | None = None, *, infinite: bool = False
) -> tuple[float, ...]:
    """The decimal numbers in a text, separated by blanks, from `least` to `most` of them, any number for None. Infinite
    ones, in any spelling of Inf, are allowed if `infinite`.

    ModelError at the element, about `what`, for other texts, other counts, and numbers that exceed MAX_NUMBER in size
    (`myoquat.joints.ranges`).
    """
    try:
        found = tuple(float(word) for word in text.split())
    except ValueError:
        found = (math.nan,)
    plausible = "_" not in text and all(is_plausible(x) or (infinite and math.isinf(x)) for x in found)
    if plausible and least <= len(found) and (most is None or len(found) <= most):
        return found
    count = "" if most is None else f"{most} " if least == most else f"{least} to {most} "
    limit = "" if plausible or not all(map(math.isfinite, found)) else f" of at most {MAX_NUMBER:g} in size"
    complain(element, f"{what} must be {count}finite number{'s' * (most != 1)}{limit}, not {text!r}")
