"""Public names exist, with the signatures that were agreed."""

import difflib
import re
import runpy
import sys

import public_api


def test_signatures_are_those_that_were_agreed():
    """A change of a public name or signature shows in `tests/public_api.txt`, where a reader of the change sees it."""
    written, found = public_api.FILE.read_text(encoding="utf-8"), public_api.text()
    difference = "\n".join(difflib.unified_diff(written.splitlines(), found.splitlines(), "written", "found", n=0))
    assert not difference, f"{difference}\nIf this is meant: python -m tests.public_api --write (and CHANGELOG.md)"


def test_the_signatures_are_written_by_the_command_that_the_message_names(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tests.public_api"])
    runpy.run_module("tests.public_api", run_name="__main__")
    assert capsys.readouterr().out == public_api.text()


# What returns, or is, `Any` in public, and why.
UNKNOWN_RESULTS = {
    "Kernel.__call__": "one array, or a tuple of arrays where there are several outputs",
    "Kernel.casadi_function": "CasADi has no types",
    "constant": "the type of its argument",
    "static": "a field takes a value of any type",
}
# Arguments that may be anything, and why.
UNKNOWN_ARGUMENTS = {
    "as_array": "what is no array becomes one",
    "as_casadi_vector": "the same, of CasADi",
    "call_where": "records of any type",
    "fixed_point": "states are records of any type",
    "is_symbolic": "tells what it is",
    "root": "states are records of any type",
    "while_loop": "states are records of any type",
    "SymbolArray.from_casadi": "CasADi has no types",
    "Study.run": "a client of Dask, which may be missing",
}


def _members():
    """(name, line) of every function and of every method and property of every class."""
    owner = ""
    for line in public_api.FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("class "):
            owner = re.split(r"[ (]", line)[1]
        elif line.startswith("    def "):
            yield f"{owner}.{line.split('def ')[1].split('(')[0]}", line
        elif line.startswith("    ") and line.endswith(" (property)"):
            yield f"{owner}.{line.strip().split(':')[0]}", line
        elif line.startswith("def "):
            yield line.split("def ")[1].split("(")[0], line


def test_no_public_function_or_method_returns_anything_at_all():
    """What comes back is known, of functions, methods and properties."""
    untyped = [name for name, line in _members() if not line.endswith("(property)") and " -> " not in line]
    assert not untyped
    unknown = {name for name, line in _members() if line.endswith((" -> Any", ": Any (property)"))}
    assert unknown == set(UNKNOWN_RESULTS)


def test_arguments_of_public_functions_and_methods_are_typed():
    """`Any` is for arguments that may be anything; keywords that are handed on (`**options`) are such."""
    unknown = {
        name for name, line in _members() if re.search(r"(?<![\w*])\w+: Any\b", line.removesuffix(" (property)"))
    }
    assert unknown - set(UNKNOWN_RESULTS) == set(UNKNOWN_ARGUMENTS)
