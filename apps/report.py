"""A report of results: one page of HTML with tables and figures, which loads no other file."""

import html
import importlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from myoquat.core import frozen, version_of
from myoquat.data.files import check_output, write_text
from myoquat.data.tables import column_units

from .command import ARGUMENTS

STYLE = """
:root{--ink:#1d2733;--soft:#5b6b7c;--line:#dfe5eb;--band:#f6f8fa;--link:#0b62a8}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;color:var(--ink);
margin:0;padding:0 2rem 3rem;background:#fff}
h1{font-size:1.7rem;font-weight:650;margin:1.6rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;font-weight:600;margin:2rem 0 .7rem;padding-top:.9rem;border-top:1px solid var(--line)}
ul{margin:.2rem 0;padding-left:1.2rem}p{max-width:60rem}
svg,img{max-width:100%;height:auto}
.table{overflow:auto;max-height:36rem;border:1px solid var(--line);border-radius:6px;width:fit-content;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
td,th{padding:.3rem .9rem;text-align:right;white-space:nowrap}
th:first-child{text-align:left;font-weight:500}
thead th{white-space:normal;vertical-align:bottom}.words{text-align:left;white-space:normal;min-width:16rem}
thead th{position:sticky;top:0;background:var(--band);color:var(--soft);font-weight:600;cursor:pointer;
border-bottom:1px solid var(--line);user-select:none}
thead th:hover,summary:hover{color:var(--link)}
thead th[data-order=up]::after{content:" \\25b2"}thead th[data-order=down]::after{content:" \\25bc"}
tbody tr:nth-child(even){background:var(--band)}
summary{cursor:pointer;color:var(--soft);margin:.4rem 0}
footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.8rem;color:var(--soft);font-size:.85rem}
code{font-family:ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
@media print{body{padding:0}.table{max-height:none}}
"""
SORTING = """
const head = event.target.closest("thead th");
if (head) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex, down = head.dataset.order === "up";
  const key = row => row.cells[column].textContent;
  const compare = (a, b) => {
    const x = parseFloat(key(a)), y = parseFloat(key(b)), known = [x, y].map(Number.isFinite);
    if (!known[0] && !known[1]) return key(a).localeCompare(key(b));
    return !known[0] ? 1 : !known[1] ? -1 : x - y;
  };
  const rows = [...body.rows].sort((a, b) => down ? compare(b, a) : compare(a, b));
  for (const other of head.parentElement.cells) delete other.dataset.order;
  head.dataset.order = down ? "down" : "up";
  body.append(...rows);
}
"""  # at a click anywhere; an attribute, so that a page holds no script, and none that a name brings goes unseen
MAX_WORD_LENGTH = 32  # of a cell of a table: longer ones are sentences
DRAWING = "myoquat.apps.drawing"  # matplotlib, for those who want a report


@frozen(eq=False)
class Section:
    """A table over the index time [s] under a heading: its curves, and their extremes. `unit` is that of all columns,
    "" where `units` or the names of the columns tell each its own. `axes`: columns by the title of their axis, with
    their names there; other columns stand in the extremes only. Without it, columns of a unit stand together, under
    `title` or a word for the unit."""

    heading: str
    table: pd.DataFrame
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    title: str = ""

    def lines(self) -> list[str]:
        """The HTML below the heading."""
        known = column_units(self.table)
        units = {name: self.units.get(name, self.unit or known[name]) for name in known}
        if len(self.table) == 1:  # one frame is a list of numbers, not a curve
            numbers = self.table.T.set_axis(["value"], axis=1).assign(unit=[units[str(n)] for n in self.table.columns])
            return [_table(numbers)]
        finite = self.table.astype(float).replace([np.inf, -np.inf], np.nan)
        numbers = {"least": finite.min(), "greatest": finite.max(), "mean": finite.mean()}
        extremes = _table(pd.DataFrame({"unit": [units[str(name)] for name in finite], **numbers}, finite.columns))
        drawing = importlib.import_module(DRAWING)
        return [
            drawing.curves(self.table, units, self.title, self.axes),
            f"<details><summary>Extremes</summary>{extremes}</details>",
        ]


