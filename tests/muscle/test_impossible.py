"""Models that cannot be are refused in one sentence, whatever they come from."""

import math
from dataclasses import replace

import numpy as np
import pytest

from myoquat.dynamics.constraints import PointLoop, PolynomialCoupler, Prescribed
from myoquat.joints import ArticulatedSystem
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.muscle import (
    CoordinateLimit,
    Model,
    Muscle,
    PathFlag,
    PathPoint,
    WrapSphere,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.actuators import BodyActuator, CoordinateActuator, PointToPointActuator, TorqueActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.forces import (
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    CoordinateSpring,
    HuntCrossley,
    PointSpring,
    SmoothSphereHalfSpace,
)
from myoquat.muscle.points import ConditionalPoint, MovingPoint
from tests.bodies import on_hinge

MASS = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)}
SYSTEM = ArticulatedSystem(tuple(on_hinge(name, "z", f"{name}_angle", **MASS) for name in "abc"))
POINTS = (PathPoint("ground", (1.0, 0.0, 0.0)), PathPoint("a", (1.0, 0.0, 0.0)))


def _coupler(name, dependent, independent, scale=1.0):
    return Coupler(name, dependent, independent, Linear(1.0), scale)


def _past(point):
    return Muscle("m", (POINTS[0], point, POINTS[1]))


AT = (0.0, 0.0, 0.0)
BACK = _coupler("k", "a_angle", "b_angle"), _coupler("l", "b_angle", "a_angle")
CIRCLE = BACK[0], _coupler("l", "b_angle", "c_angle"), _coupler("m", "c_angle", "b_angle")
STOP = CoordinateLimit("stop", "b_angle", -0.4, 0.3, 20.0, 30.0, 0.1, 0.5)
FLOOR, OWN = ContactHalfSpace("floor", "ground"), ContactHalfSpace("own", "a")
HEEL, WALL = ContactSphere("heel", "a", radius=0.06), ContactSphere("wall", "ground", radius=0.15)
EGG = ContactEllipsoid("egg", "b", radii=(0.09, 0.04, 0.06))
NAN, INF = math.nan, math.inf


def _pressed(*surfaces):
    return HuntCrossley("f", (ContactMaterial(surfaces, 1e6),))


PARTS = {
    "coordinates": [
        (Coordinate("d"), "coordinate 'd' does not exist; known: a_angle"),
        (Coordinate("a_angle", (1.0, 0.0)), r"coordinate 'a_angle': range must be .*\(1.0, 0.0\)"),
        ((Coordinate("a_angle"),) * 2, "coordinate 'a_angle': the name 'a_angle' is taken twice"),
    ],
    "markers": [
        (Marker("p", "d", AT), "marker 'p': body 'd' does not exist; known: ground, a"),
        (Marker("p", "a", (0.0, 0.0)), "marker 'p': position must be 3 finite numbers"),
        (Marker("p", "a", (0.0, 0.0, NAN)), "marker 'p': position must be 3 finite numbers"),
        (Marker("p", "a", (0.0, -1e31, 0.0)), r"at most 1e\+30"),
    ],
    "limits": [
        (replace(STOP, coordinate="d"), "coordinate 'd' does not exist"),
        (replace(STOP, lower=0.5), "lower must not be above upper"),
    ],
    "muscles": [
        (_past(ConditionalPoint("a", AT, "ankle", (0.0, 1.0))), "coordinate 'ankle' does not exist"),
        (_past(ConditionalPoint("a", AT, "b_angle", (1.0, 0.0))), r"range must be .* not \(1.0, 0.0\)"),
        (_past(ConditionalPoint("chest", AT, "b_angle", (0.0, 1.0))), "body 'chest' does not exist"),
        (_past(MovingPoint("a", AT, ("x", "", ""), (Linear(1.0),) * 3)), "coordinate 'x' does not exist"),
        (
            Muscle("m", POINTS, wraps=(WrapSphere(body="a", radius=0.1, points=(0,)),)),
            "points must be two numbers from 0 to 1",
        ),
    ],
    "actuators": [
        (BodyActuator("f", body=None), "actuator 'f': body None does not exist; known: ground, a"),
        (BodyActuator("f", body="a", point=(None, 0, 0)), "actuator 'f': point must be 3 finite numbers, not"),
        (BodyActuator("f", body="a", point=1.0), "actuator 'f': point must be numbers, not 1.0"),
        (CoordinateActuator("f", "knee"), "coordinate 'knee' does not exist"),
        (CoordinateActuator("f", "a_angle", lower=1.0, upper=0.0), "lower must not be above upper"),
        (TorqueActuator("f", "a", "hand"), "body 'hand' does not exist"),
        (TorqueActuator("f", "a", "b", AT), "axis must not be zero"),
        (PointToPointActuator("f", "a", "a"), "between body 'a' and itself"),
        ((CoordinateActuator("f", "a_angle"),) * 2, "the name 'f' is taken twice"),
    ],
    "couplers": [
        (_coupler("k", "a_angle", "a_angle"), "coupler 'k': coordinate 'a_angle' cannot drive itself"),
        (_coupler("k", "a_angle", "b_angle", INF), "coupler 'k': scale must be finite, not inf"),
        (BACK, "coordinates drive each other: a_angle -> b_angle -> a_angle"),
        (CIRCLE, "coupler 'l': coordinates drive each other: b_angle -> c_angle -> b_angle"),
    ],
    "constraints": [
        (PointLoop("a", "a"), "between body 'a' and itself"),
        (PointLoop("a", "hand"), "body 'hand' does not exist"),
        (PolynomialCoupler("a_angle", ("b_angle",), (1.0,), ((1, 2),)), "rows of 1 whole numbers"),
        (PolynomialCoupler("a_angle", ("a_angle",), (1.0,), ((1,),)), "depends on itself"),
        (Prescribed("a_angle", np.sin), "holds a Python function as its 'motion'"),
    ],
    "forces": [
        (CoordinateSpring("f", "knee", 1.0), "coordinate 'knee' does not exist"),
        (PointSpring("f", "a", "hand"), "body 'hand' does not exist"),
        (PointSpring("f", "a", "a"), "between body 'a' and itself"),
        (_pressed(OWN, HEEL), "between body 'a' and itself"),
        (_pressed(HEEL), "contact between ContactSphere is not supported"),
        (_pressed(EGG, WALL), "ContactEllipsoid and ContactSphere is not"),
        (_pressed(EGG, WALL, FLOOR), "'egg' and 'wall' is not supported"),
        (_pressed(FLOOR, HEEL, HEEL), "'heel' is named twice"),
        (SmoothSphereHalfSpace("f", replace(HEEL, body="hand"), FLOOR), "surface 'heel': body 'hand' does not exist"),
        (SmoothSphereHalfSpace("f", HEEL, replace(FLOOR, normal=AT)), "normal must not be zero"),
        (SmoothSphereHalfSpace("f", HEEL, OWN), "between body 'a' and itself"),
    ],
}
NAMED = {"actuators": "actuator 'f'", "forces": "force 'f'"}


@pytest.mark.parametrize(("field", "part", "message"), [(field, *row) for field, rows in PARTS.items() for row in rows])
def test_parts_that_cannot_be(field, part, message):
    with pytest.raises(ModelError, match=message) as caught:
        Model(SYSTEM, **{field: part if isinstance(part, tuple) else (part,)})
    assert NAMED.get(field, "") in str(caught.value)


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
