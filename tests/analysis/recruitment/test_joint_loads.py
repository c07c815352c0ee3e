"""Loads of joints: OpenSim's reactions of the same pose, frames, and what follows without accelerations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from myoquat.analysis.motion import external_wrenches
from myoquat.analysis.recruitment import joint_loads
from myoquat.data import Forces, Motion, load_model
from myoquat.dynamics import inverse_dynamics
from myoquat.joints.functions import Polynomial
from myoquat.muscle import limit_torques, path_jacobian
from myoquat.muscle.coordinates import Coupler
from tests.analysis.recruitment.reactions import of_opensim

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


@pytest.mark.peers
def test_equal_to_opensim(leg, rng, tmp_path, in_opensim):
    """Its reactions on child and parent, with tensions overridden, at the accelerations that it finds.

    The model is written first: speeds of OpenSim's free and ball joints are angular velocities, not rates of angles.
    """
    motion, tensions = moving(leg, rng, 4)
    udot, joints, expected = of_opensim(in_opensim, tmp_path / "leg.osim", leg, motion, tensions, "released")
    found = joint_loads(leg, replace(motion, udot=udot), tensions)
    assert set(joints) == set(found.joints)
    for k, joint in enumerate(joints):
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
    quaternions = leg.with_rotations("quaternion")
    for model, given, other, words in (
        (leg, motion, {"muscle_forces": tensions[:, :2]}, r"muscle_forces has shape \(.*\); \(.*\) is needed"),
        (leg, motion, {"muscle_forces": pd.DataFrame({"strait": np.zeros(5)})}, "no column of tensions for 'straight'"),
        (leg, replace(motion, u=None), {}, "has no u"),
        (leg, motion, {"wrenches": np.zeros((5, 6))}, r"wrenches has shape"),
        (leg, motion, {"torque": np.zeros(motion.u.shape)}, "torque has no effect"),
        (quaternions, motion, {}, "belongs to another system"),
    ):
        with pytest.raises(ValueError, match=words):
            joint_loads(model, given, **other)
