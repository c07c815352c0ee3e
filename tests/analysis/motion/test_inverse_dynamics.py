"""Inverse dynamics of motions: balances of momentum and power, frames of loads, and both descriptions."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import Forces, Motion, inverse_dynamics_of_motion
from myoquat.dynamics import kinetic_energy, potential_energy
from myoquat.joints import ArticulatedSystem, convert_coordinates, convert_velocities
from myoquat.joints.kinematics import frame_jacobian, momentum
from myoquat.muscle.forces.coordinates import CoordinateLimit
from tests.differences import slope


def states(model, rng, frames=20):
    """Random states at random accelerations: frames that do not follow from one another."""
    system = model.system
    u, udot = rng.normal(size=(2, frames, system.nu))
    return Motion(system, np.arange(frames) / 100, system.random(frames, rng), u, udot)


def along(system, motion, s):
    """(q, u) a time s from each frame, under its acceleration."""
    return system.integrate(motion.q, s * (motion.u + s / 2 * motion.udot)), motion.u + s * motion.udot


def loads_on(motion, rng, bodies=("foot", "shank"), **frames):
    force, point, torque = rng.normal(size=(3, len(motion.time), len(bodies), 3)) * [[[[300.0]]], [[[0.2]]], [[[20.0]]]]
    return Forces(motion.time, tuple(f"on_{b}" for b in bodies), bodies, force, point, torque, **frames)


def test_loads_do_work_through_the_jacobian_of_their_point(model, rng):
    """torque without loads - torque with them = J^T (f, m), J at the material point that the force meets."""
    motion = states(model, rng)
    loads = loads_on(motion, rng)
    alone = inverse_dynamics_of_motion(model, motion).torque
    given = alone - inverse_dynamics_of_motion(model, motion, loads).torque
    poses, expected = model.system.poses(motion.q), 0.0
    for k, body in enumerate(loads.bodies):
        R, p = poses[body]
        local = np.einsum("tji,tj->ti", R, loads.point[:, k] - p)
        J = frame_jacobian(model, motion.q, body, local)
        expected = expected + np.einsum(
            "tij,ti->tj", J, np.concatenate([loads.force[:, k], loads.torque[:, k]], axis=1)
        )
    np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-8)


def test_loads_in_frames_of_bodies_are_those_in_the_world(model, rng):
    motion = states(model, rng)
    local = loads_on(motion, rng, force_frames=("thigh", "foot"), point_frames=("foot", "pelvis"))
    poses = model.system.poses(motion.q)
    turn = lambda frame, x: np.einsum("tij,tj->ti", poses[frame][0], x)  # noqa: E731
    world = replace(
        local,
        force=np.stack([turn(f, local.force[:, k]) for k, f in enumerate(local.force_frames)], axis=1),
        torque=np.stack([turn(f, local.torque[:, k]) for k, f in enumerate(local.force_frames)], axis=1),
        point=np.stack([poses[f][1] + turn(f, local.point[:, k]) for k, f in enumerate(local.point_frames)], axis=1),
        force_frames=(), point_frames=(),
    )  # fmt: skip
    both = [inverse_dynamics_of_motion(model, motion, loads).torque for loads in (local, world)]
    np.testing.assert_allclose(*both, rtol=1e-10, atol=1e-9)


def test_residuals_are_what_the_ground_would_have_to_give(model, rng):
    """Newton: residual force + weight + loads = rate of momentum, by differences along the motion; in the world."""
    motion = states(model, rng)
    loads = loads_on(motion, rng)
    result = inverse_dynamics_of_motion(model, motion, loads)
    assert result.roots == ("pelvis",)
    table = result.of_coordinates()
    force = table[["tx_force", "ty_force", "tz_force"]].to_numpy()
    rate = slope(lambda s: momentum(model, *along(model.system, motion, s)), 1e-3)[:, :3]
    mass = sum(body.mass for body in model.system.bodies)
    weight = mass * np.array(model.system.gravity)
    np.testing.assert_allclose(force, rate - weight - loads.force.sum(axis=1), rtol=1e-5, atol=1e-4)
    assert result.residuals().shape == (20, 6)


def test_power_is_the_rate_of_energy(model, rng):
    """The sum of joint powers is d(kinetic + potential energy)/dt."""
    motion = states(model, rng)

    def energy(s):
        q, u = along(model.system, motion, s)
        return kinetic_energy(model, q, u) + potential_energy(model, q)

    power = inverse_dynamics_of_motion(model, motion).power().sum(axis=1)
    np.testing.assert_allclose(power, slope(energy, 1e-3), rtol=1e-7, atol=1e-6)


def test_forces_on_the_coordinates_of_the_file_are_the_same_in_both_descriptions(leg, ball_leg, rng):
    """Also with velocities in parent axes; accelerations by differences of the converted velocities."""
    motion = states(leg, rng)
    motion.q[:, [1, 7]] *= 0.4  # the middle angles in their principal range, away from their lock
    loads = loads_on(motion, rng)
    wanted = inverse_dynamics_of_motion(leg, motion, loads).of_coordinates()
    np.testing.assert_array_equal(wanted, inverse_dynamics_of_motion(leg, motion, loads).torque)
    for frame in ("child", "parent"):
        system = ArticulatedSystem(ball_leg.system.bodies, gravity=leg.system.gravity, velocity_frame=frame)
        q = convert_coordinates(leg.system, system, motion.q)
        at = lambda s, to=system: convert_velocities(leg.system, to, *along(leg.system, motion, s))  # noqa: E731
        u, udot = at(0.0), slope(at, 1e-3)
        for k in range(len(q)):  # each frame by itself: they do not follow from one another
            row = slice(k, k + 1)
            other = Motion(system, motion.time[row], q[row], u[row], udot[row])
            found = inverse_dynamics_of_motion(system, other, loads).of_coordinates()
            assert set(found.columns) == set(wanted.columns)
            np.testing.assert_allclose(found[wanted.columns], wanted.iloc[row], rtol=1e-6, atol=1e-4)


def test_limits_of_the_model_help(leg, rng):
    limited = replace(leg, limits=(CoordinateLimit("stop", "foot_angle", -0.1, 0.1, 50.0, 50.0, 0.1, 1.0),))
    motion = states(leg, rng)
    less = inverse_dynamics_of_motion(leg, motion).torque - inverse_dynamics_of_motion(limited, motion).torque
    k = leg.system.velocity_names.index("foot_angle_dot")
    x, rate = motion.q[:, leg.system.coordinate_names.index("foot_angle")], motion.u[:, k]
    np.testing.assert_allclose(less[:, k], limited.limits[0].force(x, rate), rtol=1e-9, atol=1e-9)


def test_wrong_input(leg, ball_leg, rng):
    motion = states(leg, rng)
    loads = loads_on(motion, rng)
    still = Motion(leg.system, motion.time, motion.q)
    cases = (
        (leg, still, None, "no u and udot; smooth"),
        (ball_leg, motion, None, "another system"),
        (leg, motion, loads.applied_to({"on_foot": "fot"}), "'fot'; nearest: foot"),
        (leg, motion, loads.applied_to({"on_foot": ""}), "'on_foot' is on no body yet"),
        (leg, motion, replace(loads, point_frames=("foot", "nose")), "'nose'; nearest"),
        (leg, motion, loads.between(0, 0.1), "cover 0 to 0.1 s"),
    )
    for model, given, forces, message in cases:
        with pytest.raises(ValueError, match=message):
            inverse_dynamics_of_motion(model, given, forces)
    ground = loads.applied_to({"on_foot": "ground", "on_shank": "ground"})
    np.testing.assert_array_equal(
        inverse_dynamics_of_motion(leg, motion, ground).torque, inverse_dynamics_of_motion(leg, motion).torque
    )
    found = repr(inverse_dynamics_of_motion(leg, motion))
    assert found == "<JointTorques 13 velocities, 20 frames, residuals at pelvis>"
