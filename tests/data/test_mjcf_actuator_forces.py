"""Every type of actuator on joints, tendons and sites, against MuJoCo's `actuator_force`."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from myoquat.data import UnsupportedWarning
from myoquat.dynamics import Simulator
from myoquat.muscle import activation_rates, actuator_forces, limit_torques, muscle_forces, muscle_torques
from myoquat.muscle.laws import SlackSpring
from tests.data.mujoco_engine import forward, opened, read

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:.*carry no force")]

MUSCLE = 'lengthrange="-1.5 1.5" force="30" tausmooth="0.1"'
ACTUATORS = (  # tag, attributes, and the range of the control, or of the activation
    ("motor", 'ctrlrange="-2 2"', (-2.0, 2.0)),
    ("position", 'kp="40" kv="3" ctrlrange="-1 1"', (-1.0, 1.0)),
    ("position", 'kp="40" kv="3" ctrlrange="-1 1" forcerange="-12 9"', (-1.0, 1.0)),
    ("velocity", 'kv="4" ctrlrange="-3 2"', (-3.0, 2.0)),
    ("damper", 'kv="4" ctrlrange="0 2"', (0.0, 2.0)),
    ("damper", 'kv="4" ctrlrange="0 2" forcerange="-1 1"', (0.0, 2.0)),
    ("intvelocity", 'kp="20" kv="1" ctrlrange="-2 1" actrange="-0.5 0.8"', (-0.5, 0.8)),
    ("intvelocity", 'kp="20" kv="1" ctrlrange="-2 1" actrange="-0.5 0.8" forcerange="-6 4"', (-0.5, 0.8)),
    ("general", 'gaintype="affine" biastype="affine" gainprm="3 -2 1" biasprm="1 4 -0.5" ctrlrange="-1 1"', (-1, 1)),
    ("muscle", MUSCLE + ' ctrlrange="0 1"', (0.0, 1.0)),
    ("muscle", MUSCLE + ' ctrlrange="0 1" forcerange="-20 -2"', (0.0, 1.0)),
)
COUNT = len(ACTUATORS)
STATEFUL = [k for k, (tag, *_) in enumerate(ACTUATORS) if tag in ("intvelocity", "muscle")]
LOW, HIGH = np.array([ends for *_, ends in ACTUATORS], dtype=float).T
GEARS = np.where(np.arange(COUNT) % 2, 1.5, 0.7)


def _chain(on):
    """A chain of hinges, one for each actuator and one more, with a tendon across each that `on` names a target of."""
    bodies = "".join(
        f'<body name="b{k}" pos="0 0 0.4"><joint name="j{k}" axis="{(k + 1) % 2} {k % 2} 0"/><geom size="0.05"/>'
        f'<site name="s{k}" pos="0.1 0.05 0.2"/>'
        for k in range(COUNT + 1)
    )
    tendons = "".join(
        f'<spatial name="t{k}"><site site="s{k}"/><site site="s{k + 1}"/></spatial>' for k in range(COUNT)
    )
    drives = "".join(
        f'<{tag} name="a{k}" {on}="{on[0]}{k}" gear="{GEARS[k]}" {given}/>'
        for k, (tag, given, _) in enumerate(ACTUATORS)
    )
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0 0 0" timestep="0.002"/>'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}{'</body>' * (COUNT + 1)}</worldbody>"
        f"<tendon>{tendons}</tendon><actuator>{drives}</actuator></mujoco>"
    )


def _loaded(tmp_path, on):
    return read(tmp_path, _chain(on), strict=True), *opened(tmp_path / "x.xml")


def _acting(engine, data, q, u, acting, controls):
    """MuJoCo where these activations act, and these controls of what has none."""
    stateful = np.isin(np.arange(COUNT), STATEFUL)
    forward(engine, data, qpos=q, qvel=u, ctrl=np.where(stateful, controls, acting), act=acting[STATEFUL])


def test_forces_on_tendons_are_mujocos(tmp_path, rng):
    model, engine, data = _loaded(tmp_path, "tendon")
    assert model.muscle_names == tuple(f"t{k}" for k in range(COUNT))
    shares = np.vstack([np.zeros(COUNT), np.ones(COUNT), rng.uniform(size=(30, COUNT))])
    q, u = 0.5 * rng.normal(size=(32, COUNT + 1)), 2.0 * rng.normal(size=(32, COUNT + 1))
    e = rng.uniform(size=(32, COUNT))
    found = muscle_forces(model, q, u, shares), activation_rates(model, e, shares)
    scale = [HIGH[k] - LOW[k] for k in STATEFUL]
    for row, share in enumerate(shares):
        low, high = engine.actuator_ctrlrange.T
        _acting(engine, data, q[row], u[row], LOW + share * (HIGH - LOW), low + e[row] * (high - low))
        np.testing.assert_allclose(found[0][row], -GEARS * data.actuator_force, rtol=1e-12, atol=1e-12)
        if row > 1:  # at the ends MuJoCo's state is cut off after its step
            np.testing.assert_allclose(found[1][row, STATEFUL] * scale, data.act_dot, rtol=1e-12, atol=1e-12)


def test_forces_on_joints_are_mujocos(tmp_path, rng):
    model, engine, data = _loaded(tmp_path, "joint")
    model = replace(model, muscles=tuple(muscle for muscle in model.muscles if not isinstance(muscle.law, SlackSpring)))
    on_paths, controlled = model.muscle_names, [actuator.name for actuator in model.actuators]
    assert sorted([*on_paths, *controlled]) == sorted(f"a{k}" for k in range(COUNT))
    for _ in range(30):
        q, u = rng.normal(size=COUNT + 1), 2.0 * rng.normal(size=COUNT + 1)
        share = rng.uniform(size=COUNT)
        acting = LOW + share * (HIGH - LOW)
        _acting(engine, data, q, u, acting, 0.0)
        activation = np.array([share[int(name[1:])] for name in on_paths])
        found = muscle_torques(model, q, u, activation) + limit_torques(model, q, u)
        found = found + actuator_forces(model, q, u, np.array([acting[int(name[1:])] for name in controlled]))
        np.testing.assert_allclose(found[:COUNT], GEARS * data.actuator_force, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found, data.qfrc_actuator, rtol=1e-12, atol=1e-12)


SITE = """<mujoco><option gravity="0 0 0"/><default><geom contype="0" conaffinity="0"/></default><worldbody><body>
<freejoint/><geom size="0.1" pos="0.1 0 0"/><site name="s" pos="0 0.1 0.1" quat="0.8 0 0.6 0"/></body></worldbody>
<actuator>{0}</actuator></mujoco>"""


def test_forces_on_sites_are_mujocos(tmp_path, rng):
    drives = (
        '<motor site="s" gear="1 2 3" ctrlrange="-2 2" forcerange="-1 1.5"/>'
        '<position site="s" gear="0 0 0 1 0 2" kp="7" ctrlrange="-1 1"/>'
    )
    model = read(tmp_path, SITE.format(drives), strict=True)
    engine, data = opened(tmp_path / "x.xml")
    assert [actuator.bounds[0] for actuator in model.actuators] == [(-1.0, 1.5), (-1.0, 1.0)]
    for _ in range(10):
        Q = rng.normal(size=4)
        q, controls = np.array([*rng.normal(size=3), *Q / np.linalg.norm(Q)]), rng.uniform(-1, 1, 2)
        forward(engine, data, qpos=q, ctrl=controls)
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, q[3:])
        expected = data.qfrc_actuator.copy()
        expected[:3] = R.reshape(3, 3).T @ expected[:3]
        order = [3, 4, 5, 0, 1, 2] if model.system.bodies[0].joint.subspace is None else range(6)
        np.testing.assert_allclose(actuator_forces(model, q, np.zeros(6), controls), expected[list(order)], atol=1e-12)


@pytest.mark.parametrize("drive", ['<velocity site="s" gear="1"/>', '<position site="s" kv="1"/>'])
def test_forces_that_depend_on_the_speed_of_a_site_are_reported(drive, tmp_path):
    with pytest.warns(UnsupportedWarning, match="an actuator on a site of this type; it does nothing here"):
        read(tmp_path, SITE.format(drive))


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
