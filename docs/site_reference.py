"""The reference has a page for each public name, with its signature, its parameters as a list, its examples and a link
to its source. A page for each package has one line for each of its names.

Types are read from the source as they stand there, so that `ArrayLike` stays a word. Docstrings of the project are
plain text: what is aligned as `name  text` is a list, of parameters where the names are.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import public_api

from myoquat.data.motions.motion import Shown

# Described on the site, not yet promised to stay: `tests/public_api.txt` does not hold them.
PACKAGES = (*public_api.PACKAGES, "myoquat.analysis.motion")
PICTURES = {  # drawn by `tests.pictures`, by the name that draws it
    "myoquat.analysis.plot_moment_arms": "moment_arms",
    "myoquat.analysis.plot_lengths": "lengths",
    "myoquat.analysis.plot_cycles": "cycles",
    "myoquat.analysis.plot_curves": "force_law",
    "myoquat.analysis.plot_loads": "loads",
    "myoquat.analysis.plot_socket": "socket",
    "myoquat.analysis.plot_activations": "activations",
    "myoquat.analysis.studies.plot_tornado": "study",
    "myoquat.analysis.studies.plot_heat_map": "study",
    "myoquat.analysis.studies.plot_sobol": "study",
}
ENTRY = re.compile(r"^(?P<names>\S.*?)(?:\s{2,}| (?=\[))(?P<text>\S.*)$")
EMPTY = inspect.Parameter.empty


def pages() -> dict[str, str]:
    """reStructuredText of every page by its name. A name is described where it is first, and referred to elsewhere."""
    seen: dict[int, str] = {}
    found: dict[str, str] = {}
    for package in [p for p in PACKAGES if p != "myoquat"] + ["myoquat"]:
        module = importlib.import_module(package)
        own, others = _divided(package, module, seen)
        found[package] = _text(_package(package, module, own, others))
        for name, value in own:
            found[_page_of(f"{package}.{name}", value)] = _text(_page(package, name, value))
    return found


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _divided(package: str, module: ModuleType, seen: dict[int, str]) -> tuple[list[tuple[str, Any]], list[str]]:
    """The names that a package is the first to have, with their values, and where its others are described."""
    own, others = [], []
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if isinstance(value, ModuleType) or name.startswith("__"):
            continue
        if id(value) in seen:
            others.append(seen[id(value)])
        else:
            seen[id(value)] = f"{package}.{name}"
            own.append((name, value))
    return own, others


def _page_of(full: str, value: Any) -> str:
    """The name of a page, classes apart from functions: some file systems do not tell Redundancy from redundancy."""
    return f"{'class' if inspect.isclass(value) else 'name'}.{full}"


def _package(package: str, module: ModuleType, own: list[tuple[str, Any]], others: list[str]) -> Iterator[str]:
    yield from (f".. py:module:: {package}", "", package, "=" * len(package), "")
    yield from (*plain(inspect.getdoc(module) or ""), "")
    if own:
        yield from (".. list-table::", "   :widths: 30 70", "")
        for name, value in own:
            yield f"   * - :py:obj:`{name} <{package}.{name}>`"
            yield f"     - {_sentence(value)}"
        yield ""
    if others:
        yield from ("Described elsewhere:", "")
        yield from (f"- :py:obj:`{name}`" for name in others)
        yield ""


def _page(package: str, name: str, value: Any) -> Iterator[str]:
    yield from (":orphan:", "", name, "=" * len(name), "")
    yield from (f":doc:`{package} <{package}>`", "", f".. py:currentmodule:: {package}", "")
    full = f"{package}.{name}"
    if inspect.isclass(value):
        shown = issubclass(value, Shown)  # its methods belong to the motion as its own do
        yield from (f".. autoclass:: {full}", "   :members:", *["   :inherited-members:"] * shown, "")
    elif callable(value):
        yield from (f".. autofunction:: {full}", "")
    else:
        keys = ", ".join(map(str, value)) if isinstance(value, dict | tuple) else repr(value)
        yield from (f".. py:data:: {name}", "", f"   {escaped(f'{type(value).__name__}: {keys}')}", "")
    if full in PICTURES:
        yield from (f".. image:: figure_{PICTURES[full]}.png", f"   :alt: A figure drawn by {name}", "")


def _sentence(value: Any) -> str:
    described = inspect.isclass(value) or inspect.isroutine(value)
    text = (inspect.getdoc(value) if described else "") or ""
    first = " ".join(line for line in text.split("\n\n")[0].splitlines() if not line.startswith(" "))
    return escaped(first) or type(value).__name__


# ---- signatures, as the source writes them ------------------------------------------------------------------------


def read_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Sphinx's hook: names and defaults in the signature; types are in the list of parameters."""
    if what not in ("class", "function", "method", "exception") or signature is None:
        return None
    parameters = _parameters(obj)
    if parameters is None:
        return signature, None
    bare = [each.replace(annotation=EMPTY, default=_Shown.of(each.default)) for each in parameters]
    if what == "method" and not inspect.isroutine(inspect.getattr_static(obj, "__func__", None)) and bare:
        bare = bare[1:] if bare[0].name == "self" else bare
    node = None if inspect.isclass(obj) else _node(obj)
    result = ast.unparse(node.returns).strip("'\"") if isinstance(node, ast.FunctionDef) and node.returns else None
    return str(inspect.Signature(bare)), result


