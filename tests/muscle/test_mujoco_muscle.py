"""MuJoCo's muscle: its curves at their corners, and the laws of its other actuators on paths."""

import numpy as np
import pytest

from myoquat.joints import ModelError
from myoquat.kernels import formula
from myoquat.muscle.laws import AffinePath, MujocoMuscle, SlackSpring

LAW = MujocoMuscle(100.0, 0.2, 0.3, 0.75, 1.05, 0.5, 1.6, 1.5, 1.3, 1.2)
L0 = 0.1 / 0.3


def of_row(function, count):
    """The function of a row (..., count) of its arguments, (..., 1)."""
    return formula(x=(count,))(lambda x: function(*(x[..., k] for k in range(count)))[..., None])


def at(L):
    """The path length at which the fiber has the length L."""
    return 0.2 + L0 * (L - 0.75)


@pytest.mark.parametrize(
    ("L", "V", "active", "passive"),
    [  # the corners of the curves in the documentation of MuJoCo, chapter Modeling, "Muscles"
        (0.4, 0.0, 0.0, 0.0),
        (0.5, 0.0, 0.0, 0.0),
        (0.75, 0.0, 0.5, 0.0),
        (1.0, 0.0, 1.0, 0.0),
        (1.3, 0.0, 0.5, 0.65),
        (1.6, 0.0, 0.0, 1.95),
        (2.0, 0.0, 0.0, 1.3 * (1.0 / 0.3 - 0.5)),
        (1.0, -0.5, 0.25, 0.0),
        (1.0, -1.0, 0.0, 0.0),
        (1.0, -2.0, 0.0, 0.0),
        (1.0, 0.1, 1.15, 0.0),
        (1.0, 0.2, 1.2, 0.0),
        (1.0, 3.0, 1.2, 0.0),
    ],
)
def test_the_curves_at_their_corners(L, V, active, passive, scalar):
    speed = V * L0 * 1.5
    force = scalar(of_row(LAW.force, 3), np.array([[at(L), speed, 0.7]]))
    assert force.item() == pytest.approx(100.0 * (0.7 * active + passive), abs=1e-11)


def test_the_force_is_continuous_with_a_continuous_slope_in_the_length(rng):
    length = np.linspace(at(0.3), at(2.2), 20001)
    force = LAW.force(length, 0.0, 0.6)
    h = length[1] - length[0]
    slope = np.gradient(force, h)
    assert np.max(np.abs(np.diff(force))) < 100 * 10 / L0 * h
    assert np.max(np.abs(np.diff(slope))) < 100 * 60 / L0**2 * h


def test_the_passive_force_may_have_a_range_of_its_own():
    law = MujocoMuscle(100.0, 0.2, 0.3, passive_scale=2.0, passive_offset=-0.7)
    np.testing.assert_allclose(
        law.force(at(1.0), 0.0, 0.0), 100.0 * law.passive_force_length(np.array(1.3)), rtol=1e-14
    )


def test_without_an_eccentric_rise_the_velocity_curve_is_flat():
    law = MujocoMuscle(100.0, 0.2, 0.3, eccentric_force=1.0)
    assert law.force(at(1.0), np.array([0.0, 0.1, 10.0]), 1.0).tolist() == [100.0] * 3


@pytest.mark.parametrize(
    "limits", [{"longest_length": 0.2}, {"highest": 0.7}, {"active_to": 1.0}, {"active_from": 1.0}]
)
def test_ranges_that_cannot_be_are_refused(limits):
    given = {"max_isometric_force": 1.0, "shortest_length": 0.2, "longest_length": 0.3} | limits
    with pytest.raises(ModelError):
        MujocoMuscle(**given).check("muscle 'm'")


def test_scaled_the_force_is_that_of_the_scaled_length():
    double = LAW.scaled(2.0)
    assert double.force(0.52, 0.2, 0.4) == pytest.approx(LAW.force(0.26, 0.1, 0.4), rel=1e-14)


def test_an_affine_path_and_a_slack_spring(scalar):
    law = AffinePath(3.0, -2.0, 0.5, 1.0, 20.0, -4.0)
    force = scalar(of_row(law.force, 3), np.array([[0.3, -0.2, 0.6]]))
    assert force.item() == pytest.approx((3.0 - 0.6 - 0.1) * 0.6 + 1.0 + 6.0 + 0.8, rel=1e-14)
    spring = SlackSpring(50.0, 0.2, 0.3, 2.0)
    assert spring.force(np.array([0.1, 0.25, 0.4]), 0.1, 0.0).tolist() == pytest.approx([-4.8, 0.2, 5.2])
    l = np.linspace(0.05, 0.45, 4001)
    np.testing.assert_allclose(np.gradient(spring.stored(l), l)[1:-1], spring.force(l, 0.0, 0.0)[1:-1], atol=2e-3)
    with pytest.raises(ModelError, match="shortest_length must not be above"):
        SlackSpring(50.0, 0.3, 0.2).check("muscle 'm'")
