"""The shape of the source: functions that do one thing, no hidden cycles, no private names of other packages, words.

Modules have no limit of lines and folders none of modules: both were followed by cutting chapters into pieces.
"""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from tests.language import WORDS, parsed, statements, uses
from tests.sentences import LONGEST, long_sentences

ROOT = Path(__file__).parents[1]
PACKAGES = ("kernels", "joints", "muscle", "data", "dynamics", "analysis", "apps", "environments")
FILES = sorted(
    [
        *ROOT.glob("myoquat/*.py"),
        *ROOT.glob("myoquat/core/**/*.py"),
        *(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")),
    ]
)
OURS = [*FILES, *ROOT.glob("benchmarks/**/*.py")]
EVERYTHING = [*OURS, *ROOT.glob("tests/**/*.py")]
LONGEST_FUNCTION, PARAMETERS, PUBLIC_PARAMETERS = 80, 8, 10
RECORDS = {"inputs", "options", "output", "prior", "solver"}  # arguments that hold options in place of single ones
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Its statements."""
    return tuple(statements(parsed(file)))


def where(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(ROOT)}:{node.lineno}"


def functions(files):
    return [(file, node) for file in files for node in nodes(file) if isinstance(node, Function)]


def length(node: Function) -> int:
    """Lines from `def` to the last one, documentation included."""
    return node.end_lineno - node.lineno + 1


def test_functions_are_short():
    long = [
        f"{where(file, node)} {node.name}: {length(node)}"
        for file, node in functions(OURS)
        if length(node) > LONGEST_FUNCTION
    ]
    assert not long, f"over {LONGEST_FUNCTION} lines: {long}"


def private_functions(file: Path):
    """Functions whose own name or class starts with an underscore, and those inside others."""
    open_ones = set()
    for node in parsed(file).body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            open_ones.add(node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = (item for item in node.body if isinstance(item, Function))
            open_ones |= {m for m in methods if not m.name.startswith("_") or m.name in ("__init__", "__call__")}
    return [node for node in nodes(file) if isinstance(node, Function) and node not in open_ones]


def parameters(node: Function) -> int:
    """Named parameters without self and cls."""
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([a for a in named if a.arg not in ("self", "cls")])


def test_functions_that_are_not_public_take_few_parameters():
    many = [
        f"{where(file, node)} {node.name}: {parameters(node)}"
        for file in OURS
        for node in private_functions(file)
        if parameters(node) > PARAMETERS
    ]
    assert not many, f"over {PARAMETERS} parameters; let a record travel instead: {many}"


def test_public_functions_with_many_parameters_take_option_records():
    """More than ten parameters only beside a record that holds several of them; commands have a flag for each."""
    many = [
        f"{where(file, node)} {node.name}: {parameters(node)}"
        for file, node in functions(FILES)
        if parameters(node) > PUBLIC_PARAMETERS and not (node.name.startswith("_") or is_command(node))
        and not RECORDS & {argument.arg for argument in node.args.kwonlyargs}
    ]  # fmt: skip
    assert not many, f"over {PUBLIC_PARAMETERS} parameters without an option record: {many}"


def is_command(node: Function) -> bool:
    """True for a function that click calls with the options of a command line."""
    return any(ast.unparse(mark).startswith("click.command") for mark in node.decorator_list)


def test_nothing_of_ours_is_imported_for_type_checkers_alone():
    """Imports of our own that only type checkers see keep circles out of sight; a library's cannot close one."""
    hidden = [
        where(file, node)
        for file in OURS
        for node in nodes(file)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and "myoquat" in ast.unparse(node)
    ]
    assert not hidden


def imports(file: Path):
    """(node, module, names) of every import of a file; relative ones count as of the own package."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, ()
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node, node.module or "", tuple(alias.name for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_private_names_of_another(package):
    found = []
    for file in (file for file in FILES if file.relative_to(ROOT).parts[0] == package):
        for node, module, names in imports(file):
            parts = [*module.split("."), *names]
            foreign = parts[0] == "myoquat" and len(parts) > 1 and parts[1] != package
            if foreign and any(part.startswith("_") and part != "__version__" for part in parts):
                found.append(f"{where(file, node)}: {'.'.join(parts)}")
    assert not found


def private_attributes(file: Path):
    """Uses of a private attribute of something imported, `other._name`."""
    imported = {
        alias.asname or alias.name.split(".")[0]
        for node in nodes(file)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            name = node.attr
            if name.startswith("_") and not name.startswith("__") and name not in ("_replace", "_asdict", "_fields"):
                yield node


def test_private_attributes_of_modules_stay_private():
    allowed = {"sys._getframe", "os._exit"}
    found = [
        f"{where(file, node)}: {ast.unparse(node)}"
        for file in FILES
        for node in private_attributes(file)
        if ast.unparse(node) not in allowed
    ]
    assert not found


def test_packages_are_imported_by_their_full_names():
    """An editable installation puts the folders on the path; `import kernels` would find them, or a stranger."""
    found = [
        f"{where(file, node)}: {module}"
        for file in EVERYTHING
        for node, module, _ in imports(file)
        if module.split(".")[0] in PACKAGES
    ]
    assert not found


def test_words_of_the_list_do_not_come_back():
    assert not [str(use) for use in uses()]


def test_no_sentence_has_more_than_35_words():
    """Of pages, notebooks and docstrings; `python -m tests.sentences` lists them."""
    found = long_sentences()
    assert not found, "\n".join(map(str, found))


def test_a_long_sentence_is_found(monkeypatch, tmp_path):
    """Code and examples do not count, and a sentence ends with its item."""
    monkeypatch.setattr("tests.sentences.ROOT", tmp_path.resolve())
    words = "word " * LONGEST
    (tmp_path / "page.md").write_text(
        f"{words}.\n\n- {words}more.\n- `a b c` {words}\n\n```\n{words}\n```\n\n- A\n  {words}"
    )
    (tmp_path / "code.py").write_text(f'"""{words}\n\n>>> {words} more\n"""\n\n\ndef f():\n    """{words}more."""\n')
    cells = [{"cell_type": cell, "source": [f"{words}more.\n"]} for cell in ("code", "markdown")]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert [(x.path, x.line, x.words) for x in long_sentences((tmp_path,))] == [
        ("code.py", 8, LONGEST + 1),
        ("page.md", 3, LONGEST + 1),
        ("page.md", 4, LONGEST + 1),  # `code` is one word
        ("page.md", 10, LONGEST + 1),
        ("book.ipynb", 2, LONGEST + 1),  # in the second cell
    ]


def test_words_are_found_in_names_comments_and_messages(monkeypatch, tmp_path):
    """Whole words and parts of names; neither longer words nor what is allowed."""
    monkeypatch.setattr("tests.language.ROOT", tmp_path.resolve())
    file, (first, second, third) = tmp_path / "one.py", [*WORDS][:3]
    file.write_text(f"{first}_path = 1\nx = 'as {second}'  # {third}\ny = x.kind\nz = 'kindly surrounds'\n")
    assert [(use.line, use.word) for use in uses((file,))] == [(1, first), (2, second), (2, third)]
