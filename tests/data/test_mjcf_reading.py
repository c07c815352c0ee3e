"""Reading MuJoCo files: what the writer wrote comes back, hand-written files mean what MuJoCo makes of them."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from myoquat import dynamics
from myoquat.data import UnsupportedWarning, load_model
from myoquat.dynamics.inverse import passive_force
from myoquat.joints import ModelError
from myoquat.muscle import path_lengths
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.laws import PathActuator, PathSpring
from tests.data.mujoco_engine import forward, from_mujoco, mass_matrix, opened, read, write
from tests.data.tables import rejected, reported

HERE = Path(__file__).parent
LEG = HERE / "small_leg.osim"


# ---- written by hand ---------------------------------------------------------------------------------------

HAND = """<mujoco model="hand">
  <compiler angle="degree" eulerseq="zYx" autolimits="true"/>
  <option gravity="0 0 -9.5" timestep="0.01"/>
  <default>
    <joint damping="0.1"/>
    <geom density="500"/>
    <site size="0.01"/>
    <motor ctrlrange="0 2"/>
    <default class="stiff"><joint stiffness="3" armature="0.02"/></default>
  </default>
  <worldbody>
    <site name="origin" pos="0.1 0.2 0.3"/>
    <body name="base" pos="0 0 1" euler="10 20 30">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0 0.1 0"/>
      <geom type="capsule" fromto="0 0 0 0.2 0.1 0.4" size="0.05"/>
      <geom type="box" size="0.1 0.2 0.3" mass="0.5" axisangle="1 2 3 40"/>
      <geom name="ball" type="sphere" size="0.08" pos="0.1 0.1 0.1" mass="0" contype="0" conaffinity="0"/>
      <site name="b1" pos="0.1 0 0.2"/>
      <frame pos="0 0 -0.3" zaxis="0 1 1">
        <body name="arm" pos="0 0.1 0" xyaxes="0 1 0 -1 0 0.2" childclass="stiff">
          <joint name="s1" type="slide" axis="1 1 0" ref="0.1" range="-0.2 0.3"/>
          <joint name="h1" axis="0 1 1" pos="0.1 0 0" ref="15" springref="20" range="-45 60"/>
          <joint name="h2" axis="1 0 0" pos="0.1 0 0"/>
          <joint name="h3" axis="1 0 1" pos="0 0.2 0" class="main"/>
          <geom type="cylinder" size="0.05 0.2"/>
          <site name="a1" pos="0.1 0.2 0"/>
          <site name="lamp" pos="0 0 0.1"/>
          <body name="hand" pos="0.2 0 0">
            <joint name="wrist" type="ball" pos="0 0 0.1"/>
            <inertial mass="0.7" pos="0.01 0.02 0.03" diaginertia="0.02 0.03 0.04" euler="30 0 10"/>
            <geom name="roll" type="cylinder" size="0.03 0.1" pos="0.05 0 0.02" euler="0 70 0"
                  mass="0" contype="0" conaffinity="0"/>
            <site name="h1" pos="0.2 0.05 0.1"/>
            <site name="ahead" pos="0.1 0.1 0.2"/>
          </body>
        </body>
      </frame>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t1"><site site="origin"/><geom geom="ball"/><site site="a1"/></spatial>
    <spatial name="t2" stiffness="40" springlength="0 0.2">
      <site site="a1"/><geom geom="roll" sidesite="ahead"/><site site="h1"/><site site="b1"/>
    </spatial>
  </tendon>
  <actuator><motor name="m" tendon="t1" gear="-30"/></actuator>
  <equality><joint name="pair" joint1="h2" joint2="h1" polycoef="0.1 0.5 0 0.2"/></equality>
