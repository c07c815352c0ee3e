"""Constraints, forces and contacts of bodies that are stretched: similarity, and what the stretch does to surfaces."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import scale_model
from myoquat.data import load_model
from myoquat.dynamics.constraints import Distance, OnSurface, PointLoop, PointOnLine, Weld
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import EulerJoint
from myoquat.muscle import Model
from myoquat.muscle.forces import (
    Bushing,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    HuntCrossley,
    PointSpring,
    SmoothSphereHalfSpace,
)

GROWN = 1.3
MASS = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)}
SYSTEM = ArticulatedSystem(
    (
        Body("A", "ground", EulerJoint("XYZ"), (0.0, 1.0, 0.2), **MASS),
        Body("B", "A", EulerJoint("XYZ"), (0.0, -0.4, 0.0), **MASS),
    )
)
P, Q, TURNED = (0.1, -0.2, 0.3), (0.2, 0.1, -0.1), (0.3, -0.2, 0.1)
FLOOR = ContactHalfSpace("floor", "ground", (0.0, 0.3, 0.0), (0.1, 1.0, 0.2))
BALL, EGG = ContactSphere("ball", "B", P, 0.9), ContactEllipsoid("egg", "A", Q, (1.0, 0.0, 0.0, 0.0), (0.9, 1.0, 1.1))
CONSTRAINTS = (
    PointLoop("A", "B", P, Q),
    Weld("ground", "B", P, Q, TURNED, TURNED),
    Distance("A", "ground", P, Q, 0.7),
    PointOnLine("B", "ground", P, (1.0, 2.0, 0.5), Q),
    OnSurface("A", "ground", P, Q, TURNED, (0.3, 0.4, 0.5)),
)
EVERY = dict.fromkeys(("ground", "A", "B"), GROWN)


def test_a_model_that_grows_alike_keeps_its_shape(rng):
    """phi of lengths grows with the model, phi of angles stays; contacts press with the square of the size."""
    forces = (
        PointSpring("pull", "A", "ground", P, Q, 100.0, 0.5),
        Bushing("soft", "A", "B", P, Q, TURNED, TURNED, (1.0, 2.0, 3.0)),
        HuntCrossley("fall", (ContactMaterial((FLOOR, EGG), 1e5),)),
        SmoothSphereHalfSpace("smooth", BALL, FLOOR, stiffness=1e5),
    )
    model = Model(SYSTEM, constraints=CONSTRAINTS, forces=forces)
    large = scale_model(model, factors=EVERY)
    for q in SYSTEM.random(4, rng):
        for old, new in zip(model.constraints, large.constraints, strict=True):
            wanted = np.array(old.position(SYSTEM, q, 0.0))
            wanted[:3] *= GROWN
            np.testing.assert_allclose(new.position(large.system, q, 0.0), wanted, atol=1e-14)
    q = SYSTEM.neutral()
    spring, soft, fall, _ = zip(model.forces, large.forces, strict=True)
    assert spring[1].rest_length == pytest.approx(GROWN * 0.5)
    np.testing.assert_allclose(spring[1].measures(large.system, q), GROWN * spring[0].measures(SYSTEM, q))
    np.testing.assert_allclose(
        soft[1].measures(large.system, q), soft[0].measures(SYSTEM, q) * [1, 1, 1, GROWN, GROWN, GROWN], atol=1e-15
    )
    before, after = (f.torque(m.system, q, np.zeros(6)) for f, m in zip(fall, (model, large), strict=True))
    assert np.abs(before).max() > 1.0
    np.testing.assert_allclose(after, GROWN**3 * before)


def test_stretched_surfaces_hold_the_stretched_points(rng):
    """Points of a plane and of an ellipsoid along its body's axes stay on them; a sphere grows by the mean."""
    s = np.array([1.2, 0.9, 1.1])
    glide = OnSurface("ground", "A", P, (0.0, 0.0, 0.0), radii=(0.3, 0.4, 0.5))
    smooth = SmoothSphereHalfSpace("smooth", BALL, FLOOR)
    model = Model(SYSTEM, constraints=(glide,), forces=(smooth,))
    wide = scale_model(model, factors={"ground": s, "B": s})
    n, x = np.array(FLOOR.normal), rng.normal(size=(20, 3))
    x -= np.outer((x - FLOOR.position) @ n / (n @ n), n)
    floor, ball = wide.forces[0].half_space, wide.forces[0].sphere
    np.testing.assert_allclose((s * x - floor.position) @ np.array(floor.normal), 0.0, atol=1e-14)
    assert ball.radius == pytest.approx(0.9 * s.mean())
    assert ball.position == pytest.approx(tuple(s * P))
    assert wide.constraints[0].radii == pytest.approx(tuple(s * glide.radii))
    assert wide.constraints[0].first_point == pytest.approx(tuple(s * P))


def test_the_shoulder_grows(rng):
    """A larger thorax, clavicle and scapula, by one factor: the start still meets the constraints."""
    bones = replace(load_model("thoracoscapular"), muscles=())
    large = scale_model(bones, factors=dict.fromkeys(("thorax", "clavicle", "scapula"), 1.1))
    for constraint in large.constraints:
        np.testing.assert_allclose(constraint.position(large.system, large.start, 0.0), 0.0, atol=1e-15)
