"""Accelerations of MJCF files are MuJoCo's `qacc`, also after they are written and read again."""

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import myoquat as mq
from myoquat.data import ImplausibleWarning, UnsupportedWarning, UnwrittenWarning, load_model
from myoquat.joints import ModelError
from myoquat.muscle import actuator_forces, force_wrenches, limit_torques, muscle_torques
from myoquat.muscle.forces import GravityCompensation
from myoquat.muscle.laws import ClippedMujocoMuscle, MujocoMuscle
from tests.data.mujoco_engine import forward, opened, read, write

TEXT = """<mujoco><compiler angle="radian"/><option jacobian="dense"/>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody><site name="w" pos="0.1 0.05 0.1"/>
<body name="a"><joint name="j1" axis="0 1 0" damping="0.1" {joint}/>
<geom size="0.05 0.1" type="cylinder" pos="0.1 0 -0.2"/>
<site name="s" pos="0.05 0.02 -0.3"/>
<body name="b" pos="0 0 -0.4" {body}><joint name="j2" axis="1 0.3 0" armature="0.01"/>
<geom type="box" size="0.02 0.03 0.1" pos="0.02 0.01 -0.1" euler="0.1 0.2 0.3"/>
<site name="t" pos="0.05 0 -0.1"/></body></body>
</worldbody><tendon><spatial name="path"><site site="w"/><site site="s"/><site site="t"/></spatial>
<fixed name="sum"><joint joint="j1" coef="0.5"/><joint joint="j2" coef="-0.3"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""
MUSCLE = 'lengthrange="{0}" force="40" ctrlrange="0 1"'
CASES = {
    "gravcomp": {"body": 'gravcomp="0.7"'},
    "gravcomp that lifts": {"body": 'gravcomp="1.4"'},
    "clamped motor": {
        "joint": 'actuatorfrcrange="-3 2"',
        "actuators": '<motor joint="j1" gear="-4" ctrlrange="-1 1"/>',
    },
    "clamped servo": {
        "joint": 'actuatorfrcrange="-3 2"',
        "actuators": '<position joint="j1" kp="30" kv="1" gear="2" forcerange="-1 9" ctrlrange="-1 1"/>',
    },
    "damping ratio": {"actuators": '<position joint="j2" kp="30" dampratio="0.7" ctrlrange="-1 1"/>'},
    "bias that pushes": {
        "actuators": '<general joint="j1" biastype="affine" biasprm="1 2 3" gear="-2" gainprm="4" ctrlrange="-1 2"/>'
    },
    "muscle": {"actuators": '<muscle tendon="path" ctrlrange="0 1"/>', "joint": 'range="-1 1"'},
    "pushing muscle": {"actuators": '<muscle tendon="path" gear="-1" ' + MUSCLE.format("-0.9 -0.4") + "/>"},
    "clipped pushing muscle": {
        "actuators": '<muscle tendon="path" gear="-2" forcerange="-9 0" ' + MUSCLE.format("-1.8 -0.8") + "/>"
    },
    "pushing muscle of joints": {"actuators": '<muscle tendon="sum" gear="-1" ' + MUSCLE.format("-0.6 0.6") + "/>"},
}


def accelerations(model, q, u, share, control):
    """(nu,) at a state in which one actuator or muscle acts: at a control, or by a share of its range."""
    controls = np.array([min(max(control, a.lower), a.upper) for a in model.actuators])
    tau = limit_torques(model, q, u) + actuator_forces(model, q, u, controls)
    tau = tau + muscle_torques(model, q, u, np.full(len(model.muscles), share))
    return mq.dynamics.forward_dynamics(model, q, u, tau)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*carry no force", "ignore:.*PushWarning")
@pytest.mark.parametrize("case", CASES)
def test_accelerations_are_mujocos(case, tmp_path, rng):
    parts = {"joint": "", "body": "", "actuators": ""} | CASES[case]
    path = write(tmp_path, TEXT.format(**parts))
    engine, data = opened(path)
    engine.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    models = [load_model(path, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwrittenWarning)
        models[0].save(tmp_path / "again.xml")
    models.append(load_model(tmp_path / "again.xml"))
    models = [replace(m, limits=(), muscles=tuple(muscle for muscle in m.muscles if muscle.law)) for m in models]
    low, high = engine.actuator_ctrlrange[0] if engine.nu else (0.0, 0.0)
    for q, u, share in zip(rng.uniform(-0.8, 0.8, (8, 2)), rng.normal(size=(8, 2)), rng.uniform(size=8), strict=True):
        forward(engine, data, qpos=q, qvel=u, act=share, ctrl=low + share * (high - low))
        for model in models:
            found = accelerations(model, q, u, share, low + share * (high - low))
            np.testing.assert_allclose(found, data.qacc, rtol=1e-9, atol=1e-9)


SEVERAL = """<mujoco><option gravity="1 -2 -9"/><default><geom contype="0" conaffinity="0" type="box"/></default>
<worldbody><body name="a" pos="0.1 0 0.2" euler="20 -30 40"><geom size="0.05 0.1 0.02" pos="0.1 0 -0.2"/>
<joint name="x" type="slide" axis="1 2 0" pos="0.3 0 0"/><joint name="y" axis="0 1 0.2" pos="0.1 -0.2 0"/>
<joint name="z" axis="1 0 0" pos="0 0.1 -0.1" ref="10"/>
<body name="b" pos="0 0 -0.4"><joint name="w" axis="0 0 1" pos="-0.2 0 0.1"/>
<joint name="ball" type="ball" pos="0.1 0.2 0"/>
<geom size="0.02 0.03 0.1" pos="0.02 0.01 -0.1"/></body></body></worldbody></mujoco>"""


@pytest.mark.peers
def test_joints_of_one_body_keep_their_anchors(tmp_path, rng):
    """Here they are massless bodies in a row. The file that is written has one body again, which MuJoCo moves alike."""
    read(tmp_path, SEVERAL, strict=True).save(tmp_path / "again.xml", strict=True)
    (engine, data), (again, found) = (opened(tmp_path / name) for name in ("x.xml", "again.xml"))
    assert engine.nbody == again.nbody == 3
    for _ in range(5):
        q, u = engine.qpos0 + rng.uniform(-0.5, 0.5, engine.nq), rng.normal(size=engine.nv)
        q[-4:] /= np.linalg.norm(q[-4:])
        for each in ((engine, data), (again, found)):
            forward(*each, qpos=q, qvel=u)
        np.testing.assert_allclose(found.qacc, data.qacc, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("group", "does"), [(3, False), (2, True), (-1, True), (40, True)])
def test_actuators_of_disabled_groups_do_nothing_and_are_reported(group, does, tmp_path):
    """MuJoCo disables groups 0 to 30."""
    text = TEXT.format(joint="", body="", actuators=f'<motor joint="j1" ctrlrange="-1 1" group="{group}"/>')
    path = write(tmp_path, text.replace('<option jacobian="dense"/>', '<option actuatorgroupdisable="3"/>'))
    engine, data = opened(path)
    forward(engine, data, ctrl=0.5)
    assert bool(data.qfrc_actuator.any()) == does
    with pytest.warns((ImplausibleWarning, UnsupportedWarning)) as caught:
        assert bool(load_model(path).actuators) == does
    assert any("1 actuator (actuatorgroupdisable" in str(w.message) for w in caught) != does


@pytest.mark.parametrize(
    "actuators",
    [
        '<motor joint="j1" ctrlrange="-1 1"/><motor tendon="sum" ctrlrange="-1 1"/>',
        '<motor tendon="sum" ctrlrange="-1 1"/>',
        '<motor tendon="path" ctrlrange="-1 1"/>',
        '<motor site="s" gear="0 0 1 0 0 0" ctrlrange="-1 1"/>',
    ],
)
@pytest.mark.filterwarnings("ignore:.*carry no force")
def test_a_clamp_of_other_actuators_than_one_of_the_joint_is_reported(tmp_path, actuators):
    with pytest.warns(UnsupportedWarning, match="1 joint .actuatorfrcrange of a joint with several actuators, or one"):
        read(tmp_path, TEXT.format(joint='actuatorfrcrange="-3 2"', body="", actuators=actuators))


def test_energy_and_wrenches_of_gravity_compensation_balance(tmp_path, rng):
    model = read(tmp_path, TEXT.format(joint="", body='gravcomp="1"', actuators=""))
    (force,) = model.forces
    assert force == GravityCompensation("b_gravcomp", "b", 1.0)
    q = rng.normal(size=2)
    weight = model.system.bodies[1].mass * 9.81
    lift = force_wrenches(model, q, np.zeros(2))
    np.testing.assert_allclose(lift[1, :3], [0, 0, weight], rtol=1e-12)
    np.testing.assert_allclose(lift[0], 0.0, atol=1e-12)
    for body in ("ground", "c"):
        with pytest.raises(ModelError, match=r"'c' does not exist|the ground has no weight"):
            GravityCompensation("f", "world" if body == "ground" else body).check(model.system)


def test_a_law_pushes_only_with_its_lengths_exchanged():
    law = MujocoMuscle(-100.0, shortest_length=0.3, longest_length=0.2)
    law.check("law")
    assert law.can_push
    assert law.force(0.25, 0.0, 1.0) < 0
    assert ClippedMujocoMuscle(100.0, 0.2, 0.3, least_force=-1.0).can_push
    with pytest.raises(ModelError, match="shortest_length must be above longest_length"):
        MujocoMuscle(-100.0, shortest_length=0.2, longest_length=0.3).check("law")