</mujoco>"""

CHAIN = """<mujoco><compiler inertiafromgeom="true"/><worldbody>
  <body name="a" quat="1 1 0 0"><joint type="ball" damping="0.2" stiffness="3"/><joint type="slide" axis="0 1 0"/>
    <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><geom type="sphere" size="0.1" pos="0 0 0.1"/>
    <body pos="0 0 0.3"><joint axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 1 0"/>
      <joint axis="0 0 1"/><joint axis="1 1 0"/><geom type="cylinder" fromto="0 0 0 0.1 0.2 0.3" size="0.04"/>
    </body></body></worldbody></mujoco>"""


def test_names_and_numbers_of_a_file_written_by_hand(tmp_path):
    model = read(tmp_path, HAND, strict=True)
    assert model.system.body_names == ("base", "arm_1", "arm_2", "arm", "hand_1", "hand")
    assert model.system.coordinate_names[7:11] == ("s1", "h1", "h2", "h3")
    assert model.coordinates == (
        Coordinate("s1", (-0.2, 0.3), clamped=True),
        Coordinate("h1", (-np.pi / 4, np.pi / 3), clamped=True),
    )
    assert [m.name for m in model.markers] == ["lamp"]
    assert model.muscles[0].law == PathActuator(60.0)
    assert model.muscles[1].law == PathSpring(40.0, 0.2)
    assert [coupler.name for coupler in model.couplers] == ["pair"]
    assert model.couplers[0].function.value(np.radians(15.0)) == pytest.approx(0.1)
    by_name = dict(zip(model.system.body_names, model.system.bodies, strict=True))
    assert (by_name["arm_1"].stiffness, by_name["arm_1"].rotor_inertia, by_name["arm_2"].stiffness) == (3.0, 0.02, 0.0)


def test_a_motor_that_pulls_by_negative_controls(tmp_path):
    text = HAND.replace('gear="-30"', 'gear="30" ctrlrange="-4 0"')
    key = '<keyframe><key ctrl="-1"/></keyframe></mujoco>'
    model = read(tmp_path, text.replace("</mujoco>", key))
    assert model.muscles[0].law == PathActuator(120.0)
    assert model.muscles[0].activation == 0.25


test_what_is_not_read_is_reported_with_its_line_or_refused = reported(
    HAND, "x.xml",
    ('gear="-30"', 'gear="-30" ctrllimited="false"', "a control without limits"),
    ("</actuator>", '<adhesion body="arm" ctrlrange="0 1"/></actuator>', "an actuator on a body; it does nothing"),
    ('motor name="m" tendon="t1" gear="-30"', 'velocity joint="wrist"', "an actuator on a joint of this type"),
    ("<tendon>", '<sensor><clock/></sensor><tendon>', "1 sensor .changes no motion."),
    ('<joint name="wrist" ', '<joint name="wrist" frictionloss="1" ', "1 joint .frictionloss of a ball"),
    ('timestep="0.01"', 'wind="1 0 0"', "1 option .wind."),
    ("<option ", '<option><flag limit="disable"/></option><option ', "1 flag .limit is disabled."),
    ("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>', "1 geom .shape of the world."),
)  # fmt: skip


test_what_would_move_otherwise_raises_a_named_error = rejected(
    HAND, "x.xml",
    ("<worldbody>", '<include file="other.xml"/><worldbody>', "<include> names 'other.xml', which does not exist", 11),
    ('<geom type="box" size="0.1 0.2 0.3"', '<geom type="mesh" mesh="skull"', "mesh 'skull' not found", 15),
    ("<freejoint", "<composite/><freejoint", "<composite>: .*unrecognized element", 14),
    ('<joint name="h2"', '<joint name="h2" type="screw"', "<joint>: .*invalid keyword: 'screw'", 24),
    ('axis="0 1 1" pos', 'axis="0 0 0" pos', "element 'h1': .*axis too small", 23),
    ('axis="0 1 1" pos', 'axis="0 nan 1" pos', "joint 'h1': axis must be finite", 23),
    ('ref="15"', 'ref="inf"', "joint 'h1': ref must be finite", 23),
    ('springref="20"', 'springref="1e40"', "joint 'h1': springref must be finite", 23),
    ('geom="ball"', 'geom="balloon"', "geom 'balloon' not found"),
    ("zYx", "zQx", "euler"),
    ("<mujoco model", "<mujoco><key/></mujoco><mujoco model", "not valid XML"),
)  # fmt: skip


# ---- against MuJoCo ----------------------------------------------------------------------------------------


def against_mujoco(path, model, muscles, rng, tolerance=1e-10):
    """Mass matrices, lengths and forces of springs and dampers at random states, in MuJoCo's own order of q."""
    engine, data = opened(path)
    system = model.system
    assert (engine.nq, engine.nv) == (system.nq, system.nu)
    names = [engine.tendon(i).name for i in range(engine.ntendon)]
    rows = [names.index(muscle.name) for muscle in muscles]
    for q in system.random(10, rng):
        u, T = rng.normal(size=system.nu), from_mujoco(system, q)
        forward(engine, data, qpos=q, qvel=np.linalg.solve(T, u))
        M = T.T @ dynamics.mass_matrix(system, q) @ T
        np.testing.assert_allclose(M, mass_matrix(engine, data), atol=tolerance)
        lengths = path_lengths(replace(model, muscles=muscles), q)
        np.testing.assert_allclose(lengths, data.ten_length[rows], atol=tolerance)
        for name in system.body_names:
            i = mujoco.mj_name2id(engine, mujoco.mjtObj.mjOBJ_BODY, name)
            if i > 0:
                np.testing.assert_allclose(system.poses(q)[name][1], data.xpos[i], atol=tolerance)
        yield engine, data, q, u, T


@pytest.mark.filterwarnings("ignore:.*carry no force")
@pytest.mark.peers
@pytest.mark.parametrize("text", [HAND, CHAIN])
def test_mujoco_reads_the_same(text, tmp_path, rng):
    text = text.replace(' stiffness="40" springlength="0 0.2"', "")
    model = read(tmp_path, text, strict=True)
    for engine, data, q, u, T in against_mujoco(tmp_path / "x.xml", model, model.muscles, rng):
        np.testing.assert_allclose(model.start, engine.qpos0, atol=1e-12)
        passive = T.T @ -passive_force(model.system, q, u)
        np.testing.assert_allclose(data.qfrc_passive, passive, atol=1e-10)


