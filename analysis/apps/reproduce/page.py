"""The page of a reproduced experiment: what was compared, tables, figures, and what they show."""

import html
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from myoquat.analysis.apps.opensim_tools.report import STYLE
from myoquat.analysis.apps.reproduce.instrumented_shoulder import Comparison, Trial
from myoquat.data.files import write_text
from myoquat.joints.picture import Picture, curve_styles

__all__ = ["force_figures", "write_page"]

AXES = ("forward", "upward", "lateral")


def force_figures(trial: Trial, compared: Sequence[Comparison]) -> list[Figure]:
    """The magnitude of the force over time, and its parts along the glenoid's axes, measured and under each rule."""
    time = trial.motion.time[: len(compared[0].force)] - trial.motion.time[0]
    styles = list(curve_styles(len(compared) + 1))[1:]  # the first is black, as what was measured
    magnitude = Picture(figsize=(8.0, 4.2), layout="constrained")
    axis = magnitude.subplots()
    axis.plot(time, np.linalg.norm(compared[0].measured, axis=-1), color="black", linewidth=3, label="measured")
    for each, style in zip(compared, styles, strict=True):
        axis.plot(time, np.linalg.norm(each.force, axis=-1), label=each.name, **style)
    axis.set_ylabel("glenohumeral force [N]")
    parts = Picture(figsize=(8.0, 7.0), layout="constrained")
    for k, ax in enumerate(parts.subplots(3, sharex=True)):
        ax.plot(time, compared[0].measured[:, k], color="black", linewidth=3, label="measured")
        for each, style in zip(compared, styles, strict=True):
            ax.plot(time, each.force[:, k], label=each.name, **style)
        ax.set_ylabel(f"{AXES[k]} [N]")
        axis = ax if k == 2 else axis
    for ax in (magnitude.axes[0], parts.axes[2]):
        ax.set_xlabel("time [s]")
    for ax in (magnitude.axes[0], parts.axes[0]):
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for ax in (*magnitude.axes, *parts.axes):
        ax.grid(True, color="0.9")
    return [magnitude, parts]


def write_page(
    path: Path, title: str, lines: Sequence[str], tables: dict[str, pd.DataFrame], figures: Sequence[Figure]
) -> None:
    """One page of HTML that loads nothing: lines, tables by heading, figures. Texts are escaped."""
    parts = [f"<h1>{html.escape(title)}</h1>", "<ul>", *(f"<li>{html.escape(line)}</li>" for line in lines), "</ul>"]
    for heading, table in tables.items():
        parts += [f"<h2>{html.escape(heading)}</h2>", table.to_html(float_format="{:.4g}".format)]
    parts += [_svg(figure) for figure in figures]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    write_text(path, f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "myoquat", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    drawn = stream.getvalue()
    return drawn[drawn.index("<svg") :]
