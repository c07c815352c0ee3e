"""The report of a study: what was varied, what came out, and which number moves it, on one page of HTML."""

from pathlib import Path

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from myoquat.analysis.studies import correlation, main_effects, plot_bands, plot_heat_map, plot_tornado, to_table
from myoquat.analysis.studies.export import units_of
from myoquat.apps.report import Drawn, Numbers, write_report
from myoquat.joints.panels import legend_beside
from myoquat.joints.picture import Picture
from myoquat.kernels import Outcome

__all__ = ["write_study_report"]

MAX_OUTPUTS, MAX_PARAMETERS, MAX_BANDS = 9, 12, 6  # of a figure
PANELS_PER_ROW = 3
FINAL = ("q_final.", "u_final.")  # columns of final coordinates and velocities


def write_study_report(results: xr.Dataset, path: Path, title: str) -> None:
    """Write the page: samples by how they ended, parameters and results as tables, main effects, correlations, and
    bands over time where the study kept any."""
    table = to_table(results)
    good = table[results.status.values == Outcome.COMPLETED]
    names = [str(name) for name in results.parameter.values]
    outputs = [n for n in table.columns if n not in (*names, "status", "stopped_at") and good[n].nunique() > 1]
    outputs.sort(key=lambda name: name.startswith(FINAL))  # summaries were asked for
    counts = table["status"].value_counts()
    sections: list[Numbers | Drawn] = [
        Numbers("Samples", counts[counts > 0].rename_axis("outcome").to_frame("samples")),
        Numbers("Parameters", _statistics(table[names], units_of(results))),
        Numbers("Results", _statistics(good[outputs], units_of(results))),
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


def _tornados(results: xr.Dataset, outputs: list[str]) -> Figure:
    effects = main_effects(results, outputs)
    rows = -(-len(outputs) // PANELS_PER_ROW)
    figure = Picture(figsize=(15, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, PANELS_PER_ROW, squeeze=False).ravel()
    for axis, name in zip(axes, outputs, strict=False):
        column = effects[name]
        column.attrs["units"] = effects.attrs["units"]
        plot_tornado(axis, column, 6)
    for axis in axes[len(outputs) :]:
        axis.set_visible(False)
    return figure


def _correlations(results: xr.Dataset, outputs: list[str], names: list[str]) -> Figure:
    table = correlation(results, outputs)
    strongest = table.abs().max(axis=1).sort_values(ascending=False).index[:MAX_PARAMETERS]
    shown = table.loc[[name for name in names if name in strongest]]
    figure = Picture(figsize=(3 + 1.2 * len(outputs), 1.5 + 0.4 * len(shown)), layout="constrained")
    plot_heat_map(figure.subplots(), shown)
    return figure


def _bands(results: xr.Dataset) -> Figure:
    names = [str(name) for name in results.coordinate.values][:MAX_BANDS]
    rows = -(-len(names) // PANELS_PER_ROW)
    figure = Picture(figsize=(15, 3.0 * rows), layout="constrained")
    axes = figure.subplots(rows, PANELS_PER_ROW, squeeze=False).ravel()
    for k, (axis, name) in enumerate(zip(axes, names, strict=False)):
        plot_bands(axis, results, name)
        axis.get_legend().remove()
        if (k + 1) % PANELS_PER_ROW == 0 or k + 1 == len(names):  # one legend per row, beside it
            legend_beside(axis)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    return figure


def _left_out(outputs: list[str]) -> str:
    more = len(outputs) - MAX_OUTPUTS
    return f"The first {MAX_OUTPUTS} results are drawn, {more} more are in the table." if more > 0 else ""
