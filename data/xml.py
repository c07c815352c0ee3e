"""XML from strangers: parsed without document types and entities, every complaint with element and line."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Protocol, overload

import numpy as np
from lxml import etree

from myoquat.core import Array, ArrayLike
from myoquat.joints import ModelError, euler_from_quaternion
from myoquat.joints.ranges import is_plausible, size_limit

from .files import MAX_BYTES, beside, read_text
from .reports import ImplausibleValues

BASE = "{http://www.w3.org/XML/1998/namespace}base"  # the attribute that tells the file of an included element


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
    def iterfind(self, path: str) -> "Iterator[Element]": ...
    def iterchildren(self, *tags: str) -> "Iterator[Element]": ...
    def remove(self, element: "Element") -> None: ...
    def index(self, element: "Element") -> int: ...
    def __setitem__(self, key: slice, elements: "list[Element]") -> None: ...
    def set(self, key: str, value: str) -> None: ...
    def append(self, element: "Element") -> None: ...
    def getparent(self) -> "Element | None": ...
    def getroottree(self) -> Any: ...
    def __iter__(self) -> "Iterator[Element]": ...
    def __len__(self) -> int: ...


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
    etree.strip_attributes(root, BASE)  # which only this package sets
    return root


def _root(text: str) -> Element:
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(text.encode(), parser)


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


@contextmanager
def invalid_at(element: Element | None) -> Iterator[None]:
    """Turn a ValueError without a place into a ModelError at an element."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))


@contextmanager
def located(path: Path | None, root: Element | None) -> Iterator[None]:
    """Raises every ValueError of the block as a ModelError with a file and a line.

    An error without a file gets `path`. An error without a line gets that of the last element with the name in its
    message. Of two elements of one name, the second is the invalid one."""
    try:
        yield
    except ValueError as found:
        error = found if isinstance(found, ModelError) else ModelError(str(found))
        names = re.findall(r"'([^']+)'", f"{error.element or ''} {error.message}") if error.line is None else ()
        named = {element.get("name"): element for element in (() if root is None else root.iter())}
        place = next((named[name] for name in names if name in named and named[name].sourceline), None)
        file, line = (None, error.line) if place is None else (place.base, place.sourceline)
        raise error.located(error.file or file or path, line) from None


def checked_numbers(
    element: Element | None, what: str, text: str, least: int = 0, most: int | None = None, *, infinite: bool = False
) -> tuple[float, ...]:
    """The decimal numbers in a text, separated by blanks, from `least` to `most` of them, any number for None. Infinite
    ones, in any spelling of Inf, are allowed if `infinite`.

    ModelError at the element, about `what`, for other texts, other counts, and numbers that exceed
    `myoquat.joints.ranges.MAX_NUMBER` in size.
    """
    try:
        found = tuple(float(word) for word in text.split())
    except ValueError:
        found = (math.nan,)
    plausible = "_" not in text and all(
        is_plausible(x) or (infinite and math.isinf(x) and "n" in word.lower())  # but no number beyond all floats
        for x, word in zip(found, text.split(), strict=False)
    )
    if plausible and least <= len(found) and (most is None or len(found) <= most):
        return found
    count = "" if most is None else f"{most} " if least == most else f"{least} to {most} "
    limit = "" if plausible else size_limit(found)
    also = " or Inf" if infinite else ""
    complain(element, f"{what} must be {count}finite number{'s' * (most != 1)}{limit}{also}, not {text!r}")


# --------------------------------------------------------------------------------------------------------------
#
# Text that is no XML and that OpenSim and MuJoCo read all the same: mended, line by line in its place.


