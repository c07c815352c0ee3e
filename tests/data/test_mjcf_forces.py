"""Accelerations of MJCF files are MuJoCo's `qacc`, and activations change as its `act_dot` says.

With every actuator on every target, springs and the compensation of gravity, also of the file that is written again.
"""

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, UnsupportedWarning, UnwrittenWarning, load_model
from myoquat.dynamics import Simulator, forward_dynamics
from myoquat.joints import ModelError
from myoquat.muscle import activation_rates, actuator_forces, force_wrenches, limit_torques, muscle_torques
from myoquat.muscle.forces import GravityCompensation
from myoquat.muscle.laws import ClippedMujocoMuscle, MujocoMuscle, SlackSpring
from tests.data.mujoco_engine import forward, in_axes_of_bodies, opened, read, write
from tests.data.tables import reported

TWO = """<mujoco><compiler angle="radian"/><option jacobian="dense"/>
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
CLAMPED = 'actuatorfrcrange="-3 2"'
TWO_HINGES = {
    "gravcomp": {"body": 'gravcomp="0.7"'},
    "gravcomp that lifts": {"body": 'gravcomp="1.4"'},
    "clamped motor": {"joint": CLAMPED, "actuators": '<motor name="m" joint="j1" gear="-4" ctrlrange="-1 1"/>'},
    "clamped servo": {
        "joint": CLAMPED,
        "actuators": '<position name="m" joint="j1" kp="30" kv="1" gear="2" forcerange="-1 9" ctrlrange="-1 1"/>',
    },
    "damping ratio": {"actuators": '<position name="m" joint="j2" kp="30" dampratio="0.7" ctrlrange="-1 1"/>'},
    "bias that pushes": {
        "actuators": '<general name="m" joint="j1" biastype="affine" biasprm="1 2 3" gear="-2" gainprm="4" '
        'ctrlrange="-1 2"/>'
    },
    "antagonist": {"actuators": '<muscle name="m" joint="j1" gear="-1" ' + MUSCLE.format("-1 1") + "/>"},
    "muscle": {"actuators": '<muscle name="path" tendon="path" ctrlrange="0 1"/>', "joint": 'range="-1 1"'},
    "pushing muscle": {"actuators": '<muscle name="path" tendon="path" gear="-1" ' + MUSCLE.format("-0.9 -0.4") + "/>"},
    "clipped pushing muscle": {
        "actuators": '<muscle name="path" tendon="path" gear="-2" forcerange="-9 0" '
        + MUSCLE.format("-1.8 -0.8")
        + "/>"
    },
    "pushing muscle of joints": {
        "actuators": '<muscle name="sum" tendon="sum" gear="-1" ' + MUSCLE.format("-0.6 0.6") + "/>"
    },
}
ACTUATORS = (
    'motor name="{}" ctrlrange="-2 2"',
    'position name="{}" kp="40" kv="3" ctrlrange="-1 1"',
    'position name="{}" kp="40" kv="3" ctrlrange="-1 1" forcerange="-12 9"',
    'velocity name="{}" kv="4" ctrlrange="-3 2"',
    'damper name="{}" kv="4" ctrlrange="0 2"',
    'damper name="{}" kv="4" ctrlrange="0 2" forcerange="-1 1"',
    'intvelocity name="{}" kp="20" kv="1" ctrlrange="-2 1" actrange="-0.5 0.8"',
    'intvelocity name="{}" kp="20" kv="1" ctrlrange="-2 1" actrange="-0.5 0.8" forcerange="-6 4"',
    'general name="{}" gaintype="affine" biastype="affine" gainprm="3 -2 1" biasprm="1 4 -0.5" ctrlrange="-1 1"',
    'general name="{}" gainprm="4" dyntype="filter" dynprm="0.2" ctrlrange="-1 2"',
    'muscle name="{}" lengthrange="-1.5 1.5" force="30" tausmooth="0.1" ctrlrange="0 1"',
    'muscle name="{}" lengthrange="-1.5 1.5" force="30" ctrlrange="0 1" forcerange="-20 -2"',
    """general name="{}" gaintype="muscle" biastype="muscle" dyntype="muscle" lengthrange="0.2 0.45"
    ctrlrange="0 1" gainprm="0.75 1.05 80 200 0.5 1.6 1.5 1.3 1.2" biasprm="0.6 1.2 50 200 0.5 1.8 1.5 1.4 1.2"
    dynprm="0.02 0.05 0" """,
)


def chain(target):
    """A chain of hinges, one for each actuator and one more, and the actuators on its joints or on tendons: over two
    joints, between two bodies, and with two pulleys."""
    count = len(ACTUATORS)
    bodies = "".join(
        f'<body pos="0 0 0.4"><joint name="j{k}" axis="{(k + 1) % 2} {k % 2} 0"/><geom size="0.05"/>'
        f'<site name="s{k}" pos="0.1 0.05 0.2"/>'
        for k in range(count + 1)
    )
    parts = {
        "fixed": '<joint joint="j{}" coef="0.5"/><joint joint="j{}" coef="-1.5"/>',
        "spatial": '<site site="s{}"/><site site="s{}"/>',
        "pulleys": '<site site="s0"/><site site="s2"/><pulley divisor="2"/><site site="s{}"/><site site="s{}"/>'
        '<pulley divisor="3"/><site site="s1"/><site site="s4"/>',
    }
    tag = "fixed" if target == "fixed" else "spatial"
    tendons = drives = ""
    for k, actuator in enumerate(ACTUATORS):
        on = f'joint="j{k}"' if target == "joint" else f'tendon="a{k}"'
        drives += f'<{actuator.format(f"a{k}")} {on} gear="{(0.7, 1.5)[k % 2]}"/>'
        if target in parts:
            tendons += f'<{tag} name="a{k}">{parts[target].format(k, k + 1)}</{tag}>'
    spring = 'stiffness="7" damping="2" springlength="-0.1 0.2"'
    tendons += f'<fixed name="spring" {spring}><joint joint="j2" coef="2"/><joint joint="j1" coef="-1"/></fixed>'
    tendons += f'<spatial name="cord" {spring}><site site="s1"/><site site="s3"/></spatial>'
    return (
        '<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}{'</body>' * (count + 1)}</worldbody>"
        f"<tendon>{tendons}</tendon><actuator>{drives}</actuator></mujoco>"
    )


SITES = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody><body>
<freejoint/><geom size="0.1" pos="0.1 0 0"/><site name="s" pos="0 0.1 0.1" quat="0.8 0 0.6 0"/></body></worldbody>
<actuator>{0}</actuator></mujoco>"""
BALL = """<mujoco><worldbody><body name="a"><joint name="b" type="ball"/>
<inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.01"/></body></worldbody>
<actuator><motor name="m" {}="b" gear="1 0.5 0.2" ctrlrange="-1 1"/></actuator></mujoco>"""
ON_SITES = """<motor name="push" site="s" gear="1 2 3" ctrlrange="-2 2" forcerange="-1 1.5"/>
<position name="turn" site="s" gear="0 0 0 1 0 2" kp="7" ctrlrange="-1 1"/>"""
CASES = {name: TWO.format(**{"joint": "", "body": "", "actuators": ""} | parts) for name, parts in TWO_HINGES.items()}
CASES |= {target: chain(target) for target in ("joint", "fixed", "spatial", "pulleys")}
CASES["sites"] = SITES.format(ON_SITES)
CASES |= {f"ball, {frame}": BALL.format(frame) for frame in ("joint", "jointinparent")}


