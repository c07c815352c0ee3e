"""Weights by patterns of names, of which the last one counts."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, Problem, TrackMarkers
from myoquat.analysis.motion import inverse_kinematics
from myoquat.core import by_pattern
from myoquat.data import Markers
from myoquat.muscle.coordinates import Marker
from tests.bodies import on_hinge


def test_the_last_pattern_counts_and_one_that_fits_none_is_rejected():
    names = ["R.Heel", "R.Toe", "L.Heel", "a[1]"]
    assert by_pattern("marker", {"*": 1.0, "R.*": 2.0, "R.Toe": 3.0, "a[1]": 4.0}, names) == {
        "R.Heel": 2.0, "R.Toe": 3.0, "L.Heel": 1.0, "a[1]": 4.0,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"there is no marker 'R\.H\*e'; nearest: R\.Heel"):
        by_pattern("marker", {"R.H*e": 1.0}, names)


def rod():
    body = on_hinge("rod", center_of_mass=(0.2, 0, 0))
    markers = (Marker("R.near", "rod", (0.1, 0, 0)), Marker("R.far", "rod", (0.4, 0, 0)))
    return mq.Model(mq.ArticulatedSystem((body,)), markers=markers)


def test_inverse_kinematics_and_tracking_take_patterns():
    """Two markers contradict each other: the pose follows the one with a weight, by name or by pattern."""
    place = np.array([[[0.1 * np.cos(0.3), 0.1 * np.sin(0.3), 0], [0.4 * np.cos(0.8), 0.4 * np.sin(0.8), 0]]])
    seen = Markers([0.0, 0.1], ("R.near", "R.far"), np.repeat(place, 2, axis=0))
    found = [inverse_kinematics(rod(), seen, weights) for weights in ({"R.n*": 0.0}, {"R.near": 0.0})]
    np.testing.assert_array_equal(found[0].q, found[1].q)
    assert found[0].q[0, 0] == pytest.approx(0.8)
    plant = Problem(rod(), 0.1, (Effort(),), 2, torques={"rod.speed": 1.0}).statement.plant
    by = [{"R.*": 2.0, "R.near": 0.5}, {"R.far": 2.0, "R.near": 0.5}]
    goals = [TrackMarkers(seen, weights=weights) for weights in by]
    assert goals[0].content(plant) == goals[1].content(plant)
    efforts = [Effort(weights={name: 3.0}) for name in ("rod.*", "rod.speed.torque")]
    assert efforts[0].content(plant) == efforts[1].content(plant)
    with pytest.raises(ValueError, match="no marker 'L"):
        TrackMarkers(seen, weights={"L.*": 1.0}).content(plant)