_DECLARED = re.compile(r"\A\s*<\?xml.*?\?>", re.DOTALL)
_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*encoding=["'](iso-8859-(?:1|2|15)|windows-125[0-2])["']""", re.IGNORECASE)
_WHOLE = r"<!--(?P<comment>.*?)-->|<!\[CDATA\[.*?\]\]>"
_BARE = r"(?P<bare>&)(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)"
_CONTROL = r"(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f])"
_COLONS = re.compile(r"(</?\w+)::(?=\w)")  # OpenSim writes C++ names into tags, which XML takes for namespaces
_ODD = re.compile(f"{_WHOLE}|{_BARE}|{_CONTROL}", re.DOTALL)


def parse_opensim(path: Path, implausible: ImplausibleValues | None = None) -> Element:
    """The root element of a document of OpenSim, also of one whose text is not quite XML, or neither UTF-8 nor in the
    encoding that it declares. What is odd is noted, or reported in one warning."""
    found = ImplausibleValues() if implausible is None else implausible

    def decoded(content: bytes) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if declared := _ENCODING.match(content):
                return content.decode(declared[1].decode(), "replace")
            found.count("text that is not UTF-8, taken as Latin-1", f"byte {error.start}")
            return content.decode("latin-1")

    root = parse(path, lambda content: mended(_COLONS.sub(r"\1..", content), found), decode=decoded)
    if implausible is None:
        found.report(path, False)
    return root


def mended(text: str, implausible: ImplausibleValues) -> str:
    """The text as XML: blanks before the declaration and hyphens of comments go unsaid. A & that begins no entity is
    the letter, and control characters are blanks, both of which are implausible."""

    def replaced(match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return _plain_comment(match)
        if match["bare"]:
            implausible.count("a & that XML writes &amp;", _line(text, match))
            return "&amp;"
        if match["control"]:
            implausible.count("control characters, taken as blanks", _line(text, match))
            return " "
        return match[0]

    declared = _DECLARED.match(text)
    if declared:  # what it says of the encoding is known by now
        text = "\n" * declared[0].count("\n") + text[declared.end() :]
    return _ODD.sub(replaced, text)


def with_plain_comments(text: str) -> str:
    """The text with blanks for the hyphens of comments that XML forbids."""
    return re.sub(_WHOLE, _plain_comment, text, flags=re.DOTALL)


def _plain_comment(match: re.Match[str]) -> str:
    comment = match["comment"] or ""
    return f"<!--{comment.replace('-', ' ')}-->" if "--" in comment or comment.endswith("-") else match[0]


def _line(text: str, match: re.Match[str]) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}"


# ---- Files that a model's file names as parts of itself, found safely ---------------------------------------------


MAX_INCLUDED = 1000  # files


class IncludedFiles:
    """The files that the file of a model includes.

    Each must lie in the folder of that file or below, unless `anywhere`. It is included once, so that there are no
    cycles. All together hold no more bytes than one file may.
    """

    def __init__(self, main: Path, anywhere: bool) -> None:
        self._main, self._anywhere = main, anywhere
        self._seen = {main.resolve()}
        self._bytes = main.stat().st_size

    def path(self, element: Element, including: Path) -> Path:
        """The file that the attribute `file` of an element names, from the folder of the model's file or from that of
        the including file. ModelError with file and line for one that may not be read."""
        name = (element.get("file") or "").strip()
        what = f"<{element.tag}>"
        if not name:
            complain(element, f"{what} needs the attribute 'file'")
        folders = dict.fromkeys((self._main.parent, including.parent))
        try:
            path = next((found for folder in folders if (found := beside(folder, name)).is_file()), None)
            real = None if path is None else path.resolve()
        except (OSError, ValueError):  # a name that no file can have
            path = real = None
        if path is None or real is None:
            complain(element, f"{what} names {name!r}, which does not exist in {self._main.parent}")
        if not self._anywhere and not real.is_relative_to(self._main.parent.resolve()):
            outside = f"{what} names {name!r}, outside the folder of this file"
            complain(element, f"{outside}; load_model(..., anywhere=True) reads it")
        if real in self._seen or len(self._seen) > MAX_INCLUDED:
            many = f"{what} names {name!r}, and at most {MAX_INCLUDED} files are included"
            complain(element, f"{name!r} is included already" if real in self._seen else many)
        self._seen.add(real)
        self._bytes += path.stat().st_size
        if self._bytes > MAX_BYTES:
            raise ModelError(f"with all included files it holds more than {MAX_BYTES // 2**20} MiB", file=self._main)
        return path


# ---- The values of a document's elements --------------------------------------------------------------------------


def objects(parent: Element | None, tag: str) -> list[Element]:
    """The elements in <tag><objects> of a parent, in order; none where the set is missing."""
    found = parent.find(f"{tag}/objects") if parent is not None else None
    return [] if found is None else list(found.iterchildren("*"))


def text(parent: Element, tag: str, default: str | None = None) -> str:
    """The text of a child; ModelError where it is missing or empty and there is no default."""
    child = parent.find(tag)
    value = "" if child is None else _content(child)
    if not value:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    return value


def _content(element: Element) -> str:
    """The text of an element, without the comments in it."""
    if not len(element):  # as nearly always
        return (element.text or "").strip()
    tails = (child.tail for child in element if not isinstance(child.tag, str))
    return " ".join(filter(None, (element.text, *tails))).strip()


def numbers(
    parent: Element,
    tag: str,
    count: int | None = None,
    default: tuple[float, ...] | None = None,
    *,
    infinite: bool = False,
) -> tuple[float, ...]:
    """Numbers of a child, `count` of them if given, finite unless `infinite`; the default where there is no child. A
    comma before a blank divides numbers as the blank alone does, as OpenSim reads vectors."""
    child = parent.find(tag)
    if child is None:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    content = _content(child) if count == 1 else re.sub(r",(?=\s)", "", _content(child))
    return checked_numbers(child, f"<{tag}>", content, count or 0, count, infinite=infinite)


def number(parent: Element, tag: str, default: float | None = None, *, infinite: bool = False) -> float:
    """One number of a child, finite unless `infinite`."""
    return float(numbers(parent, tag, 1, None if default is None else (default,), infinite=infinite)[0])


def positive(parent: Element, tag: str, default: float) -> float:
    """One positive number of a child."""
    value = number(parent, tag, default)
    if not value > 0:
        complain(parent.find(tag), f"<{tag}> must be positive, not {value:g}")
    return value


def span(parent: Element, tag: str, default: tuple[float, float] | None = None) -> tuple[float, float]:
    """The ends of a range in a child, of which infinite ones mean no limit."""
    x, y = numbers(parent, tag, 2, default, infinite=True)
    return x, y


def triple(parent: Element, tag: str, default: tuple[float, float, float] | None = None) -> tuple[float, float, float]:
    """Three finite numbers of a child."""
    x, y, z = numbers(parent, tag, 3, default)
    return x, y, z


def boolean(parent: Element, tag: str, default: bool = False) -> bool:
    """true or false of a child."""
    value = text(parent, tag, "true" if default else "false").lower()
    if value not in ("true", "false", "1", "0"):
        complain(parent.find(tag), f"<{tag}> must be true or false, not {value!r}")
    return value in ("true", "1")


def last_name(path: str) -> str:
    """'/jointset/hip_r/hip_flexion_r' -> 'hip_flexion_r'."""
    return path.rstrip("/").rpartition("/")[2]


# ---- Elements of an .osim file, the names that OpenSim lets them have, and numbers as texts -----------------------


FORBIDDEN = re.compile(r"[/\\*+\s]")  # in the name of an OpenSim component


def add(parent: Element, tag: str, content: Any = None, name: str = "") -> Element:
    """A new child of an element, with text, a number or numbers in it."""
    element: Element = etree.SubElement(parent, tag, **({"name": name} if name else {}))
    if content is not None:
        element.text = written(content)
    return element


def add_with(parent: Element, tag: str, **attributes: Any) -> Element:
    """A new child of an element, with the attributes that are not None: text, a number or numbers, a truth."""
    element: Element = etree.SubElement(parent, tag)
    set_with(element, **attributes)
    return element


def set_with(element: Element, **attributes: Any) -> None:
    """Give an element the attributes that are not None."""
    for key, value in attributes.items():
        if value is not None:
            element.set(key, written(value))


def add_set(parent: Element, tag: str) -> Element:
    """The <objects> of a set, which is added where it is missing."""
    members = parent.find(f"{tag}/objects")
    return add(add(parent, tag, name=tag.lower()), "objects") if members is None else members


def document_text(root: Element) -> str:
    """The text of a document."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{etree.tostring(root, pretty_print=True, encoding="unicode")}'


def written(content: Any) -> str:
    """Text as it is, numbers so that they are read back equal."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str):
        return content
    values: Any = content if isinstance(content, (tuple, list, np.ndarray)) else (content,)
    return " ".join(repr(float(x)) for x in values)


def body_fixed(orientation: ArrayLike) -> Array:
    """A unit quaternion as OpenSim writes orientations: body-fixed angles about x, y, z [rad]."""
    return euler_from_quaternion(orientation, "XYZ")


def checked_name(name: str, element: str) -> str:
    """The name, or ModelError for one that no OpenSim component can have."""
    if not name or FORBIDDEN.search(name):
        raise ModelError(f"OpenSim allows no blanks and none of / \\ * + in a name: {name!r}", element=element)
    return name
