"""Figures of HTML pages: curves of tables, pictures of models, comparisons, studies and bands of uncertain inputs."""

import base64
import html
import importlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from myoquat.analysis.comparison import ModelComparison
from myoquat.analysis.comparison.sides import SAME
from myoquat.apps.report import Drawn, Numbers, Shown, summary_of, write_report
from myoquat.core.arguments import indices_of
from myoquat.core.figures import TITLES as TITLES_OF_MOTION
from myoquat.core.figures import (
    Panel,
    Picture,
    curve_styles,
    draw_panels,
    legend_above,
    legend_beside,
    plain_axis,
    small_axes,
)
from myoquat.core.labels import figure_label, with_unit
from myoquat.core.lazy_imports import Library
from myoquat.core.typing import Array
from myoquat.data.files import check_output, write_text
from myoquat.kernels import Outcome

if TYPE_CHECKING:
    import xarray as xr

    from myoquat.analysis import studies
    from myoquat.analysis.studies import results as studied
else:  # an extra, which reports of other results do without
    studies, studied = Library("myoquat.analysis.studies"), Library("myoquat.analysis.studies.results")

__all__ = [
    "band_figure",
    "curves",
    "inline_picture",
    "inline_svg",
    "inputs_named",
    "uncertain_sections",
    "write_comparison_report",
    "write_study_report",
]

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


MAX_OUTPUTS, MAX_PARAMETERS, MAX_BANDS = 9, 12, 6  # of a figure
FINAL = ("q_final.", "u_final.")  # columns of final coordinates and velocities


def write_study_report(results: "xr.Dataset", path: Path, title: str) -> None:
    """Write the page: samples by how they ended, parameters and results as tables, main effects, correlations, and
    bands over time where the study kept any."""
    table = studies.to_table(results)
    units = studied.units_of(results)
    good = table[results.status.values == Outcome.COMPLETED]
    names = [str(name) for name in results.parameter.values]
    outputs = [n for n in table.columns if n not in (*names, "status", "stopped_at") and good[n].nunique() > 1]
    outputs.sort(key=lambda name: name.startswith(FINAL))  # summaries were asked for
    counts = table["status"].value_counts()
    sections: list[Numbers | Drawn] = [
        Numbers("Samples", counts[counts > 0].rename_axis("outcome").to_frame("samples")),
        Numbers("Parameters", _statistics(table[names], units)),
        Numbers("Results", _statistics(good[outputs], units)),
    ]
    if len(good) > 2 and outputs:
        chosen = outputs[:MAX_OUTPUTS]
        sections.append(Drawn("Main effects", _tornados(results, chosen), _left_out(outputs)))
        sections.append(Drawn("Rank correlations", _correlations(results, chosen, names), ""))
    if "q" in results:
        sections.append(Drawn("Over time", _bands(results), "Median, and bands between quantiles of the samples."))
    write_report(path, title, [f"{len(table)} samples of {len(names)} parameters"], sections)


def _statistics(table: pd.DataFrame, units: dict[str, str]) -> pd.DataFrame:
    """Mean, standard deviation and quantiles of every column."""
    found = table.apply(pd.to_numeric).describe(percentiles=[0.05, 0.5, 0.95]).T
    found = found[["mean", "std", "min", "5%", "50%", "95%", "max"]].rename(columns={"50%": "median"})
    found.insert(0, "unit", [units.get(str(name), "") for name in found.index])
    return found


def _tornados(results: "xr.Dataset", outputs: list[str]) -> Figure:
    effects = studies.main_effects(results, outputs)
    figure, axes = small_axes(len(outputs), AXES_PER_ROW, 15, 3.2)
    for axis, name in zip(axes, outputs, strict=True):
        column = effects[name]
        column.attrs["units"] = effects.attrs["units"]
        studies.plot_tornado(column, 6, axes=axis)
    return figure