@frozen(eq=False)
class Numbers:
    """A table of numbers and words under a heading, with units in the names of its columns."""

    heading: str
    table: pd.DataFrame

    def lines(self) -> list[str]:
        """The HTML below the heading."""
        return [_table(self.table)]


@frozen
class Said:
    """Sentences under a heading."""

    heading: str
    sentences: tuple[str, ...]

    def lines(self) -> list[str]:
        """The HTML below the heading."""
        return [f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences]


@frozen(eq=False)
class Drawn:
    """A figure, or the pixels (h, w, 3) of a picture, under a heading, with a sentence below."""

    heading: str
    picture: Any
    words: str = ""

    def lines(self) -> list[str]:
        """The HTML below the heading."""
        drawing = importlib.import_module(DRAWING)
        is_pixels = isinstance(self.picture, np.ndarray)
        shown = drawing.inline_picture(self.picture, self.words) if is_pixels else drawing.inline_svg(self.picture)
        return [shown, f"<p>{html.escape(self.words)}</p>"]


Shown = Section | Numbers | Drawn | Said


def summary_of(result: object) -> str:
    """The words of the representation '<Class words>' of a result."""
    return repr(result).removeprefix("<").removesuffix(">").partition(" ")[2]


def check_report(path: Path | None, overwrite: bool) -> None:
    """FileExistsError for a file that would be replaced, ValueError for one that does not end in .html."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a report ends in .html, not {path.name!r}")
    check_output(path, overwrite)


def write_report(path: Path, title: str, lines: Sequence[str], sections: Sequence[Shown]) -> None:
    """Write the page: the lines of the summary, then each section. Texts are escaped."""
    parts = [f"<h1>{html.escape(title)}</h1>", "<ul>", *(f"<li>{html.escape(line)}</li>" for line in lines), "</ul>"]
    for section in sections:
        parts += [f"<h2>{html.escape(section.heading)}</h2>", *section.lines()]
    parts.append(f"<footer>{_origin()}</footer>")
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
    head += f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body onclick="{html.escape(SORTING)}">\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )
    write_text(path, page)


def _origin() -> str:
    """The version, and the command line where one is running."""
    version = f"myoquat {html.escape(version_of('myoquat'))}"
    context = click.get_current_context(silent=True)
    arguments = None if context is None else context.meta.get(ARGUMENTS)
    if context is None or arguments is None:
        return version
    return f"{version}: <code>{html.escape(shlex.join([str(context.find_root().info_name), *arguments]))}</code>"


def _escaped(value: object) -> str:
    """A text for a cell: white space is one blank, as in HTML, because pandas writes other white space as "\\n"."""
    return html.escape(" ".join(str(value).split()))


def _table(table: pd.DataFrame) -> str:
    """A table with its index as the first column. Columns of sentences are flush left, in several lines."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "" if np.isnan(value) else f"{value:.4g}"
        return _escaped(value)

    labels = pd.Index([_escaped(label) for label in table.index], dtype=object)
    shown, heads = pd.DataFrame(index=labels), []
    for k, (name, column) in enumerate(table.items()):
        texts = [_escaped(name), *map(cell, column)]
        if any(len(html.unescape(text)) > MAX_WORD_LENGTH for text in texts[1:]):
            texts = [f'<div class="words">{text}</div>' for text in texts]
        heads.append(texts[0])
        shown[k] = texts[1:]
    shown.columns = pd.Index(heads, dtype=object, name=_escaped(table.index.name or ""))
    with pd.option_context("display.max_colwidth", None):
        return f'<div class="table">{shown.to_html(escape=False, border=0)}</div>'
