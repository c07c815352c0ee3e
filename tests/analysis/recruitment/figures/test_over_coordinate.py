"""Moment arms, lengths and tensions over a coordinate."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import myoquat as mq
from myoquat.analysis import plot_lengths, plot_moment_arms, plot_tensions
from myoquat.muscle import PathPoint, WrapSphere
from tests.bodies import on_hinge

ARM = mq.load_model("two_link", rotations="sequence")


def slipping():
    """A path that slips off a sphere as the rod turns, and the same without the sphere."""
    rod = on_hinge("rod", "z", "elbow")
    path = PathPoint("ground", (-0.3, 0.1, 0.0)), PathPoint("rod", (0.2, 0.02, 0.0))
    wrap = WrapSphere(body="ground", radius=0.05, quadrant="+y")
    muscles = mq.Muscle("over", mq.muscle.MusclePath(path, wraps=(wrap,))), mq.Muscle("straight", path)
    return mq.Model(mq.ArticulatedSystem((rod,)), muscles)


def test_arms_are_the_slopes_of_the_drawn_lengths():
    x = np.linspace(0.3, 1.0, 201)
    arms = plot_moment_arms(ARM, ["m1", "m4"], over="A.p2", values=x).axes[0]
    lengths = plot_lengths(ARM, ["m1", "m4"], over="A.p2", values=x).axes[0]
    for arm, length in zip(arms.lines, lengths.lines, strict=True):
        assert_allclose(arm.get_xdata(), np.degrees(x))
        assert_allclose(arm.get_ydata()[1:-1], -1e3 * np.gradient(length.get_ydata(), x)[1:-1], atol=0.1)


def test_a_jump_is_a_gap_and_a_steep_slope_is_none():
    figure = plot_moment_arms(slipping(), over="elbow")
    jumping, smooth = figure.axes[0].lines
    assert np.isnan(jumping.get_ydata()).sum() == 1
    assert not np.isnan(smooth.get_ydata()).any()
    steep = plot_moment_arms(slipping(), ["straight"], over="elbow", values=np.linspace(-1.5, 1.5, 7)).axes[0].lines[0]
    assert len(steep.get_ydata()) == 7


def test_round_off_is_no_gap():
    """The length of a path on one body changes with its orientation by round-off only."""
    path = PathPoint("rod", (-0.3, 0.1, 0.0)), PathPoint("rod", (0.2, 0.02, 0.0))
    model = replace(slipping(), muscles=(*slipping().muscles, mq.Muscle("along", path)))
    drawn = plot_lengths(model, over="elbow").axes[0].lines[2].get_ydata()
    assert np.ptp(drawn) > 0
    assert not np.isnan(drawn).any()


def test_tensions_are_those_at_rest():
    drawn = plot_tensions(ARM, ["m2"], over="A.p2", activation=0.5, values=[0.4]).axes[0].lines[0].get_ydata()
    q = ARM.pose({"A.p2": 0.4})
    assert_allclose(drawn, mq.muscle_forces(ARM, q, np.zeros(6), np.full(6, 0.5))[1])


def test_names_that_do_not_exist_are_rejected():
    with pytest.raises(ValueError, match="no coordinate for over: 'elbow'"):
        plot_moment_arms(ARM, over="elbow")
    with pytest.raises(ValueError, match="no muscle 'm9'"):
        plot_lengths(ARM, ["m9"], over="A.p2")
