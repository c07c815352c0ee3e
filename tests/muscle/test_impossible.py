"""Models that cannot be are refused in one sentence, whatever they come from."""

import math

import numpy as np
import pytest

from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.muscle import Model, Muscle, PathFlag, PathPoint, path_flags, path_jacobian, path_lengths
from myoquat.muscle.actuators import BodyActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.points import ConditionalPoint

MASS = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)}
SYSTEM = ArticulatedSystem(
    tuple(
        Body(name, "ground", RevoluteJoint((0.0, 0.0, 1.0)), coordinate_names=(f"{name}_angle",), **MASS)
        for name in "abc"
    )
)
POINTS = (PathPoint("ground", (1.0, 0.0, 0.0)), PathPoint("a", (1.0, 0.0, 0.0)))


def _coupler(name, dependent, independent, scale=1.0):
    return Coupler(name, dependent, independent, Linear(1.0), scale)


@pytest.mark.parametrize(
    ("extras", "message"),
    [
        ({"coordinates": (Coordinate("d"),)}, "coordinate 'd': the system has no coordinate of this name"),
        ({"coordinates": (Coordinate("a_angle", (1.0, 0.0)),)}, r"coordinate 'a_angle': range must be .*\(1.0, 0.0\)"),
        ({"coordinates": (Coordinate("a_angle"),) * 2}, "coordinate 'a_angle': the name 'a_angle' is taken twice"),
        ({"markers": (Marker("p", "d", (0.0, 0.0, 0.0)),)}, "marker 'p': body 'd' does not exist; known: ground, a"),
        ({"markers": (Marker("p", "a", (0.0, 0.0)),)}, "marker 'p': position must be 3 finite numbers"),
        ({"markers": (Marker("p", "a", (0.0, 0.0, math.nan)),)}, "marker 'p': position must be 3 finite numbers"),
        ({"actuators": (BodyActuator("f", body=None),)}, "actuator 'f': body None does not exist; known: ground, a"),
        (
            {"actuators": (BodyActuator("f", body="a", point=(None, 0, 0)),)},
            "actuator 'f': point must be 3 finite numbers, not",
        ),
        ({"actuators": (BodyActuator("f", body="a", point=1.0),)}, "actuator 'f': point must be numbers, not 1.0"),
        ({"couplers": (_coupler("k", "a_angle", "a_angle"),)}, "coupler 'k': coordinate 'a_angle' cannot drive itself"),
        ({"couplers": (_coupler("k", "a_angle", "b_angle", math.inf),)}, "coupler 'k': scale must be finite, not inf"),
        (
            {"couplers": (_coupler("k", "a_angle", "b_angle"), _coupler("l", "b_angle", "a_angle"))},
            "coordinates drive each other: a_angle -> b_angle -> a_angle",
        ),
        (
            {
                "couplers": (
                    _coupler("k", "a_angle", "b_angle"),
                    _coupler("l", "b_angle", "c_angle"),
                    _coupler("m", "c_angle", "b_angle"),
                )
            },
            "coupler 'l': coordinates drive each other: b_angle -> c_angle -> b_angle",
        ),
    ],
)
def test_extras_that_cannot_be(extras, message):
    with pytest.raises(ModelError, match=message):
        Model(SYSTEM, **extras)


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_a_path_without_a_length_is_flagged(backend):
    """The muscle vanishes at angle 0, where its Jacobian is NaN; a conditional point counts while it is on the path."""
    via = ConditionalPoint("ground", (1.0, 0.0, 0.0), "b_angle", (-1.0, 1.0))
    end = PathPoint("a", (2.0, 0.0, 0.0))
    model = Model(SYSTEM, (Muscle("m", POINTS), Muscle("v", (POINTS[0], via, end))))
    q = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 2.0, 0.0], [1e-10, 2.0, 0.0]])
    found = (path_flags(model, q, backend=backend) & PathFlag.COINCIDENT) > 0
    np.testing.assert_array_equal(found, [[True, True], [False, True], [False, False], [False, False]])
    J = path_jacobian(model, q)
    assert (np.isnan(J).any(axis=-1) <= found).all()
    assert np.isnan(J[0, 0]).any()
    assert path_lengths(model, q)[0, 0] == 0


@pytest.mark.parametrize("given", [np.zeros(3) + 1j, "1 2 3", np.ma.masked_array(np.zeros(3))], ids=type)
def test_error_names_coordinates_that_are_no_numbers(given):
    with pytest.raises(ValueError, match=r"^q: an array of real numbers or symbols is needed"):
        path_lengths(Model(SYSTEM, (Muscle("m", POINTS),)), given)
