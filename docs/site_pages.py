"""What of the site is made from the source, before Sphinx reads the pages.

They go into folders that git ignores. `_generated/` has the reference of every public name, the curves of the force
laws, the pictures of the gallery and the schema of model files. `tutorials/` has copies of the notebooks.
"""

import importlib
import inspect
import os
import re
import shutil
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import site_pictures
import site_reference

ROOT = Path(__file__).parents[1]


def write(docs: Path) -> None:
    """All of it. Files that are as they were keep their time, so that Sphinx reads only what is new."""
    generated = docs / "_generated"
    generated.mkdir(exist_ok=True)
    for page, text in site_reference.pages().items():
        _write(generated / f"{page}.rst", text)
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
    reader = importlib.import_module("myoquat.data.toml.models")
    indented = re.findall(r"(?:^    .*\n|^\n)+", reader.__doc__ or "", re.MULTILINE)
    return inspect.cleandoc(max(indented, key=len)) + "\n"


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copy(source, target)
