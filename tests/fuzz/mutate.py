"""Mutations of texts, bytes, XML and TOML trees, drawn from a `random.Random`."""

import copy
import functools
import re
import tomllib
from random import Random

from lxml import etree

from myoquat.data.toml.models import entries

EXTREMES = (
    "0", "-0.0", "-1", "1e-300", "1e300", "-1e300", "1e999", "nan", "inf", "-inf", "9" * 400, "0x10", "1_0", "1e-400",
    "10000000000000000000", "-9223372036854775809", "true", '""', "[]", "{}", "'a'", "é", "\x00", "3", "0.5",
    "[[1]]", "../../x", "/", "1979-05-27",
)  # fmt: skip
VALUES = (
    0, -1, 3, 10**19, int("9" * 400), 1e300, -1e300, 1e-300, float("nan"), float("inf"), True, "", "x", "x" * 20000,
    [], {}, [[]], [1.0, 2.0, 3.0], ["a"], {"type": []}, [{}], {"x": 1}, "\n", "../x", "no", False, "*", "\x7f",
)  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
WORD = re.compile(r"[A-Za-z_][\w.]*")


def flip(data: bytes, rng: Random) -> bytes:
    """One to eight bytes changed."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def cut(data: bytes, rng: Random) -> bytes:
    """The end, or a part of the middle, missing."""
    begin = rng.randrange(len(data) + 1)
    return data[:begin] + (b"" if rng.random() < 0.5 else data[begin + rng.randrange(1, 40) :])


def insert(data: bytes, rng: Random) -> bytes:
    """Bytes that were not there: a mark of order in front, noise, or a part of the file once more."""
    choice = rng.randrange(3)
    if choice == 0:
        return b"\xef\xbb\xbf" + data
    begin, at = rng.randrange(len(data)), rng.randrange(len(data))
    part = data[begin : begin + rng.randrange(1, 200)] if choice == 1 else rng.randbytes(rng.randrange(1, 20))
    return data[:at] + part + data[at:]


def damaged(data: bytes, rng: Random) -> bytes:
    """Any change of bytes."""
    return rng.choice((flip, cut, insert))(data, rng)


def head(data: bytes, rng: Random) -> bytes:
    """A change of bytes, one to three of them, mostly near the beginning, where a file of numbers describes itself."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        end = rng.choice((512, 2048, len(data)))
        data = damaged(data[:end] or b"x", rng) + data[end:]
    return data


def lines(text: str, rng: Random) -> str:
    """A line missing, twice, elsewhere, or many times."""
    found = text.splitlines(keepends=True)
    i, j = rng.randrange(len(found)), rng.randrange(len(found))
    choice = rng.randrange(4)
    if choice == 0:
        del found[i]
    elif choice == 1:
        found.insert(j, found[i])
    elif choice == 2:
        found[i], found[j] = found[j], found[i]
    else:
        times = rng.choice((2, 300))
        found[i] *= times if len(found[i]) < 10**6 else 2
    return "".join(found)


def number(text: str, rng: Random) -> str:
    """A number replaced by an extreme one, or by what is none."""
    return _replaced(NUMBER, text, rng, lambda old: rng.choice(EXTREMES))


def word(text: str, rng: Random) -> str:
    """A word replaced by another one of the file, a huge one, or what is none."""
    words = WORD.findall(text) or ["x"]
    other = rng.choice((rng.choice(words), rng.choice(words), "x" * 20000, rng.choice(EXTREMES)))
    return _replaced(WORD, text, rng, lambda old: other)


def nest(text: str, rng: Random) -> str:
    """Brackets in brackets around a number."""
    opened, closed = rng.choice((("[", "]"), ("{a=", "}"), ("<a>", "</a>"), ("(", ")"), ("{", "}")))
    deep = rng.choice((1, 3, 250, 3000))
    return _replaced(NUMBER, text, rng, lambda old: opened * deep + old + closed * deep)


def _replaced(pattern: re.Pattern, text: str, rng: Random, new) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + new(match.group()) + text[match.end() :]


def text(data: bytes, rng: Random) -> bytes:
    """Any change of a text, one to three of them."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice((damaged, lines, number, number, word, word, nest))
        if change is damaged or not data.strip():
            data = damaged(data or b"x", rng)
        else:
            data = change(data.decode("utf-8", "surrogateescape"), rng).encode("utf-8", "surrogateescape")
    return data


def xml(data: bytes, rng: Random) -> bytes:
    """A text changed as such, or as a tree: elements gone, twice, nested, elsewhere, with other texts and names."""
    if rng.random() < 0.4:
        return text(data, rng)
    root = etree.fromstring(data, etree.XMLParser(recover=True))  # our files of robots hold what is no XML
    for _ in range(rng.choice((1, 1, 2, 3))):
        elements = [e for e in root.iter() if isinstance(e.tag, str) and e is not root]
        if elements:
            _change_element(rng.choice(elements), rng.choice(elements), rng)
    return etree.tostring(root)


def _change_element(one, other, rng: Random) -> None:
    choice = rng.randrange(6)
    if choice == 0:
        one.getparent().remove(one)
    elif choice == 1:
        one.addnext(copy.deepcopy(one))
    elif choice == 2 and one not in other.iterancestors() and one is not other:
        other.append(one)
    elif choice == 3:
        for _ in range(rng.choice((1, 20))):
            one.append(copy.deepcopy(other) if len(list(other.iter())) < 20 else one.makeelement(other.tag))
    elif choice == 4:
        one.tag = other.tag
    else:
        _reword(one, other, rng)


def _reword(one, other, rng: Random) -> None:
    new = rng.choice((*EXTREMES, other.get("name", "x"), other.text or "", "x" * 20000)).replace("\x00", "?")
    if one.attrib and rng.random() < 0.5:
        one.set(rng.choice(list(one.attrib)), new)
    else:
        one.text = new


def tree(data: dict, rng: Random) -> dict:
    """Values of nested tables and arrays replaced, missing, twice, or where others were."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        entries = list(_entries(data))
        if not entries:
            break  # all is gone
        holder, key = rng.choice(entries)
        other_holder, other_key = rng.choice(entries)
        choice = rng.randrange(5)
        if choice <= 1:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif choice == 2:
            holder[key] = copy.deepcopy(other_holder[other_key])
        elif choice == 3 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif choice == 3:
            holder[rng.choice(("x", "", "x" * 20000, "a.b"))] = copy.deepcopy(other_holder[other_key])
        elif len(entries) > 3:
            del holder[key]
    return data


def _entries(data):
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in list(items):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _entries(value)


def toml(data: bytes, rng: Random) -> bytes:
    """A text changed as such, or as tables."""
    return text(data, rng) if rng.random() < 0.4 else "\n".join(entries(tree(_parsed(data), rng))).encode()


@functools.cache
def _parsed(data: bytes) -> dict:
    """The tables of a seed, which `tree` copies."""
    return tomllib.loads(data.decode())
