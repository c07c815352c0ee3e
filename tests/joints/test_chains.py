"""Phantom bodies and couplers that together are a ball joint become one: the same model, described by a quaternion."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat import dynamics
from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.data import Motion
from myoquat.joints import (
    Angles,
    ArticulatedSystem,
    Body,
    CustomJoint,
    FollowerJoint,
    RevoluteJoint,
    SphericalJoint,
    Turn,
    convert_coordinates,
    convert_velocities,
    with_rotations,
)
from myoquat.joints.conversion.chains import find_chains
from myoquat.joints.errors import ModelError
from myoquat.muscle import PathFlag, PathPoint, path_flags
from tests.joints.phantom_arm import INERTIA, arm, on_chest, states


def rates_on(model, ball, q):
    """(n, nu of the quaternion model, nu of the file's) P: the quaternion's velocities from those of the file."""
    columns = [convert_velocities(model.system, ball.system, q, np.broadcast_to(e, q.shape))
               for e in np.eye(model.system.nu)]  # fmt: skip
    return np.stack(columns, axis=-1)


def test_the_chain_becomes_one_ball_joint_and_frames_that_follow():
    ball = arm().with_rotations("quaternion")
    assert [type(body.joint) for body in ball.system.bodies] == [
        RevoluteJoint, FollowerJoint, FollowerJoint, SphericalJoint, RevoluteJoint
    ]  # fmt: skip
    assert (ball.system.nq, ball.system.nu) == (6, 5)
    assert {*ball.system.angle_names} == {"plane", "elev", "axial", "back"}
    assert [coupler.name for coupler in ball.couplers] == ["rhythm"]
    assert [c.name for c in ball.coordinates] == ["plane", "elev", "back", "axial"]


def test_states_go_there_and_back(rng):
    model = arm()
    ball = model.with_rotations("quaternion")
    q, u, _ = states(model, 20, rng)
    Q, v = convert_coordinates(model.system, ball.system, q), convert_velocities(model.system, ball.system, q, u)
    np.testing.assert_allclose(convert_coordinates(ball.system, model.system, Q), q, atol=1e-13)
    np.testing.assert_allclose(convert_velocities(ball.system, model.system, Q, v), u, atol=1e-12)
    np.testing.assert_allclose(ball.system.coordinate("back", Q), q[:, 3], atol=1e-13)
    there, poses = ball.system.poses(Q), model.system.poses(q)
    for name, (R, p) in poses.items():
        np.testing.assert_allclose(there[name][0], R, atol=1e-14)
        np.testing.assert_allclose(there[name][1], p, atol=1e-14)


@pytest.mark.parametrize("phantom", [0.0, 0.05])
def test_lengths_and_dynamics_are_those_of_the_angles(phantom, rng):
    """Also where the phantom bodies have inertia, as in published files."""
    model = arm(phantom)
    ball = model.with_rotations("quaternion")
    q, u, udot = states(model, 6, rng)
    Q, v = convert_coordinates(model.system, ball.system, q), convert_velocities(model.system, ball.system, q, u)
    np.testing.assert_allclose(mq.path_lengths(ball, Q), mq.path_lengths(model, q), rtol=1e-13)
    P = rates_on(model, ball, q)
    keep = np.eye(model.system.nu)
    keep[3, 1] = -1.0
    keep = np.delete(keep, 3, axis=1)  # velocities on the coupler
    M = np.swapaxes(keep.T @ mq.mass_matrix(model, q) @ keep, -1, -2)
    np.testing.assert_allclose(np.swapaxes(P @ keep, -1, -2) @ mq.mass_matrix(ball, Q) @ P @ keep, M, atol=1e-12)
    np.testing.assert_allclose(mq.path_jacobian(ball, Q) @ P @ keep, mq.path_jacobian(model, q) @ keep, atol=1e-12)
    vdot = _accelerations(model, ball, q, u, udot)
    tau = mq.inverse_dynamics(ball, Q, v, vdot)
    expected = mq.inverse_dynamics(model, q, u, udot) @ keep
    np.testing.assert_allclose(np.einsum("ni,nij->nj", tau, P @ keep), expected, atol=2e-7)  # vdot by differences
    np.testing.assert_allclose(dynamics.kinetic_energy(ball, Q, v), dynamics.kinetic_energy(model, q, u), rtol=1e-12)


def _accelerations(model, ball, q, u, udot, h=1e-5):
    """vdot along the motion q + h u + h^2/2 udot, by central differences."""
    ends = [
        convert_velocities(model.system, ball.system, q + h * s * u + h * h / 2 * udot, u + h * s * udot)
        for s in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * h)


def test_a_massless_chest_has_the_equations_of_its_couplers():
    """Mass matrix and inverse dynamics are those of the file's angles."""
    model = on_chest()
    ball = model.with_rotations("quaternion")
    q = model.start
    _, C = free_velocities(model, q[None])
    Q = convert_coordinates(model.system, ball.system, q)
    P = rates_on(model, ball, q[None])[0] @ C[0]
    M = C[0].T @ mq.mass_matrix(model, q) @ C[0]
    np.testing.assert_allclose(P.T @ mq.mass_matrix(ball, Q) @ P, M, atol=1e-12)
    still = [
        mq.inverse_dynamics(m, x, np.zeros(m.system.nu), np.zeros(m.system.nu)) for m, x in ((model, q), (ball, Q))
    ]
    np.testing.assert_allclose(still[1] @ P, still[0] @ C[0], atol=1e-12)


def test_frames_with_inertia_that_follow_locked_angles_are_named():
    """Their inertia is not bounded there; without inertia the equations of motion have no lock."""
    for phantom in (0.0, 0.05):
        model = replace(arm(phantom), muscles=(), couplers=arm().couplers[:1])
        ball = model.with_rotations("quaternion")
        q = convert_coordinates(model.system, ball.system, model.pose({"elev": 0.0}))
        still = np.zeros(ball.system.nu)
        if not phantom:
            assert np.isfinite(mq.forward_dynamics(ball, q, still, still)).all()
            continue
        for function, rest in (
            (mq.mass_matrix, ()),
            (mq.inverse_dynamics, (still, still)),
            (mq.forward_dynamics, (still, still)),
        ):
            with pytest.raises(
                ValueError, match=r"plane, elev, axial of body 'arm' are in gimbal lock.*'ghost1', 'ghos"
            ):
                function(ball, q, *rest)
        motion = Motion(ball, [0.0, 0.1], [q, q], [still, still], [still, still])
        with pytest.raises(ValueError, match=r"inverse_dynamics: the angles .* at pose \[0\]"):
            inverse_dynamics_of_motion(ball, motion)
        for project in (False, True):
            with pytest.raises(ValueError, match="the start: the angles plane, elev, axial of body 'arm' are in gimb"):
                mq.simulate(ball, q, duration=0.01, project_start=project)


def test_paths_that_depend_on_locked_angles_are_flagged():
    """Their Jacobian is not determined in the lock; that of a path on the leader alone is, and has no flag."""
    model = arm()
    plain = mq.Muscle("plain", (PathPoint("blade", (0.1, 0.05, 0.0)), PathPoint("arm", (0.02, -0.1, 0.01))))
    ball = replace(model, muscles=(*model.muscles, plain)).with_rotations("quaternion")
    beside = [model.pose({"elev": x}) for x in (0.0, 1e-9, 1e-7, 0.5)]
    poses = convert_coordinates(model.system, ball.system, np.array(beside))
    locked = np.bitwise_and(path_flags(ball, poses), PathFlag.LOCKED) > 0
    assert locked.tolist() == [[True, True, True, False]] * 2 + [[False] * 4] * 2
    J = mq.path_jacobian(ball, poses)
    assert np.abs(J[:, 3]).max() < 1.0
    assert np.abs(J[3]).max() < 1.0
    assert not np.abs(J[0, 0]).max() < 1e6  # huge, or not a number


def test_a_chest_in_the_lock_of_its_angles_moves_with_a_quaternion_alone():
    model = on_chest()
    locked = model.pose({"r_y": -np.pi / 2})
    with pytest.raises(ModelError, match=r"'r_x_dot', 'r_z_dot' can move together.*without mass and inertia: chest"):
        mq.simulate(model, locked, duration=0.01)
    ball = model.with_rotations("quaternion")
    mq.simulate(ball, convert_coordinates(model.system, ball.system, locked), duration=0.01)


def test_bodies_that_are_no_ball_joint_together_end_no_chain():
    """Four coordinates, two points, a heavy phantom, a driver outside, an idle coordinate, another body in between."""
    bodies = {body.name: body for body in arm().system.bodies}
    *start, last = [bodies["blade"], bodies["ghost1"], bodies["ghost2"], bodies["arm"]]
    back = {"back": ("plane", -1.0, 0.0)}
    assert [chain[-1].name for chain in find_chains([*start, last], back)] == ["arm"]
    idle = CustomJoint(("axial", "idle"), last.joint.rotations)
    for changed, couplings in (
        ([*start, last], {}),
        ([*start, replace(last, position=(0.0, 0.01, 0.0))], back),
        ([*start[:2], replace(start[2], mass=0.5), last], back),
        ([*start, last], {**back, "plane": ("glide", 1.0, 0.0)}),
        ([*start, replace(last, joint=idle, coordinate_names=("axial", "idle"))], back),
        ([*start, last, Body("other", "ghost2", RevoluteJoint())], back),
    ):
        assert "arm" not in {chain[-1].name for chain in find_chains(changed, couplings)}


def test_three_hinges_are_a_ball_joint_without_any_coupler(rng):
    axes = ((0, 1, 0), (-1, 0, 0), (0.1, 1.0, 0.0))
    names = ("a", "b", "c")
    bodies = [Body(n, p, RevoluteJoint(axis), mass=float(n == "c"), inertia=INERTIA if n == "c" else (0.0,) * 6,
                   coordinate_names=(f"{n}_turn",))
              for n, p, axis in zip(names, ("ground", "a", "b"), axes, strict=True)]  # fmt: skip
    system = ArticulatedSystem(tuple(bodies))
    ball = with_rotations(system, "quaternion")
    q = np.column_stack([rng.uniform(-3, 3, 5), rng.uniform(0.3, 2.5, 5), rng.uniform(-3, 3, 5)])
    Q = convert_coordinates(system, ball, q)
    np.testing.assert_allclose(convert_coordinates(ball, system, Q), q, atol=1e-12)
    P = np.stack([convert_velocities(system, ball, q, np.broadcast_to(e, (5, 3))) for e in np.eye(3)], axis=-1)
    M = np.swapaxes(P, -1, -2) @ dynamics.mass_matrix(ball, Q) @ P
    np.testing.assert_allclose(M, dynamics.mass_matrix(system, q), atol=1e-13)


def test_a_follower_without_its_leader_is_rejected():
    system = arm().with_rotations("quaternion").system
    with pytest.raises(ModelError, match="it follows 'arm'"):
        system.with_body("arm", joint=SphericalJoint())


def test_a_frame_follows_the_coordinates_of_an_euler_joint(rng):
    """Named angles that are an Euler sequence become the coordinates. Expected: the poses of the quaternion."""
    axes = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    ball = SphericalJoint(angles=Angles(("plane", "elevation", "turn"), axes))
    frame = FollowerJoint("arm", ball, (Turn((0.0, 1.0, 0.0), (0.7, 0.2, 0.0), 0.1),))
    system = ArticulatedSystem((Body("arm", "ground", ball, mass=1.0), Body("frame", "ground", frame)))
    euler = with_rotations(system, "ZXY")
    x = rng.uniform(0.2, 0.9, (5, 3))
    assert euler.coordinate_names == ("plane", "elevation", "turn")
    expected = system.poses(ball.angles.quaternion(x))["frame"][0]
    np.testing.assert_allclose(euler.poses(x)["frame"][0], expected, atol=1e-14)