@pytest.mark.peers
def test_a_model_of_mujocos_own_tests(tmp_path, rng):
    """The model that MuJoCo's package brings, its mesh, whose shape is not read, made a sphere."""
    file = Path(mujoco.__file__).parent / "testdata" / "model.xml"
    if not file.exists():
        pytest.skip("this package brings no test model")
    text = file.read_text()
    path = write(tmp_path, text.replace('type="mesh" mesh="icosahedron"', 'type="sphere"'))
    with pytest.warns(UnsupportedWarning):
        model = load_model(path)
    assert len(list(against_mujoco(path, model, (), rng))) == 10  # its tendon passes inside a surface


HIDDEN = (
    '<mujoco><worldbody><geom name="seen" type="ellipsoid" size="1 2 3" contype="0" conaffinity="0"/>'
    '<geom name="wrap" type="sphere" size="1" group="3" contype="0" conaffinity="0"/>'
    '<geom name="touches" type="sphere" size="1" group="4"/>'
    '<body name="b"><joint name="j"/><geom size="1"/></body></worldbody></mujoco>'
)


def test_shapes_of_hidden_groups_are_kept_but_hidden(tmp_path):
    model = read(tmp_path, HIDDEN)
    purposes = {shape.name: shape.purpose for shape in model.system.shapes}
    assert purposes == {"seen": "visual", "wrap": "hidden", "touches": "collision"}
    assert model.system.shapes[0].sizes == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("inertial", "expected"),
    [
        ('mass="0.01" diaginertia="1 0.1 0.1"', (0.4, 0.4, 0.4)),
        ('mass="0.01" fullinertia="1 0.1 0.1 0 0.05 0"', (0.4, 0.4, 0.4)),
    ],
)
def test_inertias_are_corrected_as_the_compiler_says(tmp_path, inertial, expected):
    """`MjModel.body_inertia` of MuJoCo 4.0, whose bounds come before the balance; boundmass makes 0.01 kg 0.1 kg."""
    settings = 'balanceinertia="true" boundmass="0.1" boundinertia="0.01"'
    body = f'<body name="a"><joint name="j"/><inertial pos="0 0 -0.1" {inertial}/></body>'
    (found,) = read(
        tmp_path, f"<mujoco><compiler {settings}/><worldbody>{body}</worldbody></mujoco>", strict=True
    ).system.bodies
    assert found.mass == 0.1
    np.testing.assert_allclose(found.inertia, (*expected, 0.0, 0.0, 0.0), atol=1e-15)


def test_short_keys_are_filled_with_zeros(tmp_path):
    """As `MjModel.key_qpos` of MuJoCo 4.0: 0.3 of a ball and a hinge is the neutral quaternion and 0."""
    text = """<mujoco><worldbody><body name="a"><joint name="j" {}/><geom size="0.1"/><body name="b">
    <joint name="k"/><geom size="0.1"/></body></body></worldbody><keyframe>
    <key qpos="0.3" qvel="0.5"/></keyframe></mujoco>"""
    path = tmp_path / "x.xml"
    for joint, q, u in (("", [0.3, 0.0], (0.5, 0.0)), ('type="ball"', [1.0, 0.0, 0.0, 0.0, 0.0], (0.5, 0.0, 0.0, 0.0))):
        path.write_text(text.format(joint))
        model = load_model(path)
        assert model.start.tolist() == q
        assert model.start_u == u


REPLICATED = """<mujoco><compiler eulerseq="zyx"/><worldbody><replicate count="2" offset="0 1 0.2" euler="10 20 30">
<body name="q"><joint name="k"/><geom size=".1"/><replicate count="10" offset="1 0 0" euler="0 0 30" sep="_">
<body name="p" pos="0.5 0 0"><joint name="j"/><site name="s"/><geom size="0.1" pos="0 0 0.2"/></body></replicate></body>
</replicate></worldbody></mujoco>"""


def test_copies_have_numbers_and_limits(tmp_path):
    """Ten copies are numbered from 00; the second lies at the offset, turned by the angle about z."""
    path = write(tmp_path, REPLICATED)
    assert load_model(path).system.coordinate_names[:4] == ("k0", "j_000", "j_010", "j_020")
    path.write_text(REPLICATED.replace('count="10"', 'count="60000"'))
    with pytest.raises(ModelError, match="<replicate> makes 480012 elements of the file"):
        load_model(path)


def test_velocities_of_a_floating_body_in_a_keyframe_turn_into_its_own_axes(tmp_path):
    """A quarter turn about z: the world's x is the body's -y, and angular velocities are the body's in both."""
    path = write(
        tmp_path,
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1"/></body></worldbody><keyframe>'
        '<key qpos="0 0 0 0.5 0 0 0.5" qvel="1 2 3 4 5 6"/></keyframe></mujoco>',
    )
    np.testing.assert_allclose(load_model(path).start_u, (2.0, -1.0, 3.0, 4.0, 5.0, 6.0), atol=1e-12)
