"""Standing, and steps of environments beside those of MuJoCo."""

import importlib.util

import numpy as np
import pytest

import myoquat as mq
from myoquat.environments import PoseTask, StandTask, VectorEnvironment
from myoquat.environments.stepping import Stepper
from myoquat.joints import quaternion_exp, quaternion_multiply, rotation_matrix
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Marker
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, LinearContact
from tests.bodies import afloat, on_hinge

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed")
FLOOR = ContactHalfSpace("floor", "ground", normal=(0.0, 0.0, 1.0))
TURN = tuple(float(x) for x in quaternion_exp(np.array([0.0, 0.0, 0.5])))


def pole():
    """A pole on a foot that is a ball, with a hinged head that a motor moves."""
    pole = afloat("pole", center_of_mass=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))
    head = on_hinge("head", "y", "nod", parent="pole", position=(0, 0, 1.0), mass=0.1, inertia=0.01)
    foot = LinearContact("foot", FLOOR, ContactSphere("sole", "pole", (0, 0, 0.05), 0.05), 1e4, 50.0, 0.8)
    return mq.Model(
        mq.ArticulatedSystem((pole, head), gravity=(0, 0, -9.81)), forces=(foot,),
        coordinates=(Coordinate("nod", (-0.1, 0.05)),), markers=(Marker("top", "pole", (0.0, 0.0, 1.0)),),
        actuators=(CoordinateActuator("motor", "nod", lower=-1.0, upper=1.0),),
    )  # fmt: skip


TASK = StandTask(pole(), points=("top",), spread=0.2, target_low=[(-0.1, 0, 0)], target_high=[(0.1, 0, 0)], turn=TURN)


def test_a_pole_starts_within_ranges_falls_and_ends_with_the_penalty():
    envs = VectorEnvironment(TASK, 3, autoreset="disabled")
    seen, _ = envs.reset(seed=0)
    assert seen[:, :7] == pytest.approx(np.tile([0, 0, 0, *TURN], (3, 1)), abs=1e-6)
    assert (np.abs(seen[:, 7] - np.clip(seen[:, 7], -0.1, 0.05)) < 1e-6).all()
    shares = np.random.default_rng(1).random(TASK.draws)
    assert seen[1, 7] == pytest.approx(np.clip(0.4 * shares[7] - 0.2, -0.1, 0.05), abs=1e-6)
    assert seen[1, 18] == pytest.approx(0.2 * shares[8] - 0.1, abs=1e-6)  # the target, from the top
    one = VectorEnvironment(TASK, 1, autoreset="disabled")
    assert np.array_equal(one.reset(seed=1)[0][0], seen[1])
    for _ in range(150):
        seen, reward, ended, _, infos = envs.step(np.ones((3, 1)))
        if not one.episodes.ended.any():
            alone, *_ = one.step(np.ones((1, 1)))
            if not envs.episodes.ended[1]:
                assert np.array_equal(alone[0], seen[1])
        if envs.episodes.ended.any():
            break
    assert ended.any()
    assert (reward[ended] < -30).all()
    assert (infos["reach"] <= 10).all()
    assert (infos["act_reg"] == 0).all()


def test_the_observed_root_is_turned_and_its_velocity_is_that_in_the_world(rng):
    stepper = Stepper(TASK)
    q = pole().system.random(4, rng)
    u = rng.normal(size=(4, 7))
    seen = TASK.observe(stepper.situation(np.zeros(4), stepper.start(q, u, None), np.zeros((4, 3))))
    R = rotation_matrix(q[:, 3:7])
    assert seen[:, 3:7] == pytest.approx(quaternion_multiply(q[:, 3:7], np.array(TURN)))
    assert seen[:, 8:11] == pytest.approx(np.einsum("nij,nj->ni", R, u[:, :3]) * TASK.control_step)
    omega = np.einsum("nij,nj->ni", rotation_matrix(seen[:, 3:7]), seen[:, 11:14])  # in the world
    assert omega == pytest.approx(np.einsum("nij,nj->ni", R, u[:, 3:6]) * TASK.control_step)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"pose": (0.0,)}, "pose must have 8 numbers"), ({"spread": -1.0}, "spread must not be negative"),
     ({"target_low": [(1.0, 0, 0)]}, "target_low, target_high"), ({"excitation_range": (0.5, 0.2)}, "in order"),
     ({"model": mq.load_model("two_link"), "points": (Marker("tip", "B", (0.0, 0.0, 0.0)),)}, "is a free joint")],
)  # fmt: skip
def test_impossible_tasks_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        StandTask(**{"model": pole(), "points": ("top",), **changes})


ELBOW = """<mujoco><compiler angle="radian"/><option timestep="0.002"/>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody><site name="o1" pos="0.1 0 0.3"/><site name="o2" pos="-0.1 0 0.3"/><body><joint name="j" axis="0 1 0"
damping="0.3" armature="0.01" stiffness="0.5"/><geom type="capsule" size="0.03 0.1" pos="0 0 -0.15"/>
<site name="i" pos="0 0 -0.1"/></body></worldbody><tendon><spatial name="a"><site site="o1"/><site site="i"/></spatial>
<spatial name="b"><site site="o2"/><site site="i"/></spatial></tendon><actuator><muscle name="a" tendon="a"
lengthrange="0.3 0.5" force="100" timeconst="0.01 0.04"/><muscle name="b" tendon="b" lengthrange="0.3 0.5" force="80"
timeconst="0.01 0.04"/></actuator></mujoco>"""


@pytest.mark.peers
@needs_mujoco
def test_steps_are_mujocos_where_no_limit_and_no_contact_acts(tmp_path):
    """Semi-implicit Euler with implicit damping of joints; muscles after their rate at the start."""
    import mujoco  # noqa: PLC0415 - a peer

    path = tmp_path / "x.xml"
    path.write_text(ELBOW)
    task = PoseTask(mq.load_model(path), 0.002, low=(0,), high=(0,), start_low=(0.3,), start_high=(0.3,))
    engine = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(engine)
    data.qpos[:] = 0.3
    envs = VectorEnvironment(task, 1)
    envs.reset(seed=0)
    for action in np.random.default_rng(0).uniform(-1, 1, (10, 2)):
        envs.step(action[None])
        data.ctrl[:] = 1 / (1 + np.exp(-5 * (action - 0.5)))
        mujoco.mj_step(engine, data, nstep=10)
    theirs = np.concatenate([data.qpos, data.qvel, data.act])
    assert envs.episodes.x[0] == pytest.approx(theirs, abs=1e-11)
