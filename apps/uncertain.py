"""Bands and shares of uncertain inputs for command lines: options, tables, and the sections of a report."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import click
from matplotlib.figure import Figure

from myoquat.analysis.studies import UncertainCurves, UncertainInputs
from myoquat.apps.report import Drawn, Numbers, Section, summary_of
from myoquat.data.files import check_output, write_text
from myoquat.joints.picture import Picture

__all__ = ["band_figure", "inputs_named", "store", "uncertain_sections"]

CURVES_PER_ROW, MAX_CURVES = 4, 48  # of the figure of bands
WHOLE_NUMBERS = ("samples", "seed", "frames")


def inputs_named(changes: Iterable[str]) -> UncertainInputs:
    """The uncertain inputs with changes NAME=NUMBER; BadParameter for an unknown name or no number."""
    known = [field.name for field in fields(UncertainInputs)]
    given: dict[str, float] = {}
    for text in changes:
        name, _, value = text.partition("=")
        if name not in known:
            raise click.BadParameter(f"--uncertain is NAME=NUMBER with one of {', '.join(known)}, not {text!r}")
        try:
            given[name] = int(value) if name in WHOLE_NUMBERS else float(value)
        except ValueError:
            raise click.BadParameter(f"--uncertain {name} takes a number, not {value!r}") from None
    return UncertainInputs(**given)  # type: ignore[arg-type]


def store(found: UncertainCurves, output: Path, overwrite: bool) -> None:
    """Write OUTPUT_bands.csv and OUTPUT_shares.csv beside the output, and say how the samples went."""
    click.echo(f"uncertainty: {summary_of(found)}")
    for name, table in (("bands", found.to_dataframe()), ("shares", found.shares())):
        path = output.with_name(f"{output.stem}_{name}.csv")
        check_output(path, overwrite)
        write_text(path, table.to_csv(lineterminator="\n"))
        click.echo(f"wrote {path}")


def uncertain_sections(found: UncertainCurves, inputs: UncertainInputs) -> list[Section | Numbers | Drawn]:
    """Bands of the curves, and the share of each source in their variance."""
    drawn, rest = found.names[:MAX_CURVES], found.names[MAX_CURVES:]
    deviations = ", ".join(f"{name} {getattr(inputs, name):g}" for name in found.sources)
    words = [f"{found.level:.0%} of the samples lie in the bands. Standard deviations: {deviations}."]
    words += [f"The trial lacks {', '.join(found.missing)}."] if found.missing else []
    words += [f"Only in the table: {', '.join(rest)}."] if rest else []
    return [
        Drawn("Bands of uncertain inputs", band_figure(found.of(drawn)), " ".join(words)),
        Numbers("Share of each source in the variance (Sobol indices)", found.shares()),
    ]


def band_figure(found: UncertainCurves) -> Figure:
    """A small axis for each curve with its band."""
    rows = -(-len(found.names) // CURVES_PER_ROW)
    figure = Picture(figsize=(12.0, 0.4 + 1.9 * rows), layout="constrained")
    axes = figure.subplots(rows, CURVES_PER_ROW, squeeze=False).ravel()
    for axis, name in zip(axes, found.names, strict=False):
        found.plot(axis, name)
        axis.tick_params(labelsize=8)
        axis.set_xlabel("")
    for axis in axes[max(len(found.names) - CURVES_PER_ROW, 0) : len(found.names)]:
        axis.set_xlabel("time [s]", fontsize=8)
    for axis in axes[len(found.names) :]:
        axis.set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure
