"""Figures in notebooks and curves in grey."""

import numpy as np
from matplotlib.colors import to_rgb

from myoquat.core import Picture, curve_styles


def test_a_notebook_gets_the_picture():
    figure = Picture(figsize=(2, 1))
    figure.subplots().plot([0, 1], [0, 1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_curves_stay_apart_in_grey():
    """By luminance (ITU-R BT.601), and by their dashes."""
    styles = curve_styles(8)
    grey = np.array([np.dot([0.299, 0.587, 0.114], to_rgb(s["color"])) for s in styles])
    assert (np.diff(grey) > 0.03).all()
    assert len({str(s["linestyle"]) for s in styles}) == 8
    assert curve_styles(9)[8] == styles[0]