class _Shown:
    """A default value that prints as it does in the reference."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, default: Any) -> Any:
        """The default, where it is short; '...' stands for a longer one."""
        if default is EMPTY or isinstance(default, str | float | int | None | bool):
            return default
        text = getattr(default, "__name__", None) or repr(default)
        return cls(text if len(text) < 40 and "<" not in text else "...")


def _parameters(obj: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return None


def _types(obj: Any) -> dict[str, str]:
    """The types of parameters by name, as the source writes them; of a class, of its fields and its constructor."""
    found: dict[str, str] = {}
    for each in reversed(inspect.getmro(obj)) if inspect.isclass(obj) else (obj,):
        node = _node(each)
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found[item.target.id] = ast.unparse(item.annotation)
            elif isinstance(item, ast.FunctionDef) and item.name == "__init__":
                found |= _annotations(item)
        if isinstance(node, ast.FunctionDef):
            found |= _annotations(node)
    return {name: text.strip("'\"") for name, text in found.items()}


def _annotations(node: ast.FunctionDef) -> dict[str, str]:
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(each for each in (args.vararg, args.kwarg) if each)]
    return {each.arg: ast.unparse(each.annotation) for each in every if each.annotation is not None}


def _node(obj: Any) -> ast.ClassDef | ast.FunctionDef | None:
    """Where the project's source defines a class or a function."""
    value = inspect.unwrap(obj) if callable(obj) else obj
    value = getattr(value, "__func__", value)
    if not str(getattr(value, "__module__", "")).startswith("myoquat"):
        return None
    try:
        path = inspect.getsourcefile(value)
    except TypeError:
        return None
    return _definitions(path).get(value.__qualname__) if path else None


@cache
def _definitions(path: str) -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """Every class and function of a file by its qualified name."""
    found: dict[str, ast.ClassDef | ast.FunctionDef] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[prefix + node.name] = node
                if isinstance(node, ast.ClassDef):
                    walk(node.body, f"{prefix}{node.name}.")

    walk(ast.parse(Path(path).read_text(encoding="utf-8")).body, "")
    return found


# ---- docstrings -----------------------------------------------------------------------------------------------------


