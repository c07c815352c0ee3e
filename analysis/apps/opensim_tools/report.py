"""A report of what was computed: one page of HTML with a figure for every table, and nothing that it has to load."""

import html
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.data.files import check_output, write_text

__all__ = ["Section", "check_report", "told", "write_report"]

STYLE = "body{font-family:sans-serif;max-width:72em;margin:2em auto;padding:0 1em}svg{max-width:100%;height:auto}"
STYLE += "table{border-collapse:collapse}td,th{padding:.1em .8em;text-align:right}th:first-child{text-align:left}"


@dataclass(frozen=True, eq=False)
class Section:
    """A table over the index time [s] under a heading, with the unit of its columns, "" for several."""

    heading: str
    table: pd.DataFrame
    unit: str = ""


def told(result: object) -> str:
    """What the representation '<Class words>' of a result says, as a line for a person: the words."""
    return repr(result).removeprefix("<").removesuffix(">").partition(" ")[2]


def check_report(path: Path | None, overwrite: bool) -> None:
    """FileExistsError for a file that would be replaced, ValueError for one that does not end in .html."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a report ends in .html, not {path.name!r}")
    check_output(path, overwrite)


def write_report(path: Path, title: str, lines: Sequence[str], sections: Sequence[Section]) -> None:
    """Write the page: the lines that were told, then each table as extremes and curves. Texts are escaped."""
    drawing = importlib.import_module(
        "myoquat.analysis.apps.opensim_tools.drawing"
    )  # matplotlib, for those who want a report
    parts = [f"<h1>{html.escape(title)}</h1>", "<ul>", *(f"<li>{html.escape(line)}</li>" for line in lines), "</ul>"]
    for section in sections:
        parts += [
            f"<h2>{html.escape(section.heading)}</h2>",
            _extremes(section),
            drawing.curves(section.table, section.unit),
        ]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    write_text(path, f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")


def _extremes(section: Section) -> str:
    """The least, the greatest and the mean of every column."""
    unit = f" [{html.escape(section.unit)}]" if section.unit else ""
    rows = [f"<tr><th>column{unit}</th><th>least</th><th>greatest</th><th>mean</th></tr>"]
    for name, column in section.table.items():
        values = column.to_numpy(dtype=float)
        known = values[np.isfinite(values)]
        numbers = (known.min(), known.max(), known.mean()) if len(known) else (np.nan,) * 3
        cells = "".join(f"<td>{number:.4g}</td>" for number in numbers)
        rows.append(f"<tr><th>{html.escape(str(name))}</th>{cells}</tr>")
    return "<details><summary>Extremes</summary><table>" + "".join(rows) + "</table></details>"
