"""A name that is both a coordinate and a control: an error that says how to tell them apart, the same everywhere."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, HermiteSimpson, Periodic, Problem
from myoquat.analysis.control.conditions import periodic_pairs
from myoquat.analysis.control.points import Point, StateSpace
from myoquat.joints import ArticulatedSystem
from myoquat.muscle.actuators import CoordinateActuator
from tests.bodies import on_slide

SLED = ArticulatedSystem((on_slide("sled", "x", "x"),), gravity=(0.0, 0.0, 0.0))
MODEL = mq.Model(SLED, actuators=(CoordinateActuator("x", "x"),))
BOTH = "'coordinates.x' or 'controls.x'"


def test_points_and_bounds_ask_which_is_meant():
    point = Point(StateSpace(SLED, ("x_dot",), (), ("x",)), np.array(0.0), q=np.array([1.0]), controls=np.array([2.0]))
    assert (point["coordinates.x"], point["controls.x"]) == (1.0, 2.0)
    with pytest.raises(ValueError, match=BOTH):
        point["x"]
    with pytest.raises(ValueError, match=BOTH):
        Problem(MODEL, 1.0, [Effort()], 4, bounds={"x": (-1.0, 1.0)})


def test_a_solution_has_both():
    """A sled moves by 1 m in 1 s from rest to rest at least effort: the force is 6 - 12 t."""
    problem = Problem(MODEL, 1.0, [Effort()], 8, initial={"coordinates.x": 0.0, "u": 0.0},
                      final={"coordinates.x": 1.0, "u": 0.0}, bounds={"controls.x": (-20.0, 20.0)})  # fmt: skip
    found = problem.solve()
    np.testing.assert_allclose(found["coordinates.x"][[0, -1]], [0.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(found["controls.x"], 6 - 12 * found.control_time, atol=0.3)
    with pytest.raises(ValueError, match=BOTH):
        found["x"]


def test_periodic_motions_ask_which_is_meant_and_close_the_control_too():
    """Without its own key the control was not periodic, and `free` left out the coordinate without a word."""
    with pytest.raises(ValueError, match=BOTH):
        Problem(MODEL, 1.0, [Effort()], 4, periodic=Periodic(free=("x",)))
    hermite = Problem(MODEL, 1.0, [Effort()], 4, HermiteSimpson(linear_controls=True))
    for free, kept in ((("coordinates.x",), {"x_dot", "controls.x"}), (("controls.x",), {"x", "x_dot"})):
        assert periodic_pairs(Periodic(free=free), hermite.quantities) == {name: name for name in kept}
    swapped = periodic_pairs(Periodic({"coordinates.x": "coordinates.x"}), hermite.quantities)
    assert swapped == {name: name for name in ("x", "x_dot", "controls.x")}
    assert hermite.quantities.spelled("x") == "coordinates.x"
    assert hermite.quantities.spelled("controls.x") == "controls.x"
