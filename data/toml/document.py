"""The text of a TOML file as tables, and where in it a key stands. What takes too long to parse is refused before."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from myoquat.joints.errors import ModelError

__all__ = ["line_of", "parse_toml", "words"]

PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DOTTED = re.compile(rf"""(?<![\w"'-])(?:{PART}[ \t]*+\.[ \t]*+){{32}}""")  # time and memory grow with the square
AFTER = re.compile(r"""["']?[ \t]*([=\]])""")  # a key
MAX_OCCURRENCES = 1000  # of a word that are examined, and characters before each
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
    """The line where the first of these keys that the text holds is given or begins a table; None for none of them.

    Only the first MAX_OCCURRENCES of a word are examined.
    """
    for key in keys:
        place = next((at for at in islice(_occurrences(text, key), MAX_OCCURRENCES) if _gives(text, at, key)), None)
        if place is not None:
            return text.count("\n", 0, place) + 1
    return None


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _gives(text: str, at: int, key: str) -> bool:
    """Whether the word at this place is a key: first in its line, in the head of a table, or after "{" or ","."""
    before = text[max(0, at - MAX_OCCURRENCES) : at].rpartition("\n")[2].lstrip(" \t")
    after = AFTER.match(text, at + len(key))
    if after is None or before[-1:].isalnum() or before[-1:] == "_":
        return False
    first = before in ("", "'", '"') or before.startswith("[")
    return first or (after[1] == "=" and before.rstrip("'\"").rstrip(" \t")[-1:] in ("{", ","))


def words(message: str) -> list[str]:
    """The words of a message that may be keys, the parts of dotted ones after them."""
    found = [word for word in WORD.findall(message[:300]) if len(word) > 1]
    return [*found, *(part for word in found for part in reversed(word.split(".")) if len(part) > 1)]
