"""Custom joints that are ball joints become quaternions, and come back: same poses, motions and lengths."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat import dynamics
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    ball_joint_obstacle,
    convert_coordinates,
    convert_velocities,
    with_rotations,
)
from myoquat.joints.conversion.convert import by_name
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant, Linear, Multiplier, SimmSpline
from myoquat.joints.types import CustomJoint, FloatingJoint, RevoluteJoint, SphericalJoint
from myoquat.joints.types.base import Axis
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coupler

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TILTED = ((0.6, 0.8, 0.0), (0.8, -0.6, 0.0), (0.0, 0.0, 1.0))  # left-handed
BALL = CustomJoint(
    ("rotation", "flexion", "adduction"),
    (Axis(TILTED[0], 1, Linear(-1.0, 0.2)), Axis(TILTED[1], 2), Axis(TILTED[2], 0, Multiplier(Linear(2.0), 0.5))),
    (Axis(X, None, Constant(0.02)), Axis(Y, None, Constant(-0.01))),
)
FREE = CustomJoint(
    ("tilt", "list", "turn", "tx", "ty", "tz"),
    (Axis(Z, 0), Axis(X, 1), Axis(Y, 2)),
    (Axis(X, 3), Axis(Y, 4), Axis(Z, 5)),
    ("rad", "rad", "rad", "m", "m", "m"),
)


@pytest.fixture
def system():
    inertia = (0.2, 0.3, 0.25, 0.01, -0.02, 0.03)
    free = Body("pelvis", "ground", FREE, (0.1, 0.0, 0.2), mass=3.0, inertia=inertia)
    ball = Body("femur", "pelvis", BALL, (0.0, -0.1, 0.1), (0.6, 0.0, 0.8, 0.0), 2.0, (0.0, -0.2, 0.0), inertia)
    return ArticulatedSystem((free, ball, Body("tibia", "femur", RevoluteJoint(), (0.0, -0.4, 0.0), mass=1.0)))


def states(system, n, rng):
    """Angles clear of the lock of their second turn."""
    q = system.random(n, rng)
    q[:, [1, 8]] = rng.uniform(-1.2, 1.2, (n, 2))  # list, adduction
    return q, rng.normal(size=(n, system.nu))


def test_poses_and_dynamics_stay(system, rng):
    ball = with_rotations(system, "quaternion")
    assert [type(body.joint) for body in ball.bodies] == [FloatingJoint, SphericalJoint, RevoluteJoint]
    q, u = states(system, 20, rng)
    there, v = convert_coordinates(system, ball, q), convert_velocities(system, ball, q, u)
    for name, (R, p) in system.poses(q).items():
        np.testing.assert_allclose(ball.poses(there)[name][0], R, atol=1e-14)
        np.testing.assert_allclose(ball.poses(there)[name][1], p, atol=1e-14)
    for energy in (dynamics.kinetic_energy, lambda s, q, u: dynamics.potential_energy(s, q)):
        np.testing.assert_allclose(energy(ball, there, v), energy(system, q, u), rtol=1e-12)
    np.testing.assert_allclose(convert_coordinates(ball, system, there), q + _turns(q, ball, there), atol=1e-13)
    np.testing.assert_allclose(convert_velocities(ball, system, there, v), u, atol=1e-11)


def _turns(q, ball, there):
    """Whole turns between the angles given and those in the principal range."""
    back = np.zeros_like(q)
    names = ("tilt", "list", "turn", None, None, None, "rotation", "flexion", "adduction", None)
    for i, name in enumerate(names):
        if name is not None:
            back[:, i] = 2 * np.pi * np.round((ball.coordinate(name, there) - q[:, i]) / (2 * np.pi))
    return back


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotations": BALL.rotations[:2]}, "2 coordinates rotate it"),
        ({"rotations": BALL.rotations[:1]}, "one coordinate rotates it"),
        ({"rotations": (*BALL.rotations[:2], Axis(TILTED[1], 0))}, "successive axes are parallel"),
        ({"rotations": (*BALL.rotations[:2], Axis(Z, 0, SimmSpline((0.0, 1.0), (0.0, 2.0))))}, "not a linear function"),
        ({"translations": (Axis(X, 0),)}, "centre moves with its rotations"),
    ],
)
def test_what_stands_in_the_way_is_said(changes, message):
    body = Body("femur", "ground", replace(BALL, **changes), mass=1.0)
    assert message in ball_joint_obstacle(body)
    system = ArticulatedSystem((body,))
    assert with_rotations(system, "quaternion") == system
    with pytest.raises(ModelError, match="no ball joint carries a body 'femur'"):
        with_rotations(system, {"femur": "quaternion"})


def test_dampers_and_partial_slides_stand_in_the_way():
    assert "damper" in ball_joint_obstacle(Body("b", "ground", BALL, damping=1.0))
    partial = replace(FREE, coordinates=FREE.coordinates[:5], translations=FREE.translations[:2], units=())
    assert "translations are not" in ball_joint_obstacle(Body("b", "ground", partial))
    assert "no ball joint" in ball_joint_obstacle(Body("b", "ground", RevoluteJoint()))


def test_the_lock_of_the_file_s_angles_is_refused(system, rng):
    ball = with_rotations(system, "quaternion")
    q, _ = states(system, 1, rng)
    q[:, 8] = np.pi / 2
    with pytest.raises(ValueError, match="custom joint is in gimbal lock"):
        convert_velocities(ball, system, convert_coordinates(system, ball, q), rng.normal(size=(1, ball.nu)))


def test_file_angles_answer_on_any_other_sequence(system, rng):
    """Negative factors too: an axis that the file counts backwards is not the sequence's own angle."""
    q, _ = states(system, 10, rng)
    for sequence in ("YZY", "ZXY", "YZX"):
        euler = with_rotations(system, {"femur": sequence})
        there = convert_coordinates(system, euler, q)
        for name, column in (("rotation", 6), ("flexion", 7), ("adduction", 8)):
            np.testing.assert_allclose(
                np.exp(1j * euler.coordinate(name, there)), np.exp(1j * q[:, column]), atol=1e-12
            )