def read_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: the parameters as a list, then the rest of the docstring; aligned paragraphs are lists too."""
    if what == "exception":
        lines[:] = plain("\n".join(lines))
        return
    parameters = _parameters(obj) if what in ("class", "function", "method") else None
    wanted = [each for each in parameters or () if each.name not in ("self", "cls")]
    names = [each.name for each in wanted]
    described: dict[str, tuple[str, str]] = {}
    rest: list[list[str]] = []
    for paragraph in _paragraphs("\n".join(lines)):
        entries = _entries(paragraph) or _clauses(paragraph, names)
        if entries and wanted and _is_of(entries, names):
            described |= {name: entry for entry in entries for name in _split(entry[0])}
        else:
            rest.append(list(_paragraph(paragraph)))
    listed = list(_list_of_parameters(wanted, described, _types(obj))) if wanted else []
    lines[:] = [*(rest[0] if rest else []), *listed, *(line for part in rest[1:] for line in part)]


def _is_of(entries: list[tuple[str, str]], names: list[str]) -> bool:
    """Whether a list describes parameters: most of its names are some."""
    found = [name in names for each, _ in entries for name in _split(each)]
    return sum(found) * 2 > len(found)


def _clauses(lines: list[str], names: list[str]) -> list[tuple[str, str]]:
    """(name, text) of a paragraph of clauses, divided by semicolons, each of which begins with one of the names."""
    clauses = re.split(r";\s+", " ".join(line.strip() for line in lines))
    found = [re.match(r"(\w+)(?::\s|,?\s(?=[(\[]))(.+)", clause) for clause in clauses]
    if len(clauses) < 2 or not all(match and match[1] in names for match in found):
        return []
    return [(match[1], match[2].rstrip(".")) for match in found if match]


def _split(names: str) -> list[str]:
    return [part.strip(" .:") for part in names.split(",")]


def _list_of_parameters(
    wanted: list[inspect.Parameter], described: Mapping[str, tuple[str, str]], types: Mapping[str, str]
) -> Iterator[str]:
    """A definition list: the parameters that share a text together, the others one by one."""
    known = {each.name for each in wanted}
    yield from (".. rubric:: Parameters", "", ".. container:: parameters", "")
    done: set[str] = set()
    for each in wanted:
        if each.name in done:
            continue
        names, text = described.get(each.name, (each.name, ""))
        together = [name for name in _split(names) if name in known] or [each.name]
        done |= set(together)
        type_ = " | ".join(dict.fromkeys(types[name] for name in together if name in types))
        yield f"   {', '.join(f'``{name}``' for name in together)}{f' : {_linked(type_)}' if type_ else ''}"
        yield from (f"      {line}" for line in ([escaped(text)] if text else ["\\ "]))
        yield ""
    for names, text in dict.fromkeys(described.values()):
        if not known & set(_split(names)):
            yield from (f"   {escaped(names)}", f"      {escaped(text)}", "")


@cache
def _classes() -> dict[str, str]:
    """Full names of the public classes by their last part."""
    found: dict[str, str] = {}
    seen: dict[int, str] = {}
    for package in [p for p in PACKAGES if p != "myoquat"]:
        for name, value in _divided(package, importlib.import_module(package), seen)[0]:
            if inspect.isclass(value):
                found.setdefault(name, f"{package}.{name}")
    return found


def _linked(type_: str) -> str:
    """A type, in which public classes are links."""
    parts = re.split(r"([A-Za-z_][\w.]*)", type_)
    links = _classes()
    shown = [
        f":py:class:`{part} <{links[last]}>`\\ " if (last := part.rpartition(".")[2]) in links else escaped(part)
        for part in parts
        if part
    ]
    return "".join(shown).strip()


def plain(text: str) -> list[str]:
    """Lines of reStructuredText that show a plain docstring as it is."""
    return [line for paragraph in _paragraphs(text) for line in _paragraph(paragraph)]


def _paragraphs(text: str) -> list[list[str]]:
    return [paragraph.splitlines() for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)) if paragraph.strip()]


def _paragraph(lines: list[str]) -> Iterator[str]:
    if lines and lines[0].lstrip().startswith(">>>"):
        yield from (*inspect.cleandoc("\n".join(lines)).splitlines(), "")
        return
    if entries := _entries(lines):
        yield from (".. container:: parameters", "")
        for names, text in entries:
            yield from (f"   {escaped(names)}", f"      {escaped(text)}", "")
        return
    verbatim = any(line.startswith((" ", "\t")) for line in lines)  # aligned by hand: shown as it stands
    yield from ("::", "") if verbatim else ()
    yield from (f"    {line}" if verbatim else escaped(line) for line in lines)
    yield ""


def _entries(lines: list[str]) -> list[tuple[str, str]]:
    """(names, text) of a paragraph that is aligned as a list; empty for another paragraph."""
    found: list[tuple[str, str]] = []
    if not lines or not re.match(r"^\S.*?\s{2,}\S", lines[0]):
        return []
    for line in lines:
        if line.startswith((" ", "\t")):
            names, text = found[-1]
            found[-1] = names, f"{text} {line.strip()}".strip()
        elif match := ENTRY.match(line):
            found.append((match["names"], match["text"]))
        elif re.fullmatch(r"[\w.][\w., ]*", line):
            found.append((line, ""))
        else:
            return []
    return found


def escaped(line: str) -> str:
    """A line whose `names` are code and whose other characters mean themselves."""
    parts = re.split(r"(`+[^`]+`+)", line)
    return "".join(
        f"``{part.strip('` ')}``\\ " if part.startswith("`") else re.sub(r"([*|_\\`])", r"\\\1", part) for part in parts
    )
