"""Which global names the code of a function reads, from its bytecode."""

import dis
import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from myoquat.core.class_content import stripped

__all__ = ["CodeNames", "names_of"]

MAX_KEPT_CODES = 4096

# Instructions after which globals are not those that were there, or are reached by other ways than by name
_UNTRACEABLE = {"IMPORT_NAME", "IMPORT_STAR", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_BUILD_CLASS",
                "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS", "STORE_NAME"}  # fmt: skip

# Attributes by which code reads what no walk over objects shows: files, random numbers, frames, namespaces
_OPAQUE = {
    *("environ", "fromfile", "fromregex", "genfromtxt", "getenv", "loadtxt", "memmap", "random", "modules"),
    *("__builtins__", "__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__", "__subclasses__"),
    *("cell_contents", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame", "tb_frame"),
}


@dataclass(frozen=True)
class CodeNames:
    """A function's code and the names that it reads.

    code      without its position in the file
    chains    global names, each with the attributes that follow at once
    complete  whether the code reaches changing values by these names only
    """

    code: bytes
    chains: tuple[tuple[str, ...], ...]
    complete: bool


_known: dict[int, tuple[CodeType, CodeNames]] = {}


def names_of(code: CodeType) -> CodeNames:
    """The names that a code object and those inside it read."""
    found = _known.get(id(code))
    if found is None:
        if len(_known) >= MAX_KEPT_CODES:
            _known.clear()
        found = _known[id(code)] = code, _read(code)  # the code is kept, so that no other takes its identity
    return found[1]


def _read(code: CodeType) -> CodeNames:
    parts = list(_with_inner(code))
    chains = {chain for part in parts for chain in _chains(part)}
    complete = not any(_UNTRACEABLE & {x.opname for x in dis.get_instructions(part)} for part in parts)
    complete &= not any(_OPAQUE & {*part.co_names} for part in parts)
    return CodeNames(marshal.dumps(stripped(code), 2), tuple(sorted(chains)), complete)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _chains(code: CodeType) -> Iterator[tuple[str, ...]]:
    """Every global name, with the attributes that are read from it at once."""
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if chain and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain.append(instruction.argval)
            continue
        if chain:
            yield tuple(chain)
        chain = [instruction.argval] if instruction.opname == "LOAD_GLOBAL" else []
    if chain:
        yield tuple(chain)
