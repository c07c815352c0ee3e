"""Limits of coordinates: their force, the power that they take in any description of a joint, and what they hold."""

import numpy as np
import pytest

from myoquat.joints import ArticulatedSystem, Body, CustomJoint
from myoquat.joints.types.base import Axis
from myoquat.muscle import CoordinateLimit, Model

LIMIT = CoordinateLimit("stop", "b", -0.4, 0.3, 20.0, 30.0, 0.1, 0.5)
X, Y, Z = np.eye(3).tolist()
BALL = CustomJoint(("a", "b", "c"), (Axis(Z, 0), Axis(X, 1), Axis(Y, 2)))
BODY = Body("thigh", "ground", BALL, mass=5.0, center_of_mass=(0.0, -0.2, 0.0), inertia=(0.1, 0.02, 0.1, 0, 0, 0),
            coordinate_names=("a", "b", "c"))  # fmt: skip
MODEL = Model(ArticulatedSystem((BODY,)), limits=(LIMIT,))


def test_the_force_is_that_of_springs_that_set_in_smoothly():
    inside, rest = np.linspace(-0.4, 0.3, 8), np.zeros(8)
    np.testing.assert_array_equal(LIMIT.force(inside, 1.0), rest)
    assert LIMIT.force(0.5, 0.0) == pytest.approx(-30 * 0.2)
    assert LIMIT.force(-0.6, 0.0) == pytest.approx(20 * 0.2)
    assert LIMIT.force(0.5, 2.0) - LIMIT.force(0.5, 0.0) == pytest.approx(-0.5 * 2)
    assert LIMIT.force(0.35, 0.0) == pytest.approx(-30 * 0.05 / 2)  # halfway
    x = np.linspace(0.3, 0.42, 2001)
    f = LIMIT.force(x, 0.0)
    bends = np.diff(f, 2) / np.diff(x)[0] ** 2
    assert np.abs(np.diff(bends)).max() < 40  # the second derivative has no step
