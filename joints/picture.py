"""Figures that notebooks show, and curves that stay apart without colour."""

import io
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

__all__ = ["DPI", "Picture", "curve_styles"]

DPI = 300  # of figures in files, as journals ask
SHOWN = 110  # of figures in notebooks
DASHES = ("-", "--", "-.", ":")


class Picture(Figure):
    """A matplotlib Figure that a notebook shows also where pyplot has never been imported."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=SHOWN)
        return content.getvalue()


def curve_styles(count: int) -> list[dict[str, Any]]:
    """Colour and dashes of `count` curves: from dark to light, so that a grey print keeps the order, and neighbours
    dashed differently.

    >>> [style["linestyle"] for style in curve_styles(5)]
    ['-', '--', '-.', ':', '-']
    """
    colors = colormaps["viridis"](np.linspace(0.0, 0.85, max(count, 1)))
    return [{"color": tuple(color), "linestyle": DASHES[i % len(DASHES)]} for i, color in enumerate(colors[:count])]
