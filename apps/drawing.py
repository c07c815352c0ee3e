"""Figures of HTML pages: curves of tables, pictures of models, and comparisons."""

import base64
import html
import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from myoquat.analysis.comparison import ModelComparison
from myoquat.analysis.comparison.sides import SAME
from myoquat.core import (
    TITLES as TITLES_OF_MOTION,
    Array,
    Panel,
    curve_styles,
    draw_panels,
    figure_label,
    legend_beside,
    plain_axis,
    small_axes,
    with_unit,
)

from .report import Drawn, Numbers, write_report
from .viewer.films import encoded

MAX_DRAWN_COLUMNS = 96  # columns of a table that are drawn; the page names the others
LAYOUT_DIGITS = 4  # of positions in a figure, as parts of its size
SHARED = ("N", "N m", "mm")  # units of axes with one scale
NO_AXES: Mapping[str, Mapping[str, str]] = MappingProxyType({})
TITLES = TITLES_OF_MOTION | {
    "N": "forces",
    "N m": "moments",
    "mm": "distances",
    "W": "power",
    "1": "dimensionless",
}


def curves(
    table: pd.DataFrame, units: Mapping[str, str], title: str = "", axes: Mapping[str, Mapping[str, str]] = NO_AXES
) -> str:
    """Curves of the columns over the index time [s] as SVG, and the names of what is not drawn.

    Columns of one unit are together, at most eight on an axis, and their axes share a scale. The heading is the title
    or a word for the unit. With `axes` each title has one axis. They hold its columns, all of one unit, with the names
    that the legend shows.
    """
    names = [str(name) for name in table.columns]
    if axes:
        count = np.cumsum([len(columns) for columns in axes.values()])
        groups = [row for row, last in zip(axes.items(), count, strict=True) if last <= MAX_DRAWN_COLUMNS]
        left_out = list(axes)[len(groups) :]
    else:
        shown, left_out = names[:MAX_DRAWN_COLUMNS], names[MAX_DRAWN_COLUMNS:]
        groups = [(title or TITLES.get(unit, ""), {name: name for name in shown if units[name] == unit})
                  for unit in dict.fromkeys(units[name] for name in shown)]  # fmt: skip
    note = f"<p>Not drawn: {html.escape(', '.join(left_out))}</p>" if left_out else ""
    if not groups or len(table) < 2:
        return note
    panels = []
    for heading, columns in groups:
        unit, values = units[next(iter(columns))], table[list(columns)].to_numpy(dtype=float)
        panels.append(Panel(heading, unit, tuple(columns.values()), values, shared=unit in SHARED))
    return inline_svg(draw_panels(table.index.to_numpy(dtype=float), panels)) + note


def inline_svg(figure: Figure) -> str:
    """A figure as SVG without a date, the same from run to run."""
    if (engine := figure.get_layout_engine()) is not None:
        # positions of axes are rounded: last digits of constrained layouts depend on addresses in memory
        engine.execute(figure)
        figure.set_layout_engine(None)
        for part in figure.subfigs:
            part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), LAYOUT_DIGITS))
        for axis in figure.axes:
            left, bottom, width, height = np.round(axis.get_position().bounds, LAYOUT_DIGITS).tolist()
            axis.set_position((left, bottom, width, height))
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "myoquat", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    drawn = stream.getvalue()
    return drawn[drawn.index("<svg") :]


def inline_picture(pixels: Array, words: str) -> str:
    """A picture (h, w, 3) within the page."""
    data = base64.b64encode(encoded(np.asarray(pixels, dtype=np.uint8), optimize=True)).decode()
    return f'<img alt="{html.escape(words)}" src="data:image/png;base64,{data}">'


MAX_DRAWN, AXES_PER_ROW, CURVE_POINTS = 6, 3, 61
DRAWN_FROM = 1e-6  # relative differences that are drawn
UNITS = {"length": "m", "moment arm": "m", "force": "N"}


def write_comparison_report(found: ModelComparison, path: Path) -> None:
    """Write the page: what was compared and matched, the muscles, bodies and coordinates, and curves."""
    matched, _, differences = found.to_text().partition("\n\n")
    text = matched.splitlines()
    text += [line for line in differences.splitlines() if not line.startswith("  ") and not line.endswith(":")]
    table = found.muscles
    order = table.filter(like="relative").max(axis=1).sort_values(ascending=False).index
    sections: list[Numbers | Drawn] = []
    worst = _worst(found)
    if worst:
        words = "The muscles with the greatest relative differences; other coordinates are those of the pose with it."
        sections.append(Drawn("Curves", _curves(found, worst), words))
    sections.append(Numbers("Greatest differences", found.worst().set_index("name")[SHOWN]))
    sections.append(_numbers("Muscles", table.loc[order]))
    sections.append(_numbers("Bodies", found.bodies))
    coordinates = found.coordinates
    coordinates.insert(0, "unit", [found.units.get(str(name), "") for name in coordinates.index])
    sections.append(_numbers("Coordinates", coordinates))
    for what, names in found.unmatched.items():
        sections.append(Numbers(f"Without a partner: {what}", pd.DataFrame(index=pd.Index(names, name=what))))
    write_report(path, f"{found.first} and {found.second}", text, sections)


def _numbers(heading: str, table: pd.DataFrame) -> Numbers:
    """A table; a word in its heading stands for the columns of names where all are the same in both models."""
    if not len(table) or not (table["matched by"] == SAME).all():
        return Numbers(heading, table)
    return Numbers(f"{heading}, all matched by the {SAME}", table.drop(columns=["in B", "matched by"]))


SHOWN = ["quantity", "greatest", "RMS", "relative", "coordinate", "cause"]


def _worst(found: ModelComparison) -> list[tuple[str, str, str, int]]:
    """(muscle, quantity, coordinate, pose) of the curves: each muscle's greatest relative difference."""
    scalars = {arm: arm for arm in found.arms if arm in found.names.coordinates.names}
    chosen: dict[str, tuple[str, str, str, int]] = {}
    over = {r["name"]: r["coordinate"] for r in found.records if r["quantity"] == "moment arm"}
    for row in found.worst(len(found.records)).to_dict("records"):
        name = str(row["name"])
        along = scalars.get(over.get(name, ""))
        differs = row["relative"] > DRAWN_FROM
        if row["part"] == "muscle" and name not in chosen and along and differs:
            chosen[name] = name, str(row["quantity"]), along, int(row["pose"])
    return list(chosen.values())[:MAX_DRAWN]


def _curves(found: ModelComparison, worst: list[tuple[str, str, str, int]]) -> Figure:
    figure, axes = small_axes(len(worst), AXES_PER_ROW, 15, 3.4)
    for axis, (muscle, quantity, over, pose) in zip(axes, worst, strict=True):
        values = np.linspace(np.nanmin(found.values[over]), np.nanmax(found.values[over]), CURVE_POINTS)
        turns = found.units[over] == "rad"
        x = np.degrees(values) if turns else values
        both = found.curves(muscle, quantity, over, values, pose)
        for y, label, style in zip(both, "AB", curve_styles(2), strict=True):
            axis.plot(x, y, label=label, **style)
        plain_axis(axis)
        axis.set_xlabel(with_unit(figure_label(over), "deg" if turns else found.units[over]))
        axis.set_ylabel(f"{quantity} [{UNITS[quantity]}]")
        axis.set_title(figure_label(muscle), loc="left")
        legend_beside(axis)
    return figure
