"""Figures that notebooks show, and curves that stay apart without colour."""

import io
from typing import Any

from matplotlib.figure import Figure

__all__ = ["FILE_DPI", "Picture", "curve_styles"]

FILE_DPI = 300  # of figures in files, as journals ask
NOTEBOOK_DPI = 110  # of figures in notebooks
COLORS = ("#000000", "#1f3b8f", "#b3202c", "#1b7f4d", "#a05eb5", "#3d9bd1", "#e08a1e", "#8cc64b")
DASHES = ("-", "--", "-.", ":", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 1)), (0, (9, 2, 2, 2)))


class Picture(Figure):
    """A matplotlib Figure that a notebook shows also where pyplot has never been imported."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=NOTEBOOK_DPI)
        return content.getvalue()


def curve_styles(count: int) -> list[dict[str, Any]]:
    """Colour and dashes of `count` curves: each lighter than the one before, and with dashes of its own. A grey print
    therefore keeps the order. From the ninth on they come again: divide more curves into groups (`joints.panels`).

    >>> [style["linestyle"] for style in curve_styles(3)]
    ['-', '--', '-.']
    """
    return [{"color": COLORS[i % len(COLORS)], "linestyle": DASHES[i % len(DASHES)]} for i in range(count)]
