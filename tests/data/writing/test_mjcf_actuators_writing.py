"""Muscles, motors, servos and dry friction in MuJoCo's files: read, written and read they are the same model, and
MuJoCo accelerates both files alike."""

import mujoco
import numpy as np
import pytest

from myoquat.data import load_model
from tests.data.mujoco_engine import opened, read

TEXT = """<mujoco model="driven"><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<site name="a" pos="0.02 0 0.1"/>
<body name="upper" pos="0 0 0"><joint name="s" axis="0 1 0" range="-1 1" frictionloss="0.3" damping="0.1"/>
<inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.02 0.01"/><site name="b" pos="0.05 0.01 -0.1"/>
<body name="lower" pos="0 0 -0.3"><joint name="e" axis="0 1 0" range="0 2"/>
<joint name="d" type="slide" axis="0.6 0 0.8" damping="0.2"/>
<inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.01 0.015 0.012"/><site name="c" pos="0.04 0 -0.2"/></body></body>
<body name="sled"><joint name="p" type="slide" axis="1 0 0"/>
<inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body>
</worldbody><tendon>
<spatial name="muscle"><site site="a"/><site site="b"/></spatial>
<spatial name="clipped"><site site="a"/><site site="c"/></spatial>
<spatial name="servo"><site site="b"/><site site="c"/></spatial>
<spatial name="motor"><site site="a"/><site site="c"/></spatial>
<spatial name="spring" stiffness="40" damping="2" springlength="0.1 0.2"><site site="a"/><site site="c"/></spatial>
<spatial name="dry" frictionloss="0.5"><site site="a"/><site site="c"/></spatial>
<spatial name="stop" limited="true" range="0.1 0.25" solreflimit="0.05 0.8" solimplimit="0.9 0.95 0.002">
<site site="a"/><site site="c"/></spatial>
<fixed name="both"><joint joint="s" coef="0.5"/><joint joint="e" coef="-0.25"/></fixed></tendon><actuator>
<muscle name="muscle" tendon="muscle" force="90" lengthrange="0.1 0.35" timeconst="0.02 0.05" tausmooth="0.1"/>
<general name="clipped" tendon="clipped" gaintype="muscle" biastype="muscle" lengthrange="0.3 0.6"
 gainprm="0.7 1.1 80 200 0.5 1.6 1.5 1.2 1.3" biasprm="0.6 1.2 80 200 0.5 1.6 1.5 1.2 1.3" forcelimited="true"
 forcerange="-30 0" ctrllimited="true" ctrlrange="0 1"/>
<position name="servo" tendon="servo" kp="100" kv="3" ctrlrange="0.1 0.4"/>
<motor name="motor" tendon="motor" gear="-20" ctrlrange="0 1"/>
<general name="both" tendon="both" gainprm="7" dyntype="filter" dynprm="0.04" ctrlrange="-1 1"/>
<motor name="m" joint="s" gear="3" ctrlrange="-1 1"/>
<position name="pos" joint="e" kp="30" kv="2" ctrlrange="0 2"/><velocity name="vel" joint="p" kv="4"/>
<intvelocity name="iv" joint="p" kp="20" actrange="-1 1" ctrlrange="-2 2"/>
<general name="slow" joint="s" gainprm="2" dyntype="filter" dynprm="0.03" ctrlrange="-1 1"/>
<motor name="push" site="c" gear="0 0 6 0 0 0" ctrlrange="0 1"/></actuator></mujoco>"""


def again(tmp_path):
    """The model of the text, and that of the file that is written of it."""
    model = read(tmp_path, TEXT, strict=True)
    model.save(tmp_path / "y.xml", strict=True)
    return model, load_model(tmp_path / "y.xml", strict=True)


def test_drives_come_back(tmp_path):
    model, back = again(tmp_path)
    assert [m.name for m in back.muscles] == [m.name for m in model.muscles]
    for ours, theirs in zip(model.muscles, back.muscles, strict=True):
        assert theirs.activation_dynamics == ours.activation_dynamics
        assert type(theirs.law) is type(ours.law)
        for name, value in vars(ours.law).items():
            assert getattr(theirs.law, name) == pytest.approx(value, rel=1e-13, abs=1e-13), (ours.name, name)
    assert back.actuators == model.actuators
    assert back.forces == model.forces
    assert back.coordinates == model.coordinates
    assert back.system == model.system


@pytest.mark.peers
def test_mujoco_accelerates_alike(tmp_path, rng):
    """Every force of a file from the same activations, where dry friction slips."""
    model, _ = again(tmp_path)
    engines, states = zip(*(opened(tmp_path / name) for name in ("x.xml", "y.xml")), strict=True)
    names = [[engine.actuator(i).name for i in range(engine.nu)] for engine in engines]
    assert sorted(names[0]) == sorted(names[1])
    for q in rng.uniform(-0.5, 0.5, (5, model.system.nq)):
        u = rng.choice([-1.0, 1.0], model.system.nu) * rng.uniform(0.5, 1.0, model.system.nu)
        drive = dict(zip(names[0], rng.uniform(0.1, 0.9, len(names[0])), strict=True))
        found = []
        for engine, data in zip(engines, states, strict=True):
            mujoco.mj_resetData(engine, data)
            data.qpos[:], data.qvel[:] = q, u
            for i in range(engine.nu):
                name, low, high = engine.actuator(i).name, *engine.actuator_ctrlrange[i]
                share = drive[name]
                data.ctrl[i] = low + share * (high - low) if engine.actuator_ctrllimited[i] else share
                if engine.actuator_actadr[i] >= 0:
                    data.act[engine.actuator_actadr[i]] = scaled(engine, i, share)
            mujoco.mj_forward(engine, data)
            found.append(data.qacc.copy())
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)


def scaled(engine, i, share):
    """An activation of MuJoCo in both files: the tendon's filter has an activation from -1 to 1 in one, 0 to 1 in the
    other, as their ranges of controls say."""
    low, high = engine.actuator_ctrlrange[i]
    return low + share * (high - low) if engine.actuator(i).name == "both" else share
