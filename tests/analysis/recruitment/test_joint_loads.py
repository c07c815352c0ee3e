"""Loads of joints: Newton and Euler at every body with muscles pulling, and OpenSim's reactions of the same pose."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from myoquat.analysis.motion import external_wrenches
from myoquat.analysis.recruitment import joint_loads
from myoquat.data import Forces, Motion, load_model
from myoquat.dynamics import inverse_dynamics
from myoquat.joints import frame_acceleration, frame_velocity
from myoquat.joints.functions import Polynomial
from myoquat.joints.vectors import full
from myoquat.muscle import limit_torques, muscle_wrenches, path_jacobian
from myoquat.muscle.coordinates import Coupler

SMALL_LEG = Path(__file__).parents[2] / "data" / "small_leg.osim"


@pytest.fixture(scope="module")
def leg():
    return replace(load_model(SMALL_LEG), couplers=())


def moving(model, rng, frames=5):
    system = model.system
    q = model.start + rng.uniform(-0.3, 0.3, (frames, system.nq))
    for s in system.quaternion_slices():
        q[:, s] /= np.linalg.norm(q[:, s], axis=-1, keepdims=True)
    u, udot = rng.normal(size=(2, frames, system.nu))
    return Motion(system, np.arange(frames) * 0.01, q, u, udot), rng.uniform(10, 300, (frames, len(model.muscles)))


def ground_force(rng):
    shape = (2, 1, 3)
    return Forces([0.0, 1.0], ("plate",), ("foot",), rng.normal(size=shape) * 100, rng.normal(size=shape),
                  rng.normal(size=shape))  # fmt: skip


@pytest.mark.parametrize("description", ["file", "quaternion"])
def test_newton_and_euler_at_every_body(leg, description, rng):
    """What joints, muscles, loads and weight do to a body is the rate of its momentum, to 1e-10."""
    model = leg if description == "file" else leg.with_rotations("quaternion")
    system, (motion, tensions) = model.system, moving(model, rng)
    found = joint_loads(model, motion, tensions, ground_force(rng))
    poses, q, u, udot = system.poses(motion.q), motion.q, motion.u, motion.udot
    scale = np.abs(found.wrench).max()
    for i, body in enumerate(system.bodies):
        R, origin = poses[body.name]
        center = origin + R @ np.array(body.center_of_mass)
        a = frame_acceleration(system, q, u, udot, body.name, body.center_of_mass)
        omega = frame_velocity(system, q, u, body.name)[..., 3:]
        inertia = R @ full(np.array(body.inertia)) @ np.swapaxes(R, -1, -2)
        children = [k for k, other in enumerate(system.bodies) if other.parent == body.name]
        acting = [(found.wrench[:, i] + found.applied[:, i], origin)]
        acting += [(-found.wrench[:, k], poses[system.body_names[k]][1]) for k in children]
        force = sum(w[:, :3] for w, _ in acting) + body.mass * np.array(system.gravity)
        moment = sum(w[:, 3:] + np.cross(at - center, w[:, :3]) for w, at in acting)
        spin = (inertia @ omega[..., None])[..., 0]
        rate = (inertia @ a[..., 3:, None])[..., 0] + np.cross(omega, spin)
        assert np.abs(force - body.mass * a[..., :3]).max() < 1e-10 * scale
        assert np.abs(moment - rate).max() < 1e-10 * scale


def test_tensions_do_the_work_of_their_paths(leg, rng):
    """The wrenches of tensions have the generalized forces -J^T F where no point moves on its body."""
    for model in (leg, leg.with_rotations("quaternion")):
        fixed = replace(model, muscles=tuple(m for m in model.muscles if m.name != "moving"))
        motion, tensions = moving(fixed, rng)
        w = muscle_wrenches(fixed, motion.q, tensions)
        zero = np.zeros(motion.u.shape)
        torque = inverse_dynamics(fixed.system, motion.q, zero, zero, w)
        torque = inverse_dynamics(fixed.system, motion.q, zero, zero) - torque
        expected = -np.einsum("tmi,tm->ti", path_jacobian(fixed, motion.q), tensions)
        assert np.allclose(torque, expected, atol=1e-9)
        one = muscle_wrenches(fixed, motion.q[0], tensions[0], backend="numpy")
        assert np.allclose(w[0], one, atol=1e-9)


OPENSIM = """
model = opensim.Model(arguments[0])
model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
joints = [model.getJointSet().get(i) for i in range(model.getJointSet().getSize())]
answer = dict(names=[c.getName() for c in coordinates], joints=[j.getName() for j in joints], rows=[])
numbers = lambda v: [v.get(k) for k in range(3)]
for q, u, tensions in json.loads(arguments[1]):
    state = model.initializeState()
    for c, x, v in zip(coordinates, q, u):
        c.setLocked(state, False)
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    for m, f in zip(muscles, tensions):
        m.overrideActuation(state, True)
        m.setOverrideActuation(state, f)
    model.realizeAcceleration(state)
    loads = []
    for j in joints:
        w = j.calcReactionOnChildExpressedInGround(state)
        p = j.calcReactionOnParentExpressedInGround(state)
        loads.append([numbers(w.get(1)) + numbers(w.get(0)), numbers(p.get(1)) + numbers(p.get(0))])
    answer["rows"].append([[c.getAccelerationValue(state) for c in coordinates], loads])
