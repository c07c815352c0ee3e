"""Limits of ball joints of MJCF files, against MuJoCo's distances and Jacobians, and saved limits."""

import importlib.util

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.joints import ModelError
from myoquat.muscle import elastic_energy, limit_torques
from myoquat.muscle.forces import RotationLimit

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed")
BALL = """<mujoco><compiler angle="degree"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a" pos="0.1 0 1" euler="10 20 30"><joint name="hip" type="ball" range="0 {0}" margin="0.05"
solreflimit="0.05 0.9"/><geom type="box" size="0.02 0.03 0.2" pos="0 0 -0.2"/></body></worldbody></mujoco>"""


@pytest.mark.peers
@needs_mujoco
def test_ball_joints_are_limited_where_mujocos_are(tmp_path, rng):
    import mujoco  # noqa: PLC0415 - a peer

    path = tmp_path / "x.xml"
    path.write_text(BALL.format(60))
    engine = mujoco.MjModel.from_xml_path(str(path))
    engine.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data, k = mujoco.MjData(engine), Softness((0.05, 0.9)).spring(float(engine.dof_invweight0[0]))
    for source in (path, engine):
        (limit,) = load_model(source, strict=True).forces
        assert (limit.stiffness, limit.damping) == pytest.approx(k)
    model = load_model(path, strict=True)
    assert isinstance(limit, RotationLimit)
    assert limit.upper == pytest.approx(np.deg2rad(60) - 0.05)
    active = 0
    for Q in rng.normal(size=(40, 4)):
        q = Q / np.linalg.norm(Q)
        data.qpos[:] = q
        mujoco.mj_forward(engine, data)
        depth = float(limit.measures(model.system, q)[0]) - np.deg2rad(60)
        torque = limit_torques(model, q, np.zeros(3))
        assert data.nefc == (depth > -0.05)
        if not data.nefc:
            assert not torque.any()
            continue
        active += 1
        assert -depth == pytest.approx(data.efc_pos[0], abs=1e-12)
        strength = np.linalg.norm(torque)
        np.testing.assert_allclose(torque, strength * data.efc_J.ravel()[:3], atol=1e-9 * max(strength, 1.0))
    assert active > 10


def test_the_torque_of_a_ball_joints_limit_is_the_gradient_of_its_energy(tmp_path, rng):
    path = tmp_path / "x.xml"
    path.write_text(BALL.format(60))
    model, h = load_model(path), 1e-6
    for Q in rng.normal(size=(5, 4)):
        q = Q / np.linalg.norm(Q)
        around = [model.system.integrate(q, s * h * np.eye(3)[k]) for k in range(3) for s in (1, -1)]
        energy = elastic_energy(model, np.array(around)).reshape(3, 2)
        slope = (energy[:, 0] - energy[:, 1]) / (2 * h)
        np.testing.assert_allclose(limit_torques(model, q, np.zeros(3)), -slope, rtol=1e-6, atol=1e-5)
    assert not limit_torques(model, model.start, np.ones(3)).any()


def test_ball_joints_that_may_turn_at_will_have_no_limit_and_odd_ranges_are_refused(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(BALL.format(200))
    assert not load_model(path, strict=True).forces
    path.write_text(BALL.format(-20))
    with pytest.raises(ModelError, match="range of a ball joint must be 0 and a positive angle"):
        load_model(path)
