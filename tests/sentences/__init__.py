"""Sentences of pages, notebooks and docstrings with more than 35 words.

    python -m tests.sentences [PATHS]     prints every one with its file, line and number of words

Without paths: all pages and notebooks, and the docstrings of all packages. A sentence ends at a full stop, an
exclamation or question mark, or with its paragraph, item of a list or cell of a table. Code, formulas between dollar
signs, headings and examples do not count; `code` inside a sentence and a formula are one word each.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.language import FOLDERS, PAGES, ROOT, files, parsed, statements

__all__ = ["LONGEST", "Sentence", "long_sentences", "main", "sentences"]

LONGEST = 35  # words
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|No|Fig|Eq|pp|p|Sec|Ch|Dr|St|approx|ed|eds|Vol|no|vol)\.")
END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9`$\\])")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
ITEM = re.compile(r"^\s*([-*+]|\d+\.|:)\s+")
# Fenced code, formulas of their own lines, and examples up to a blank line
CODE = re.compile(r"^ *(?:(`{3,}|~{3,}|\$\$).*?\1 *$|>>> .*?(?=\n *\n|\Z))", re.DOTALL | re.MULTILINE)
OTHER = re.compile(r"#|<[!/a-z]|:::|\|\s|\([\w-]+\)=")  # headings, tags, directives, rows of tables, targets
COLUMN = re.compile(r"^(\s*\S.*?)\s{2,}(?=\S)")  # the first column of a list of names and what they mean


@dataclass(frozen=True)
class Sentence:
    """A sentence that begins at a line of a file, or in a cell of a notebook."""

    path: str
    line: int
    text: str

    @property
    def words(self) -> int:
        """Its words."""
        return len(WORD.findall(self.text))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words}: {self.text}"


def long_sentences(paths: tuple[Path, ...] = ()) -> list[Sentence]:
    """Sentences of more than `LONGEST` words in files and folders, or in all pages, notebooks and packages."""
    return [sentence for file in _texts(paths) for sentence in sentences(file) if sentence.words > LONGEST]


def _texts(paths: tuple[Path, ...]) -> list[Path]:
    """Pages, modules and notebooks below the paths, or all."""
    starts = paths or tuple(ROOT / name for name in (*FOLDERS, *PAGES, "CHANGELOG.md", "docs", "notebooks"))
    notebooks = [file for start in starts for file in ([start] if start.is_file() else start.rglob("*.ipynb"))]
    written = {"_build", ".ipynb_checkpoints", "tutorials"}  # by the site and by Jupyter
    kept = (file for file in notebooks if file.suffix == ".ipynb" and not written & {*file.parts})
    return [*files(starts), *sorted(kept)]


def sentences(file: Path) -> Iterator[Sentence]:
    """The sentences of a page, of a notebook, or of the docstrings of a module."""
    path = file.resolve().relative_to(ROOT).as_posix()
    for line, paragraph in {".md": _page, ".py": _docstrings, ".ipynb": _notebook}[file.suffix](file):
        yield from _split(path, line, paragraph)


def _page(file: Path) -> Iterator[tuple[int, list[str]]]:
    return _paragraphs(file.read_text(encoding="utf-8"))


def _notebook(file: Path) -> Iterator[tuple[int, list[str]]]:
    """(number of the cell, paragraph) of the Markdown of a notebook."""
    for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"], start=1):
        if cell["cell_type"] == "markdown":
            yield from ((number, paragraph) for _, paragraph in _paragraphs("".join(cell["source"])))


def _split(path: str, line: int, paragraph: list[str]) -> Iterator[Sentence]:
    """The sentences of a paragraph."""
    text = " ".join(part.strip() for part in paragraph)
    text = re.sub(r"\{[\w:]+\}`[^`]*`|``[^`]+``|`[^`]*`", "`code`", text)
    text = re.sub(r"\$[^$]+\$", "`formula`", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATIONS.sub(r"\1", text)
    for sentence in END.split(text):
        if sentence.strip():
            yield Sentence(path, line, sentence.strip())


def _paragraphs(text: str, start: int = 1) -> Iterator[tuple[int, list[str]]]:
    """(line, paragraph) of the prose of a page or a docstring: paragraphs, items of lists, cells of tables, and what
    stands beside a name in a list of names. What is indented deeper than prose is code."""
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    paragraph: list[str] = []
    first, column = start, 0
    for number, line in enumerate([*text.split("\n"), ""], start=start):
        stripped, indent, begins = line.strip(), len(line) - len(line.lstrip()), ITEM.match(line) or COLUMN.match(line)
        continues = paragraph and indent == column
        shallow = indent < 4 or continues or (begins and column)
        prose = bool(stripped) and not OTHER.match(stripped) and shallow
        if paragraph and (begins or not prose or not continues):
            yield first, paragraph
            paragraph = []
        if stripped.startswith("| "):
            yield from ((number, [cell]) for cell in stripped.strip("|").split("|"))
        if prose:
            if not paragraph:
                first, column = number, len(begins[0]) if begins else indent
            paragraph.append(line[column:])
        elif not stripped:
            column = 0


def _docstrings(file: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, paragraph) of the prose of all docstrings."""
    for node in statements(parsed(file)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _paragraphs(ast.get_docstring(node) or "", node.body[0].lineno if node.body else 1)


def main() -> None:
    """Print the long sentences below the paths of the command line, and how many there are."""
    paths = tuple(Path(name).resolve() for name in sys.argv[1:])
    found = long_sentences(paths)
    for sentence in found:
        print(sentence)
    count = sum(1 for file in _texts(paths) for _ in sentences(file))
    print(len(found), "of", count, "sentences have more than", LONGEST, "words")
