"""Figures that notebooks show, curves that stay apart without colour, and what encodes films."""

import importlib
import io
import shutil
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

__all__ = ["DPI", "NO_ENCODER", "Picture", "curve_styles", "film_encoder"]

DPI = 300  # of figures in files, as journals ask
SHOWN = 110  # of figures in notebooks
NO_ENCODER = ".mp4 films need ffmpeg, which is not installed: the extra `view` brings one"
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


def film_encoder() -> str | None:
    """The ffmpeg that encodes .mp4 films, the one of the extra `view` before the system's; None where there is none."""
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ModuleNotFoundError, RuntimeError):  # RuntimeError: imageio_ffmpeg without its program
        return shutil.which("ffmpeg")
