"""Fixed tendons, dry friction and actuators of joints in MJCF files, against MuJoCo's lengths and forces."""

import mujoco
import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, load_model
from myoquat.dynamics import simulate
from myoquat.joints import ModelError
from myoquat.muscle import limit_torques, muscle_torques, path_jacobian, path_lengths
from myoquat.muscle.forces import CoordinateFriction
from myoquat.muscle.laws import PathFriction
from tests.data.mujoco_engine import forward, opened, read, tendon_jacobian, write

TEXT = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody><site name="w" pos="0.1 0 0.1"/>
<body name="a"><joint name="j1" axis="0 1 0" range="-1 2" ref="0.3"{0}/><geom size="0.1" pos="0 0 0.2"/>
<body name="b" pos="0 0 0.4"><joint name="j2" type="slide" axis="0 0 1" range="-1 1"/>
<joint name="j3" axis="1 0 0" ref="-0.2" range="-1 1"/>
<geom size="0.05" pos="0 0 0.1"/><site name="s" pos="0 0.1 0.1"/></body></body></worldbody>
<tendon>{1}</tendon><actuator>{2}</actuator><equality>{3}</equality></mujoco>"""


def filed(tmp_path, joint="", tendons="", actuators="", equality=""):
    return write(tmp_path, TEXT.format(joint, tendons, actuators, equality))


@pytest.mark.peers
def test_dry_friction_is_mujocos_where_the_joint_and_the_tendon_slip(tmp_path, rng):
    """MuJoCo's friction is a soft constraint whose force is its bound where it slips; at rest none acts here."""
    spatial = '<spatial name="t" frictionloss="0.4"><site site="w"/><site site="s"/></spatial>'
    fixed = '<fixed name="f" frictionloss="0.3"><joint joint="j1" coef="0.5"/></fixed>'
    path = filed(tmp_path, ' frictionloss="0.2"', spatial + fixed)
    model = load_model(path, strict=True)
    assert isinstance(model.forces[0], CoordinateFriction)
    assert [type(muscle.law) for muscle in model.muscles] == [PathFriction] * 2
    engine, data = opened(path)
    for q, u in zip(0.5 * rng.normal(size=(4, 3)), 20.0 * rng.normal(size=(4, 3)), strict=True):
        forward(engine, data, qpos=q, qvel=u)
        torques = muscle_torques(model, q, u, np.zeros(2)) + limit_torques(model, q, u)
        np.testing.assert_allclose(torques, data.qfrc_constraint, rtol=1e-12, atol=1e-12)
        still = muscle_torques(model, q, 0 * u, np.zeros(2)) + limit_torques(model, q, 0 * u)
        np.testing.assert_array_equal(still, 0.0)


def test_what_a_fixed_tendon_cannot_be_is_rejected_or_reported(tmp_path):
    with pytest.raises(ModelError, match="whose coef is not zero"):
        load_model(filed(tmp_path, tendons='<fixed name="f"><joint joint="j1" coef="0"/></fixed>'))
    with pytest.raises(ModelError, match="tendon 'f': prm must be finite"):
        load_model(filed(tmp_path, tendons='<fixed name="f"><joint joint="j1" coef="1e40"/></fixed>'))
    with pytest.raises(ModelError, match="frictionloss must not be negative"):
        load_model(filed(tmp_path, ' frictionloss="-1"'))


def test_actuators_of_joints_start_at_the_activations_of_the_keyframe(tmp_path):
    slow = "".join(f'<general joint="{joint}" dyntype="{dyntype}" dynprm="0.2" ctrlrange="0 1"/>'
                   for joint, dyntype in (("j1", "integrator"), ("j2", "none"), ("j3", "filter")))  # fmt: skip
    path = filed(tmp_path, actuators=slow)
    text = path.read_text().replace("</mujoco>", '<keyframe><key act="0.4 0.7"/></keyframe></mujoco>')
    first, _, third = read(tmp_path, text, strict=True).actuators
    assert (first.activation, third.activation) == (0.4, 0.7)


