"""Pages of studies and of uncertain inputs. Needs the extra `studies`, which reports of other results do without."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from myoquat.analysis.studies import (
    UncertainCurves,
    UncertainInputs,
    correlation,
    main_effects,
    plot_bands,
    plot_heat_map,
    plot_tornado,
    to_table,
)
from myoquat.core import Array, Picture, indices_of, legend_above, legend_beside, small_axes
from myoquat.data.files import check_output, write_text
from myoquat.kernels import Outcome

from .report import Drawn, Numbers, Shown, summary_of, write_report

AXES_PER_ROW = 3
MAX_OUTPUTS, MAX_PARAMETERS, MAX_BANDS = 9, 12, 6  # of a figure
FINAL = ("q_final.", "u_final.")  # columns of final coordinates and velocities


def write_study_report(results: xr.Dataset, path: Path, title: str) -> None:
    """Write the page: samples by how they ended, parameters and results as tables, main effects, correlations, and
    bands over time where the study kept any."""
    table = to_table(results)
    units = table.attrs["units"]
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
        chosen, more = outputs[:MAX_OUTPUTS], len(outputs) - MAX_OUTPUTS
        effects = main_effects(results, chosen)
        figure, axes = small_axes(len(chosen), AXES_PER_ROW, 15, 3.2)
        for axis, name in zip(axes, chosen, strict=True):
            column = effects[name]
            column.attrs["units"] = effects.attrs["units"]
            plot_tornado(column, 6, axes=axis)
        words = f"The first {MAX_OUTPUTS} results are drawn, {more} more are in the table." if more > 0 else ""
        sections.append(Drawn("Main effects", figure, words))
        correlations = correlation(results, chosen)
        strongest = correlations.abs().max(axis=1).sort_values(ascending=False).index[:MAX_PARAMETERS]
        shown = correlations.loc[[name for name in names if name in strongest]]
        figure = Picture(figsize=(3 + 1.2 * len(chosen), 1.5 + 0.4 * len(shown)), layout="constrained")
        plot_heat_map(figure.subplots(), shown)
        sections.append(Drawn("Rank correlations", figure))
    if "q" in results:
        coordinates = [str(name) for name in results.coordinate.values][:MAX_BANDS]
        figure, axes = small_axes(len(coordinates), AXES_PER_ROW, 15, 3.0)
        for k, (axis, name) in enumerate(zip(axes, coordinates, strict=True), 1):
            plot_bands(axis, results, name)
            axis.get_legend().remove()
            if k % AXES_PER_ROW == 0 or k == len(coordinates):  # one legend per row, beside it
                legend_beside(axis)
        sections.append(Drawn("Over time", figure, "Median, and bands between quantiles of the samples."))
    write_report(path, title, [f"{len(table)} samples of {len(names)} parameters"], sections)


def _statistics(table: pd.DataFrame, units: dict[str, str]) -> pd.DataFrame:
    """Mean, standard deviation and quantiles of every column."""
    found = table.apply(pd.to_numeric).describe(percentiles=[0.05, 0.5, 0.95]).T
    found = found[["mean", "std", "min", "5%", "50%", "95%", "max"]].rename(columns={"50%": "median"})
    found.insert(0, "unit", [units.get(str(name), "") for name in found.index])
    return found


CURVES_PER_ROW, MAX_CURVES = 4, 48  # of the figure of bands
WHOLE_NUMBERS = ("samples", "seed", "frames")


def inputs_named(changes: Iterable[tuple[str, float]]) -> UncertainInputs:
    """The uncertain inputs with changes (name, number); ValueError for an unknown name."""
    known = [field.name for field in fields(UncertainInputs)]
    indices_of("deviation for --uncertain:", [name for name, _ in changes], known)
    given: dict[str, Any] = {name: int(x) if name in WHOLE_NUMBERS and x == int(x) else x for name, x in changes}
    return UncertainInputs(**given)


def uncertain_sections(found: UncertainCurves, inputs: UncertainInputs, output: Path, overwrite: bool) -> list[Shown]:
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


def band_figure(found: UncertainCurves, time: Array | None = None, measured: Array | None = None) -> Figure:
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
