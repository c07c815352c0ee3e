"""Curves of tables as SVG that stands in a page of HTML."""

import html
import io

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from myoquat.joints.labels import figure_label

__all__ = ["curves"]

MOST = 48  # columns of a table that are drawn; the page names the others
ACROSS = 4


def curves(table: pd.DataFrame, unit: str) -> str:
    """A small figure for every column over the index time [s], as SVG, and the names of those that are not drawn."""
    left_out = [html.escape(str(name)) for name in table.columns[MOST:]]
    table = table.iloc[:, :MOST]
    told = f"<p>Not drawn: {', '.join(left_out)}</p>" if left_out else ""
    if not len(table.columns) or not len(table):
        return told
    down = -(-len(table.columns) // ACROSS)
    height = 1.5 * down + 0.8
    figure = Figure(figsize=(3 * ACROSS, height))  # a layout that is solved for takes seconds
    figure.subplots_adjust(0.07, 0.5 / height, 0.99, 1 - 0.3 / height, hspace=0.6, wspace=0.3)
    axes = np.ravel(figure.subplots(down, ACROSS, sharex=True, squeeze=False))
    for ax, name in zip(axes, table.columns, strict=False):
        ax.plot(table.index, table[name], color="black", linewidth=0.9)
        ax.set_title(figure_label(str(name)), fontsize=8)
        ax.tick_params(labelsize=7)
    for ax in axes[len(table.columns) :]:
        ax.set_visible(False)
    figure.supxlabel("time [s]", fontsize=8)
    if unit:
        figure.supylabel(figure_label(unit), fontsize=8)
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "myoquat", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    drawn = stream.getvalue()
    return drawn[drawn.index("<svg") :] + told