def _correlations(results: "xr.Dataset", outputs: list[str], names: list[str]) -> Figure:
    table = studies.correlation(results, outputs)
    strongest = table.abs().max(axis=1).sort_values(ascending=False).index[:MAX_PARAMETERS]
    shown = table.loc[[name for name in names if name in strongest]]
    figure = Picture(figsize=(3 + 1.2 * len(outputs), 1.5 + 0.4 * len(shown)), layout="constrained")
    studies.plot_heat_map(figure.subplots(), shown)
    return figure


def _bands(results: "xr.Dataset") -> Figure:
    names = [str(name) for name in results.coordinate.values][:MAX_BANDS]
    figure, axes = small_axes(len(names), AXES_PER_ROW, 15, 3.0)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        studies.plot_bands(axis, results, name)
        axis.get_legend().remove()
        if (k + 1) % AXES_PER_ROW == 0 or k + 1 == len(names):  # one legend per row, beside it
            legend_beside(axis)
    return figure


def _left_out(outputs: list[str]) -> str:
    more = len(outputs) - MAX_OUTPUTS
    return f"The first {MAX_OUTPUTS} results are drawn, {more} more are in the table." if more > 0 else ""


CURVES_PER_ROW, MAX_CURVES = 4, 48  # of the figure of bands
WHOLE_NUMBERS = ("samples", "seed", "frames")


def inputs_named(changes: Iterable[tuple[str, float]]) -> "studies.UncertainInputs":
    """The uncertain inputs with changes (name, number); ValueError for an unknown name."""
    known = [field.name for field in fields(studies.UncertainInputs)]
    indices_of("deviation for --uncertain:", [name for name, _ in changes], known)
    given: dict[str, Any] = {name: int(x) if name in WHOLE_NUMBERS and x == int(x) else x for name, x in changes}
    return studies.UncertainInputs(**given)


def uncertain_sections(
    found: "studies.UncertainCurves", inputs: "studies.UncertainInputs", output: Path, overwrite: bool
) -> list[Shown]:
    """Bands of the curves, and the share of each source in their variance, written as OUTPUT_bands.csv and
    OUTPUT_shares.csv beside the output too."""
    click.echo(f"uncertainty: {summary_of(found)}")
    for name, table in (("bands", found.to_dataframe()), ("shares", found.shares())):
        path = output.with_name(f"{output.stem}_{name}.csv")
        check_output(path, overwrite)
        write_text(path, table.to_csv(lineterminator="\n"))
        click.echo(f"wrote {path}")
    drawn, rest = found.names[:MAX_CURVES], found.names[MAX_CURVES:]
    deviations = ", ".join(f"{name} {getattr(inputs, name):g}" for name in found.sources)
    words = [f"{found.level:.0%} of the samples lie in the bands. Standard deviations: {deviations}."]
    words += [f"The trial lacks {', '.join(found.missing)}."] if found.missing else []
    words += [f"Only in the table: {', '.join(rest)}."] if rest else []
    return [
        Drawn("Bands of uncertain inputs", band_figure(found.of(drawn)), " ".join(words)),
        Numbers("Share of each source in the variance (Sobol indices)", found.shares()),
    ]


def band_figure(found: "studies.UncertainCurves", time: Array | None = None, measured: Array | None = None) -> Figure:
    """A small axis for each curve with its band, and with measured values (k, n) at other times (k,) [s]."""
    figure, axes = small_axes(len(found.names), CURVES_PER_ROW, 12.0, 1.9, 0.4)
    for axis, name in zip(axes, found.names, strict=True):
        found.draw(axis, name)
        axis.tick_params(labelsize=8)
        axis.set_xlabel("")
    for axis in axes[-CURVES_PER_ROW:]:
        axis.set_xlabel("time [s]", fontsize=8)
    for axis, column in zip(axes, () if measured is None else measured.T, strict=False):
        axis.plot(time, column, color="black", linewidth=2, linestyle=":", label="measured")
    legend_above(figure)
    return figure