"""


@pytest.mark.peers
def test_equal_to_opensim(leg, rng, tmp_path, in_opensim):
    """Its reactions on child and parent, with tensions overridden, at the accelerations that it finds.

    The model is written first: speeds of OpenSim's free and ball joints are angular velocities, not rates of angles.
    """
    leg.save(tmp_path / "leg.osim")
    motion, tensions = moving(leg, rng, 4)
    rows = [[x.tolist() for x in row] for row in zip(motion.q, motion.u, tensions, strict=True)]
    theirs = in_opensim(OPENSIM, str(tmp_path / "leg.osim"), json.dumps(rows))
    assert theirs["names"] == list(leg.system.coordinate_names)
    udot = np.array([row[0] for row in theirs["rows"]])
    expected = np.array([row[1] for row in theirs["rows"]])
    found = joint_loads(leg, replace(motion, udot=udot), tensions)
    assert set(theirs["joints"]) == set(found.joints)
    for k, joint in enumerate(theirs["joints"]):
        for side, wanted in (("child", expected[:, k, 0]), ("parent", expected[:, k, 1])):
            load = found.of(joint, on=side)
            assert np.allclose(np.hstack([load.force, load.moment]), wanted, rtol=1e-8, atol=1e-6), (joint, side)


def test_frames_points_and_names(leg, rng):
    motion, tensions = moving(leg, rng)
    found = joint_loads(leg, motion, pd.DataFrame(tensions, columns=list(leg.muscle_names)).assign(other=0.0))
    poses = leg.system.poses(motion.q)
    world, own = found.of("hip"), found.of("hip", frame="child")
    assert np.allclose(np.einsum("tij,tj->ti", poses["thigh"][0], own.force), world.force)
    assert np.allclose(own.point, 0.0, atol=1e-12)
    back = found.of("hip", on="parent", point=(0.0, 0.0, 0.0))
    assert np.allclose(back.force, -world.force)
    assert np.allclose(back.moment, -world.moment)
    moved = found.of("hip", point=(0.1, 0.2, 0.3))
    assert np.allclose(moved.moment + np.cross(moved.point - world.point, moved.force), world.moment)
    table = found.to_dataframe(["hip", "neck"], frame="child")
    assert list(table.columns)[::9] == ["hip_on_thigh_in_thigh_fx", "neck_on_head_in_head_fx"]
    assert found.to_dataframe().shape == (5, 9 * len(found.joints))


def test_without_accelerations_they_follow_from_the_forces(leg, rng):
    loose = replace(leg, coordinates=())
    motion, tensions = moving(loose, rng)
    free = joint_loads(loose, replace(motion, udot=None), tensions)
    assert free.residual.abs().max().max() < 1e-7 * np.abs(free.wrench).max()
    needed = inverse_dynamics(loose.system, motion.q, motion.u, free.motion.udot)
    pulled = -np.einsum("tmi,tm->ti", path_jacobian(loose, motion.q), tensions)  # points that move do work too
    limits = limit_torques(loose, motion.q, motion.u)
    assert np.allclose(needed, pulled + limits, atol=1e-9 * np.abs(pulled).max())
    force = ground_force(rng)
    given = joint_loads(loose, replace(motion, udot=None), tensions, wrenches=external_wrenches(loose, motion, force))
    assert np.array_equal(given.wrench, joint_loads(loose, replace(motion, udot=None), tensions, force).wrench)
    driven = joint_loads(loose, replace(motion, udot=None), tensions, torque=np.ones(motion.u.shape))
    assert np.allclose(driven.residual, 1.0, atol=1e-6)


def test_locks_and_couplers_hold_without_accelerations(leg, rng):
    """A locked coordinate does not speed up, a coupled one as its curve says; only they are held by something."""
    bent = Coupler("bent", "neck_1", "back_1", Polynomial((0.1, 0.5, 0.3)), 2.0)
    model = replace(leg, couplers=(bent,))
    motion, tensions = moving(model, rng)
    found = joint_loads(model, replace(motion, udot=None), tensions)
    names, udot = [n.removesuffix("_dot") for n in model.system.velocity_names], found.motion.udot
    swing, neck, back = (names.index(n) for n in ("swing", "neck_1", "back_1"))
    x, v = motion.q[:, model.system.coordinate_names.index("back_1")], motion.u[:, back]
    assert np.allclose(udot[:, swing], 0.0)
    assert np.allclose(udot[:, neck], 2 * ((0.5 + 0.6 * x) * udot[:, back] + 0.6 * v**2))
    held = found.residual.to_numpy()
    assert np.allclose(np.delete(held, [swing, neck, back], axis=1), 0.0, atol=1e-7 * np.abs(found.wrench).max())
    assert np.allclose(held[:, back], -2 * (0.5 + 0.6 * x) * held[:, neck])


def test_bad_input(leg, rng):
    motion, tensions = moving(leg, rng)
    found = joint_loads(leg, motion, tensions)
    for bad, words in (({"joint": "hop"}, "no joint 'hop'"), ({"joint": "hip", "frame": "shenk"}, "no body 'shenk'"),
                       ({"joint": "hip", "on": "both"}, "'child' or 'parent'")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            found.of(**bad)
    with pytest.raises(ValueError, match="must be finite numbers of shape"):
        joint_loads(leg, motion, tensions[:, :2])
    with pytest.raises(ValueError, match="no column of tensions for 'straight'"):
        joint_loads(leg, motion, pd.DataFrame({"strait": np.zeros(5)}))
    with pytest.raises(ValueError, match="has no u"):
        joint_loads(leg, replace(motion, u=None))
    with pytest.raises(ValueError, match="wrenches must be finite"):
        joint_loads(leg, motion, wrenches=np.zeros((5, 6)))
    with pytest.raises(ValueError, match="torque has no effect"):
        joint_loads(leg, motion, torque=np.zeros(motion.u.shape))
    with pytest.raises(ValueError, match="belongs to another system"):
        joint_loads(leg.with_rotations("quaternion"), motion)
