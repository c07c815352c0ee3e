"""Trials over percent of a cycle."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from myoquat.analysis import plot_cycles
from myoquat.data import Motion, load_model


def trial(start, slope):
    time = start + np.linspace(0.0, 2.0, 21)
    return pd.DataFrame({"knee": slope * (time - start)}, index=time)


def test_the_mean_and_deviation_of_trials_at_each_percent():
    figure = plot_cycles([trial(0.0, 1.0), trial(5.0, 3.0)], spans=[(0.0, 1.0), (5.0, 6.0)], events={"off": [0.5, 5.7]})
    (axis,) = (axis for axis in figure.axes if axis.get_visible())
    assert_allclose(axis.lines[0].get_ydata(), 2.0 * np.linspace(0, 1, 101), atol=1e-12)
    edges = axis.collections[0].get_paths()[0].vertices
    at_end = edges[edges[:, 0] == 100.0, 1]
    assert_allclose([at_end.min(), at_end.max()], [2 - np.sqrt(2), 2 + np.sqrt(2)])  # of a sample: 1 and 3
    assert_allclose(axis.lines[1].get_xdata(), 60.0)


def test_angles_of_motions_are_degrees():
    model = load_model("two_link", rotations="sequence")
    q = model.start + np.linspace(0, 0.5, 4)[:, None]
    figure = plot_cycles([Motion(model, np.arange(4.0), q)], ["A.p1"])
    assert_allclose(figure.axes[0].lines[0].get_ydata()[[0, -1]], np.degrees(q[[0, -1], 0]))
    assert figure.axes[0].get_ylabel() == "[deg]"


def test_other_arguments_are_rejected():
    with pytest.raises(ValueError, match="trials: none"):
        plot_cycles([])
    with pytest.raises(ValueError, match="spans: 1 are needed, one for each trial, not 2"):
        plot_cycles([trial(0, 1)], spans=[(0, 1), (0, 1)])
    with pytest.raises(ValueError, match="no curve 'hip'; nearest: knee"):
        plot_cycles([trial(0, 1)], ["hip"])
    with pytest.raises(ValueError, match="has no length"):
        plot_cycles([trial(0, 1)], spans=[(1, 1)])
