"""Couplers on the file's angles of a quaternion joint: the same motions and forces as with the angles themselves."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import MotionWarning, inverse_dynamics_of_motion, inverse_kinematics, smooth
from myoquat.analysis.recruitment import joint_loads, redundancy
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.data.motions import Motion
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.joints import convert_coordinates, convert_velocities
from myoquat.joints.functions import Linear
from myoquat.muscle import path_jacobian
from myoquat.muscle.coordinates import Coupler, Marker
from myoquat.muscle.laws import Thelen2003
from tests.analysis.motion.conftest import shown
from tests.bodies import at_rest
from tests.joints.phantom_arm import arm

MARKERS = tuple(
    Marker(f"{body}{k}", body, tuple(0.1 * np.roll([1.0, 0.3 * k, -0.2], k)))
    for body in ("blade", "ghost1", "arm", "fore")
    for k in range(3)
)
TIME = np.linspace(0.0, 0.5, 41)
LED = Coupler("rhythm", "glide", "elev", Linear(0.3, 0.05))  # an angle of the ball joint drives a hinge before it
LEADS = Coupler("rhythm", "elev", "glide", Linear(2.0, 0.4))  # a hinge drives an angle of the ball joint


@pytest.fixture(scope="module", params=[LED, LEADS], ids=["angle drives", "angle is driven"])
def pair(request):
    """The arm in its file's angles, and with a quaternion."""
    euler = arm(0.05)
    law = Thelen2003(800.0, optimal_fiber_length=0.15, tendon_slack_length=0.1)
    muscles = tuple(replace(muscle, law=law) for muscle in euler.muscles)
    euler = replace(euler, muscles=muscles, markers=MARKERS, couplers=(euler.couplers[0], request.param))
    return euler, euler.with_rotations("quaternion")


def raised(euler):
    """(t, nq) a motion that couplers allow, clear of the lock."""
    wave = np.sin(7 * TIME)
    values = {"plane": 0.3 + 0.4 * wave, "axial": 0.2 * np.cos(5 * TIME), "elbow": 0.8 * wave}
    driver = {"elev": 1.0 + 0.3 * wave} if LED in euler.couplers else {"glide": 0.3 + 0.15 * wave}
    return euler.pose(values | driver)


@pytest.mark.parametrize("method", ["batch", "sequential"])
def test_fitted_poses_are_those_of_the_angles(pair, method):
    """With tasks on an angle and on one that follows it."""
    euler, ball = pair
    data, tasks, weights = (
        shown(euler, Motion(euler, TIME, raised(euler)), 2e-3),
        {"elev": 1.1, "back": -0.4},
        {"elev": 0.01, "back": 0.01},
    )
    expected, found = (
        inverse_kinematics(m, data, weights, coordinates=tasks, method=method, start=m.pose()) for m in pair
    )
    assert expected.converged.all()
    assert found.converged.all()
    assert found.constraint_error.max() < 1e-10
    np.testing.assert_allclose(convert_coordinates(ball.system, euler.system, found.q), expected.q, atol=1e-9)
    np.testing.assert_allclose(found.marker_error, expected.marker_error, atol=1e-9)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-9)


def test_smoothed_motions_and_free_velocities_keep_the_couplers(pair):
    euler, ball = pair
    fitted = inverse_kinematics(ball, shown(euler, Motion(euler, TIME, raised(euler)), 1e-3), start=ball.pose())
    held = ConstraintArrays(Constraints(ball.system, constraints_of(ball)))
    for motion in (smooth(fitted), smooth(fitted, model=ball)):
        A = held.jacobian(motion.q, TIME)
        assert np.abs(held.position(motion.q, TIME)).max() < 1e-10
        assert np.abs(held.rate(motion.q, motion.u, TIME)).max() < 1e-12
        bias = held.bias(motion.q, motion.u, TIME)
        assert np.abs(np.einsum("tij,tj->ti", A, motion.udot) - bias).max() < 1e-10
        names, C = free_velocities(ball, motion.q)
        assert len(names) == C.shape[-1] == 4
        np.testing.assert_allclose(A @ C, 0.0, atol=1e-12)
        assert np.linalg.svd(C, compute_uv=False).min() > 0.1


def test_forces_of_held_poses_are_those_of_the_angles(pair):
    """Torques, activations, and loads in joints."""
    euler, ball = pair
    q = raised(euler)
    still = [at_rest(m, TIME, x) for m, x in ((euler, q), (ball, convert_coordinates(euler.system, ball.system, q)))]
    C = free_velocities(euler, q)[1]
    P = np.stack([convert_velocities(euler.system, ball.system, q, C[..., k]) for k in range(C.shape[-1])], axis=-1)
    torque = [inverse_dynamics_of_motion(m, motion).torque for m, motion in zip(pair, still, strict=True)]
    np.testing.assert_allclose(np.einsum("ti,tij->tj", torque[1], P), np.einsum("ti,tij->tj", torque[0], C), atol=1e-12)
    loads = [joint_loads(m, motion).wrench for m, motion in zip(pair, still, strict=True)]
    i = euler.system.body_names.index("fore")
    np.testing.assert_allclose(loads[1][:, i], loads[0][:, i], atol=1e-11)
    shared = redundancy(ball, still[1], reserves=50.0)
    given = -np.einsum("tm,tmj->tj", shared.force, path_jacobian(ball, still[1].q))
    given += (shared.columns @ (shared.reserve / 50.0)[..., None])[..., 0]
    np.testing.assert_allclose(np.einsum("ti,tij->tj", given - torque[1], P), 0.0, atol=1e-8)


def test_the_lock_is_reported(pair):
    euler, ball = pair
    if LED not in euler.couplers:
        return
    hanging = ball.pose({"plane": 0.2, "elev": 0.0, "axial": 0.1})
    with pytest.raises(ValueError, match="at pose 1 the angle 'elev', which drives 'glide', is in its lock"):
        free_velocities(ball, np.stack([ball.pose({"elev": 0.5}), hanging]))
    poses = shown(euler, Motion(euler, TIME, euler.pose({"plane": 0.2 + 0 * TIME, "elev": 0.0, "axial": 0.1})))
    with pytest.warns(MotionWarning, match="the angle 'elev' is in its lock.*'glide', which follow"):
        inverse_kinematics(ball, poses, start=hanging)
