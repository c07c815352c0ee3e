"""The text of a TOML file as tables, and where in it a key stands. What takes too long to parse is refused before."""

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from myoquat.joints.errors import ModelError

__all__ = ["line_of", "parse_toml", "words"]

PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DOTTED = re.compile(rf"""(?<![\w"'-])(?:{PART}[ \t]*+\.[ \t]*+){{32}}""")  # time and memory grow with the square
WORD = re.compile(r"""[\w.*-]*\w""")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML file; ModelError, with the line where there is one, for a text that is none."""
    deep = DOTTED.search(text)
    if deep:
        line = text.count("\n", 0, deep.start()) + 1
        raise ModelError("this is not read: a key of more than 32 parts", line=line)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ModelError("this is not valid TOML: nested too deeply") from None
    except ValueError as error:  # also of numbers with more digits than Python converts
        found = re.search(r"line (\d+)", str(error))
        raise ModelError(f"this is not valid TOML: {error}", line=int(found[1]) if found else None) from None


def line_of(text: str, keys: Iterable[str]) -> int | None:
    """The line where the first of these keys that the text holds is given or begins a table; None for none of them."""
    for key in keys:
        name = re.escape(key)
        given = rf"""(?m)^[ \t]*(?:\[.*\b)?["']?{name}["']?[ \t]*(?:=|\])|[{{,][ \t]*["']?{name}["']?[ \t]*="""
        found = re.search(given, text)
        if found:
            return text.count("\n", 0, found.end()) + 1
    return None


def words(message: str) -> list[str]:
    """The words of a message that may be keys, the parts of dotted ones after them."""
    found = [word for word in WORD.findall(message[:300]) if len(word) > 1]
    return [*found, *(part for word in found for part in reversed(word.split(".")) if len(part) > 1)]
