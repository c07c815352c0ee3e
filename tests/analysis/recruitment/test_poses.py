"""Random poses of checks: inside plausible ranges, behind couplers and on constraints, and the rule is reported."""

import numpy as np

import myoquat as mq
from myoquat.analysis.recruitment import power_check
from myoquat.analysis.recruitment.power import plausible, sample_poses
from myoquat.joints import ArticulatedSystem
from myoquat.joints.constraints import PointLoop
from myoquat.joints.functions import Linear
from myoquat.muscle import CubicExponentialMuscle, PathPoint
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.bodies import on_hinge


def two_hinges(constraints=()):
    bodies = [
        on_hinge(name, "z", name, parent=parent, position=(x, 0.0, 0.0))
        for name, parent, x in (
            ("one", "ground", 0.0),
            ("two", "one", 1.0),
            ("three", "two", 1.0),
            ("four", "one", 0.5),
        )
    ]
    muscle = mq.Muscle(
        "m",
        (PathPoint("ground", (0.0, 0.5, 0.0)), PathPoint("three", (0.2, 0.3, 0.0))),
        CubicExponentialMuscle(1.0, 1.0),
    )
    coordinates = (
        Coordinate("one", (0.2, 1.0)), Coordinate("two", (-99999.9, 99999.9)), Coordinate("three", (-99999.9, 99999.9)),
        Coordinate("four", (-1.0, 1.0), locked=True),
    )  # fmt: skip
    return mq.Model(
        ArticulatedSystem(tuple(bodies)), (muscle,), coordinates=coordinates, start_q=(0.5, 0.3, 0.1, 0.7),
        couplers=(Coupler("c", "three", "two", Linear(-0.5)),), constraints=constraints,
    )  # fmt: skip


def test_poses_lie_in_plausible_ranges_and_follow_couplers():
    sample = sample_poses(two_hinges(), 200, 0)
    q = sample.q
    assert 0.2 <= q[:, 0].min() < 0.3 < 0.9 < q[:, 0].max() <= 1.0
    assert np.abs(q[:, 1] - 0.3).max() <= np.pi / 6
    np.testing.assert_allclose(q[:, 2], -0.5 * q[:, 1], atol=1e-9)
    np.testing.assert_array_equal(q[:, 3], 0.7)


def test_poses_lie_on_the_constraints_and_the_text_says_so():
    held = PointLoop("two", "ground", (1.0, 0.0, 0.0), (1.2, 1.0, 0.0))
    sample = sample_poses(two_hinges((held,)), 50, 0)
    R, p = two_hinges().system.poses(sample.q)["two"]
    np.testing.assert_allclose(p + R[..., 0], np.broadcast_to([1.2, 1.0, 0.0], p.shape), atol=1e-9)
    text = sample.to_text()
    for words in ("in their ranges: one", "of the start", "as couplers say: three", "locked, at the start: four"):
        assert words in text
    assert f"brought onto 3 constraints and kept: {len(sample.q)}" in text
    assert text in power_check(two_hinges((held,)), 50).to_text()


def test_a_range_of_a_full_turn_says_nothing():
    assert plausible((-1.0, 2.0), 0.3, turns=True) == (-1.0, 2.0)
    assert plausible((-np.pi, np.pi), 0.3, turns=True) == (0.3 - np.pi / 6, 0.3 + np.pi / 6)
    assert plausible((-100.0, 100.0), 0.5, turns=False) == (0.4, 0.6)