def ranges(engine, of_states):
    """(2, actuators): the ends of the ranges of controls, or of activations where there are such."""
    limited = engine.actuator_actlimited[:, None].astype(bool) & of_states
    return np.where(limited, engine.actuator_actrange, engine.actuator_ctrlrange).T


def accelerations(model, engine, q, u, share):
    """(nu,) where all actuators act at these shares of their ranges."""
    low, high = ranges(engine, True)
    names = [engine.actuator(i).name for i in range(engine.nu)]
    known = dict(zip(names, low + share * (high - low), strict=True))
    controls = np.array([np.clip(known[a.name], *np.array(a.bounds[0])) for a in model.actuators])
    shares = dict(zip(names, share, strict=True))
    tau = limit_torques(model, q, u) + actuator_forces(model, q, u, controls)
    tau = tau + muscle_torques(model, q, u, np.array([shares.get(name, 0.0) for name in model.muscle_names]))
    return forward_dynamics(model, q, u, tau)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*carry no force", "ignore:.*PushWarning")
@pytest.mark.parametrize("case", CASES)
def test_accelerations_and_rates_of_activations_are_mujocos(case, tmp_path, rng):
    path = write(tmp_path, CASES[case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwrittenWarning)
        load_model(path, strict=True).save(tmp_path / "again.xml")
    for file in (path, tmp_path / "again.xml"):
        engine, data = opened(file)
        engine.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        model = load_model(file)
        model = replace(model, limits=(), muscles=tuple(muscle for muscle in model.muscles if muscle.law))
        (low, high), (least, most) = (ranges(engine, of_states) for of_states in (True, False))
        names = [engine.actuator(i).name for i in range(engine.nu)]
        stateful = engine.actuator_actadr >= 0
        for _ in range(8):
            q = engine.qpos0.copy()
            mujoco.mj_integratePos(engine, q, rng.uniform(-0.8, 0.8, engine.nv), 1.0)
            v, share, e = rng.normal(size=engine.nv), rng.uniform(size=engine.nu), rng.uniform(size=engine.nu)
            acting, controls = low + share * (high - low), least + e * (most - least)
            forward(engine, data, qpos=q, qvel=v, act=acting[stateful], ctrl=np.where(stateful, controls, acting))
            u, expected = in_axes_of_bodies(model.system, q, v, data.qacc)
            found = accelerations(model, engine, q, u, share)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max()))
            excitation, activation = ([dict(zip(names, x, strict=True)).get(name, 0.0) for name in model.muscle_names]
                                      for x in (e, share))  # fmt: skip
            rates = dict(zip(model.muscle_names, activation_rates(model, excitation, activation), strict=True))
            for i, rate in zip(np.flatnonzero(stateful), data.act_dot, strict=True):
                if names[i] in rates:
                    assert rates[names[i]] * (high - low)[i] == pytest.approx(rate, rel=1e-12, abs=1e-12)


