"""Text that is no XML and that OpenSim and MuJoCo read all the same: mended, line by line in its place."""

import re
from pathlib import Path

from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import Element, parse

__all__ = ["mended", "parse_opensim"]

_DECLARED = re.compile(r"\A\s*<\?xml.*?\?>", re.DOTALL)
_WHOLE = r"<!--(?P<comment>.*?)-->|<!\[CDATA\[.*?\]\]>"
_BARE = r"(?P<bare>&)(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)"
_CONTROL = r"(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f])"
_COLONS = re.compile(r"(</?\w+)::(?=\w)")  # OpenSim writes C++ names into tags, which XML takes for namespaces
_ODD = re.compile(f"{_WHOLE}|{_BARE}|{_CONTROL}", re.DOTALL)


def parse_opensim(path: Path, implausible: ImplausibleValues | None = None) -> Element:
    """The root element of a document of OpenSim, also of one whose text is not quite XML or not UTF-8. What is odd is
    noted, or reported in one warning."""
    found = ImplausibleValues() if implausible is None else implausible

    def decoded(content: bytes) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
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
        comment = match["comment"]
        if comment is not None:
            return f"<!--{comment.replace('-', ' ')}-->" if "--" in comment or comment.endswith("-") else match[0]
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


def _line(text: str, match: re.Match[str]) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}"