AROUND = """<mujoco><compiler angle="radian"/><option gravity="0 0 0" jacobian="dense"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody><site name="w" pos="-0.02 -0.09 0.04"/>
<geom name="wheel" type="cylinder" size="0.05 0.1" pos="0.01 0 0" euler="0 1.3 0.2" mass="0"/>
<geom name="ball" size="0.04" pos="0 0.03 0" mass="0"/><site name="front" pos="0.1 0.07 0.15"/>
<body name="a"><joint name="j1" type="ball"/><geom size="0.05" pos="0 0 -0.3"/>
<site name="s" pos="0.01 0.04 -0.1"/></body></worldbody><tendon>
<spatial name="t1"><site site="w"/><geom geom="wheel" sidesite="front"/><site site="s"/></spatial>
<spatial name="t2"><site site="w"/><geom geom="ball" sidesite="front"/><site site="s"/></spatial>
<spatial name="t3"><site site="w"/><geom geom="wheel"/><site site="s"/></spatial></tendon></mujoco>"""


@pytest.mark.peers
def test_paths_wind_around_surfaces_as_in_the_installed_version_of_mujoco(tmp_path, rng):
    path = write(tmp_path, AROUND)
    rule = {"wrapping": "mujoco3"} if mujoco.__version__.startswith("3.") else {}  # that of version 4 is the default
    model, Q = load_model(path, **rule), rng.normal(size=(400, 4))
    engine, data = opened(path)
    q = Q / np.linalg.norm(Q, axis=-1)[:, None]
    lengths, J = path_lengths(model, q), path_jacobian(model, q)
    straight = 0
    for row in range(len(q)):
        forward(engine, data, qpos=q[row])
        np.testing.assert_allclose(lengths[row], data.ten_length, rtol=0, atol=1e-10)
        np.testing.assert_allclose(J[row], tendon_jacobian(engine, data), rtol=0, atol=1e-10)
        straight += int(data.wrap_obj.ravel()[:12].max() < 0)
    assert straight < 200


def test_tendons_on_which_nothing_acts_carry_no_force(tmp_path):
    """A ligament without a law beside a motor, as in MyoSuite's arms: the rod falls like one without it, with
    g m c / (I + m c^2) = 9.81 x 0.2 / 0.06 rad/s^2."""
    text = """<mujoco><compiler angle="radian"/><worldbody><site name="a" pos="0.1 0 0.1"/><body>
    <joint name="hinge" type="hinge" axis="0 1 0"/><inertial pos="0.2 0 0" mass="1" diaginertia="0.02 0.02 0.02"/>
    <site name="b" pos="0.2 0 0.05"/></body></worldbody>
    <tendon><spatial name="ligament"><site site="a"/><site site="b"/></spatial></tendon>{}</mujoco>"""
    path = write(tmp_path, text.format('<actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>'))
    with pytest.warns(ImplausibleWarning, match="x.xml: 1 tendons without .* carry no force: ligament"):
        model = load_model(path)
    for each in (model, read(tmp_path, text.format(""))):  # where the file has no actuator at all, without a warning
        run = simulate(each, duration=1e-3, step=1e-3)
        np.testing.assert_allclose(run.u[-1] / 1e-3, 9.81 * 0.2 / 0.06, rtol=1e-5)


TENDON = """<mujoco><compiler angle="radian" autolimits="false"/><worldbody><site name="a" pos="0 0 0.3"/>
<body name="arm"><joint name="elbow" axis="0 1 0"/><geom size="0.1"/><site name="b" pos="0.2 0 0"/></body></worldbody>
<tendon><spatial name="t" limited="true" range="0.1 0.3" stiffness="50" damping="2" springlength="0.1 0.2"
frictionloss="3"><site site="a"/><site site="b"/></spatial></tendon>
<actuator><motor name="first" tendon="t" gear="-10" ctrllimited="true" ctrlrange="0 1"/>
<motor name="second" tendon="t" gear="-20" ctrllimited="true" ctrlrange="0 1"/></actuator></mujoco>"""


def test_all_that_acts_on_a_tendon_acts_along_one_path_and_is_one_tendon_again(tmp_path):
    (tmp_path / "arm.xml").write_text(TENDON)
    model = load_model(tmp_path / "arm.xml")
    assert model.muscle_names == ("t", "t_2", "t_3", "t_4", "t_5")
    assert all(path is model.paths[0] for path in model.paths)
    model.save(tmp_path / "again.xml", strict=True)
    assert (tmp_path / "again.xml").read_text().count("<spatial") == 1
