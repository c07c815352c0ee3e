"""Figures in notebooks and curves in grey."""

from itertools import pairwise

import numpy as np
from matplotlib.colors import to_rgb

from myoquat.joints.picture import Picture, curve_styles


def test_a_notebook_gets_the_picture():
    figure = Picture(figsize=(2, 1))
    figure.subplots().plot([0, 1], [0, 1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_curves_stay_apart_in_grey():
    """By luminance (ITU-R BT.601), or by their dashes."""
    styles = curve_styles(12)
    grey = np.array([np.dot([0.299, 0.587, 0.114], to_rgb(s["color"])) for s in styles])
    assert (np.diff(grey) > 0.02).all()
    assert all(a["linestyle"] != b["linestyle"] for a, b in pairwise(styles))
