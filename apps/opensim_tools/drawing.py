"""Curves of tables as SVG, and pictures of models, that stand in a page of HTML."""

import base64
import html
import importlib
import io
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from myoquat.core.typing import Array
from myoquat.joints.panels import TITLES as TITLES_OF_MOTION
from myoquat.joints.panels import Panel, draw_panels

__all__ = ["chosen_curves", "curves", "inline_picture", "inline_svg"]

MAX_DRAWN_COLUMNS = 96  # columns of a table that are drawn; the page names the others
LAYOUT_DIGITS = 4  # of positions in a figure, as parts of its size
SHARED = ("N", "N m", "mm")  # units of axes with one scale
TITLES = TITLES_OF_MOTION | {
    "N": "forces",
    "N m": "moments",
    "mm": "distances",
    "W": "power",
    "1": "dimensionless",
}


def curves(table: pd.DataFrame, units: Mapping[str, str], title: str = "") -> str:
    """Curves of the columns over the index time [s] as SVG, and the names of columns that are not drawn.

    Columns of one unit are together, at most eight on an axis, and their axes share a scale. The heading is the title
    or a word for the unit.
    """
    left_out = [html.escape(str(name)) for name in table.columns[MAX_DRAWN_COLUMNS:]]
    table = table.iloc[:, :MAX_DRAWN_COLUMNS]
    note = f"<p>Not drawn: {', '.join(left_out)}</p>" if left_out else ""
    if not len(table.columns) or len(table) < 2:
        return note
    panels = [_panel(table, unit, units, title) for unit in dict.fromkeys(units[str(name)] for name in table.columns)]
    return inline_svg(draw_panels(table.index.to_numpy(dtype=float), panels)) + note


def chosen_curves(table: pd.DataFrame, units: Mapping[str, str], axes: Mapping[str, Mapping[str, str]]) -> str:
    """Curves over the index time [s] as SVG, and the titles of axes that are not drawn.

    Each title has one axis. `axes` holds its columns, all of one unit, with the names that the legend shows.
    """
    count = np.cumsum([len(columns) for columns in axes.values()])
    drawn = [title for title, columns in zip(axes, count, strict=True) if columns <= MAX_DRAWN_COLUMNS]
    panels = []
    for title in drawn:
        unit, values = units[next(iter(axes[title]))], table[list(axes[title])].to_numpy(dtype=float)
        panels.append(Panel(title, unit, tuple(axes[title].values()), values, shared=unit in SHARED))
    left_out = [html.escape(title) for title in axes if title not in drawn]
    note = f"<p>Not drawn: {', '.join(left_out)}</p>" if left_out else ""
    return inline_svg(draw_panels(table.index.to_numpy(dtype=float), panels)) + note


def _panel(table: pd.DataFrame, unit: str, units: Mapping[str, str], title: str) -> Panel:
    names = tuple(str(name) for name in table.columns if units[str(name)] == unit)
    values = table[list(names)].to_numpy(dtype=float)
    return Panel(title or TITLES.get(unit, ""), unit, names, values, shared=unit in SHARED)


def inline_svg(figure: Figure) -> str:
    """A figure as SVG without a date, the same from run to run."""
    _lay_out(figure)
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "myoquat", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    drawn = stream.getvalue()
    return drawn[drawn.index("<svg") :]


def _lay_out(figure: Figure) -> None:
    """Set the positions of the axes, rounded: last digits of constrained layouts depend on addresses in memory."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    engine.execute(figure)
    figure.set_layout_engine(None)
    for part in figure.subfigs:
        part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), LAYOUT_DIGITS))
    for axis in figure.axes:
        left, bottom, width, height = np.round(axis.get_position().bounds, LAYOUT_DIGITS).tolist()
        axis.set_position((left, bottom, width, height))


def inline_picture(pixels: Array, words: str) -> str:
    """A picture (h, w, 3) within the page."""
    pillow, data = importlib.import_module("PIL.Image"), io.BytesIO()
    pillow.fromarray(np.asarray(pixels, dtype=np.uint8)).save(data, "png", optimize=True)
    return f'<img alt="{html.escape(words)}" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'