def test_a_pose_by_the_names_of_the_file(system, rng):
    ball = with_rotations(system, "quaternion")
    q = by_name(ball, {"flexion": [0.1, 0.7], "list": -0.2}, ball.neutral())
    assert q.shape == (2, ball.nq)
    np.testing.assert_allclose(ball.coordinate("flexion", q), [0.1, 0.7], atol=1e-14)
    np.testing.assert_allclose(ball.coordinate("list", q), -0.2, atol=1e-14)
    np.testing.assert_allclose(ball.coordinate("adduction", q), 0.0, atol=1e-14)
    with pytest.raises(ValueError, match="no coordinate 'flexio'; nearest: flexion"):
        by_name(ball, {"flexio": 0.1}, ball.neutral())


def test_a_pose_takes_a_quaternion_whose_angle_drives_a_coupler(system):
    """The pose by its quaternion is the one by its angles, and the coupled coordinate follows."""
    ball, half = with_rotations(system, "quaternion"), Linear(0.5)
    driven = next(name for body in ball.bodies if body.joint.nq == 1 for name in body.names_of_coordinates)
    model = Model(ball, couplers=(Coupler("c", driven, "flexion", half),))
    q = model.pose({"flexion": 0.4, "adduction": 0.1})
    at = ball.quaternion_slices()[-1]
    by_quaternion = model.pose(dict(zip(ball.coordinate_names[at], q[at], strict=True)))
    np.testing.assert_allclose(by_quaternion[at], q[at], atol=1e-14)
    assert ball.coordinate(driven, by_quaternion) == pytest.approx(0.2, abs=1e-12)


def test_a_joint_with_a_locked_angle_stays_unless_it_is_named(system):
    """An angle of a quaternion cannot be locked alone: the joint keeps its angles, and the lock is kept with them."""
    kept = with_rotations(system, "quaternion", locked=["flexion"])
    assert [type(body.joint) for body in kept.bodies] == [FloatingJoint, CustomJoint, RevoluteJoint]
    named = with_rotations(system, {"femur": "quaternion"}, locked=["flexion"])
    assert [type(body.joint) for body in named.bodies] == [CustomJoint, SphericalJoint, RevoluteJoint]
