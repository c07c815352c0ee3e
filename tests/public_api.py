"""The public names with their signatures, as text: what `tests/public_api.txt` holds.

    python -m tests.public_api            prints it
    python -m tests.public_api --write    writes the file, after a change that was meant

Public are the names in `__all__` of the packages below, and what a public class shows: its fields, properties and
methods without a leading underscore. Those of its bases that are not public are included. Signatures are read from the
source, so that they do not depend on the versions of Python and of other packages.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).with_suffix(".txt")
PACKAGES = (
    "myoquat.kernels",
    "myoquat.joints",
    "myoquat.joints.functions",
    "myoquat.muscle",
    "myoquat.muscle.laws",
    "myoquat.muscle.forces",
    "myoquat.muscle.metabolics",
    "myoquat.muscle.actuators",
    "myoquat.data",
    "myoquat.data.motions",
    "myoquat.dynamics",
    "myoquat.dynamics.constraints",
    "myoquat.dynamics.integrators",
    "myoquat.dynamics.udwadia_kalaba",
    "myoquat.analysis",
    "myoquat.analysis.motion",
    "myoquat.analysis.mapping",
    "myoquat.analysis.fits",
    "myoquat.analysis.recruitment",
    "myoquat.analysis.control",
    "myoquat.analysis.studies",
    "myoquat.apps.explorer",
    "myoquat.apps.moco",
    "myoquat.apps.viewer",
    "myoquat.environments",
    "myoquat",
)
Definition = ast.FunctionDef | ast.ClassDef


def text() -> str:
    """One block of lines per package; a name that another package defines refers to its definition there."""
    seen: dict[int, str] = {}
    return "\n\n".join("\n".join(_package(name, seen)) for name in PACKAGES) + "\n"


def _package(package: str, seen: dict[int, str]) -> Iterator[str]:
    module = importlib.import_module(package)
    yield f"# {package}"
    for name in sorted(module.__all__):
        value = getattr(module, name)
        known = inspect.isroutine(value) or inspect.isclass(value)
        if known and id(value) in seen:
            yield f"{name} = {seen[id(value)]}"
        else:
            seen[id(value)] = f"{package}.{name}"
            yield from _described(name, value)


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"module {name}"
        return
    found = _definition(value)
    if isinstance(found, ast.ClassDef):
        yield from _class(name, found, _hidden_bases(value))
    elif found is not None:
        yield _function(name, found)
    else:
        yield f"{name}: {type(value).__name__}"


def _definition(value: Any) -> Definition | None:
    """Where the source defines a function or a class; None for other values."""
    value = inspect.unwrap(value) if callable(value) else value
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return None
    return _definitions(Path(inspect.getsourcefile(value) or ""))[value.__name__]


@cache
def _definitions(file: Path) -> dict[str, Definition]:
    """The functions and classes of a file by name; of several with one name the outermost, and then the first."""
    found: dict[str, Definition] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, node)
    return found


def _function(name: str, node: ast.FunctionDef) -> str:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {name}({ast.unparse(node.args)}){returned}"


def _hidden_bases(value: type) -> list[ast.ClassDef]:
    """The bases of this package that are not public, the farthest first."""
    public = _public_classes()
    bases = [base for base in value.__mro__[:0:-1] if base.__module__.startswith("myoquat.") and base not in public]
    return [found for found in map(_definition, bases) if isinstance(found, ast.ClassDef)]


@cache
def _public_classes() -> frozenset[type]:
    modules = [importlib.import_module(name) for name in PACKAGES]
    values = [getattr(module, name) for module in modules for name in module.__all__]
    return frozenset(value for value in values if inspect.isclass(value))


def _class(name: str, node: ast.ClassDef, hidden: list[ast.ClassDef]) -> Iterator[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    yield f"class {name}({bases})" if bases else f"class {name}"
    members: dict[str, str] = {}  # a later definition of a name replaces an earlier one
    for item in (item for part in (*hidden, node) for item in part.body):
        for line in _member(item):
            members[item.target.id if isinstance(item, ast.AnnAssign) else item.name] = line
    yield from (f"    {line}" for line in members.values())


def _member(item: ast.stmt) -> Iterator[str]:
    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
        yield ast.unparse(item)
    elif isinstance(item, ast.FunctionDef) and (item.name in ("__init__", "__call__") or not item.name.startswith("_")):
        marks = {ast.unparse(mark) for mark in item.decorator_list}
        if marks & {"property", "cached_property", "functools.cached_property"}:
            yield f"{item.name}: {ast.unparse(item.returns) if item.returns else 'not annotated'} (property)"
        elif not any(mark.endswith((".setter", "overload")) for mark in marks):
            yield _function(item.name, item)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        FILE.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