SEVERAL = """<mujoco><option gravity="1 -2 -9"/><default><geom contype="0" conaffinity="0" type="box"/></default>
<worldbody><body name="a" pos="0.1 0 0.2" euler="20 -30 40"><geom size="0.05 0.1 0.02" pos="0.1 0 -0.2"/>
<joint name="x" type="slide" axis="1 2 0" pos="0.3 0 0"/><joint name="y" axis="0 1 0.2" pos="0.1 -0.2 0"/>
<joint name="z" axis="1 0 0" pos="0 0.1 -0.1" ref="10"/>
<body name="b" pos="0 0 -0.4"><joint name="w" axis="0 0 1" pos="-0.2 0 0.1"/>
<joint name="ball" type="ball" pos="0.1 0.2 0"/>
<geom size="0.02 0.03 0.1" pos="0.02 0.01 -0.1"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("group", "does"), [(3, False), (2, True), (-1, True), (40, True)])
def test_actuators_of_disabled_groups_do_nothing_and_are_reported(group, does, tmp_path):
    """MuJoCo disables groups 0 to 30."""
    text = TWO.format(joint="", body="", actuators=f'<motor joint="j1" ctrlrange="-1 1" group="{group}"/>')
    path = write(tmp_path, text.replace('<option jacobian="dense"/>', '<option actuatorgroupdisable="3"/>'))
    engine, data = opened(path)
    forward(engine, data, ctrl=0.5)
    assert bool(data.qfrc_actuator.any()) == does
    with pytest.warns((ImplausibleWarning, UnsupportedWarning)) as caught:
        assert bool(load_model(path).actuators) == does
    assert any("1 actuator (actuatorgroupdisable" in str(w.message) for w in caught) != does


CLAMP = "1 joint .actuatorfrcrange of a joint with several actuators, or one"
test_a_clamp_of_other_actuators_than_one_of_the_joint_is_reported = reported(
    TWO.format(joint='actuatorfrcrange="-3 2"', body="", actuators="DRIVES"), "x.xml",
    ("DRIVES", '<motor joint="j1" ctrlrange="-1 1"/><motor tendon="sum" ctrlrange="-1 1"/>', CLAMP),
    ("DRIVES", '<motor tendon="sum" ctrlrange="-1 1"/>', CLAMP),
    ("DRIVES", '<motor tendon="path" ctrlrange="-1 1"/>', CLAMP),
    ("DRIVES", '<motor site="s" gear="0 0 1 0 0 0" ctrlrange="-1 1"/>', CLAMP),
)  # fmt: skip


def test_energy_and_wrenches_of_gravity_compensation_balance(tmp_path, rng):
    model = read(tmp_path, TWO.format(joint="", body='gravcomp="1"', actuators=""))
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


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*carry no force")
@pytest.mark.parametrize("on", ["joint", "tendon"])
def test_an_integrated_set_point_ends_where_mujocos_does(on, tmp_path):
    text = (
        '<mujoco><option gravity="0 0 0" timestep="0.01"/><worldbody><site name="w" pos="0.3 0 0"/><body>'
        '<joint name="j" axis="0 1 0"/><geom size="0.1" pos="0 0 0.3"/><site name="s" pos="0 0 0.3"/></body>'
        '</worldbody><tendon><spatial name="t"><site site="w"/><site site="s"/></spatial></tendon><actuator>'
        f'<intvelocity {on}="{on[0]}" kp="3" kv="1" ctrlrange="-2 1" actrange="-0.4 0.45"/></actuator></mujoco>'
    )
    model = read(tmp_path, text, strict=True)
    engine, data = opened(tmp_path / "x.xml")
    model = replace(model, muscles=tuple(muscle for muscle in model.muscles if not isinstance(muscle.law, SlackSpring)))
    given = {"controls": [1.0]} if on == "joint" else {"excitation": [1.0], "activation": [model.muscles[0].activation]}
    motion = Simulator(model, method="semi_implicit_euler")(
        model.start, [0.0], 1.0, step=0.01, output_step=1.0, **given
    )
    data.ctrl[:] = 1.0
    mujoco.mj_step(engine, data, nstep=100)
    assert data.act[0] == 0.45
    np.testing.assert_allclose(motion.final_q, data.qpos, atol=1e-12)
