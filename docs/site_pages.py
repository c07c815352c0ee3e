"""What of the site is made from the source, before Sphinx reads the pages.

Written into folders that git ignores: `_generated/` (the reference of every public name, the curves of the force laws,
the pictures of the gallery, the schema of model files) and copies of the notebooks in `tutorials/`.
"""

import importlib
import inspect
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import public_api  # noqa: E402
import site_pictures  # noqa: E402

from myoquat.data.motions.showing import Shown  # noqa: E402

# Described on the site, not yet promised to stay: `tests/public_api.txt` does not hold them.
PACKAGES = (*public_api.PACKAGES, "myoquat.analysis.motion")


def write(docs: Path) -> None:
    """All of it. Files that are as they were keep their time, so that Sphinx reads only what is new."""
    generated = docs / "_generated"
    generated.mkdir(exist_ok=True)
    for package, text in reference_pages().items():
        _write(generated / f"{package}.rst", text)
    commands = importlib.import_module("site_commands")
    for page, text in commands.pages().items():
        _write(generated / f"{page}.rst", text)
    _write(generated / "commands.txt", commands.listed())
    _write(generated / "schema.txt", schema())
    site_pictures.draw(generated)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _copy(notebook, docs / "tutorials" / notebook.name)


def single(docs: Path) -> list[str]:
    """The pages of the front page's contents that have no pages below them, beside which nothing is to be navigated."""
    contents = (docs / "index.md").read_text(encoding="utf-8").split("{toctree}")[1].split("```")[0]
    pages = [line.split("<")[-1].rstrip(">") for line in contents.splitlines() if line and not line.startswith(":")]
    return [page for page in pages if "toctree}" not in (docs / f"{page}.md").read_text(encoding="utf-8")]


def schema() -> str:
    """The schema of model files, from the docstring of the module that reads them."""
    reader = importlib.import_module("myoquat.data.toml.read")
    indented = re.findall(r"(?:^    .*\n|^\n)+", reader.__doc__ or "", re.MULTILINE)
    return inspect.cleandoc(max(indented, key=len)) + "\n"


def reference_pages() -> dict[str, str]:
    """The page of each package by its name. A name is described where it is first, referred to elsewhere."""
    seen: dict[int, str] = {}
    packages = [p for p in PACKAGES if p != "myoquat"] + ["myoquat"]
    return {package: "\n".join(_page(package, seen)) + "\n" for package in packages}


def _page(package: str, seen: dict[int, str]) -> Iterator[str]:
    module = importlib.import_module(package)
    yield from (f".. py:module:: {package}", "", package, "=" * len(package), "")
    yield from (*plain(inspect.getdoc(module) or ""), "")
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
    if others:
        yield from ("Described elsewhere:", "")
        yield from (f"- :py:obj:`{name}`" for name in others)
        yield ""
    if own:
        yield from ("In short", "--------", "", ".. list-table::", "   :widths: 30 70", "")
        for name, value in own:
            yield f"   * - :py:obj:`{name} <{package}.{name}>`"
            yield f"     - {_sentence(value)}"
        yield from ("", "In full", "-------", "", f".. py:currentmodule:: {package}", "")
    for name, value in own:
        yield from _entry(package, name, value)


def _sentence(value: Any) -> str:
    described = inspect.isclass(value) or inspect.isroutine(value)
    text = (inspect.getdoc(value) if described else "") or ""
    first = " ".join(line for line in text.split("\n\n")[0].splitlines() if not line.startswith(" "))
    return escaped(first) or type(value).__name__


def _entry(package: str, name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        shown = issubclass(value, Shown)  # its methods belong to the motion as its own do
        yield from (f".. autoclass:: {package}.{name}", "   :members:", *["   :inherited-members:"] * shown, "")
    elif callable(value):
        yield from (f".. autofunction:: {package}.{name}", "")
    else:
        keys = ", ".join(map(str, value)) if isinstance(value, dict | tuple) else repr(value)
        yield from (f".. py:data:: {name}", "", f"   {escaped(f'{type(value).__name__}: {keys}')}", "")


def plain_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: docstrings of the project are plain text with formulas, examples and names in backticks."""
    lines[:] = plain("\n".join(lines))


def plain(text: str) -> list[str]:
    """Lines of reStructuredText that show a plain docstring as it is."""
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        found += _paragraph(paragraph.splitlines())
    return found


def _paragraph(lines: list[str]) -> Iterator[str]:
    if lines and lines[0].lstrip().startswith(">>>"):
        yield from (*inspect.cleandoc("\n".join(lines)).splitlines(), "")
        return
    verbatim = any(line.startswith((" ", "\t")) for line in lines)  # aligned by hand: shown as it stands
    yield from ("::", "") if verbatim else ()
    yield from (f"    {line}" if verbatim else escaped(line) for line in lines)
    yield ""


def escaped(line: str) -> str:
    """A line whose `names` are code and whose other characters mean themselves."""
    parts = re.split(r"(`+[^`]+`+)", line)
    return "".join(
        f"``{part.strip('` ')}``\\ " if part.startswith("`") else re.sub(r"([*|_\\`])", r"\\\1", part) for part in parts
    )


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copy(source, target)
