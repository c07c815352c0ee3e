"""Against MuJoCo on a model with ball and hinge joints, one sliding joint and a free base.

MuJoCo's quaternions are scalar first and its ball joints' velocities in the child frame, as here. A free joint's linear
velocity is in world axes there, in the child frame here.
"""

import numpy as np
import pytest

from myoquat.dynamics import bias_force, forward_dynamics, inverse_dynamics, mass_matrix
from myoquat.joints import ArticulatedSystem, Body, PrismaticJoint, RevoluteJoint, SphericalJoint
from myoquat.joints.kinematics import frame_jacobian, frame_pose

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers

TOLERANCE = 1e-10
AXES = {"shin": (0.6, 0.8, 0.0), "rod": (0.0, 0.6, 0.8), "foot": (0.0, 1.0, 0.0)}
BODIES = {
    "trunk": (
        "ground",
        "ball",
        (0.0, 0.1, 0.2),
        (0.8, 0.6, 0.0, 0.0),
        3.0,
        (0.05, 0.0, -0.2),
        (0.3, 0.25, 0.1, 0.01, 0.0, 0.02),
    ),
    "thigh": (
        "trunk",
        "ball",
        (0.0, 0.2, -0.4),
        (1.0, 0.0, 0.0, 0.0),
        2.0,
        (0.0, 0.01, -0.2),
        (0.1, 0.11, 0.02, 0.0, 0.003, 0.0),
    ),
    "shin": (
        "thigh",
        "hinge",
        (0.0, 0.0, -0.4),
        (1.0, 0.0, 0.0, 0.0),
        1.5,
        (0.02, 0.0, -0.2),
        (0.05, 0.05, 0.01, 0.0, 0.0, 0.0),
    ),
    "foot": (
        "shin",
        "hinge",
        (0.0, 0.0, -0.4),
        (0.0, 1.0, 0.0, 0.0),
        0.5,
        (0.1, 0.0, 0.0),
        (0.002, 0.004, 0.004, 0.0, 0.0, 0.0),
    ),
    "arm": (
        "trunk",
        "ball",
        (0.0, -0.2, 0.3),
        (0.6, 0.0, 0.8, 0.0),
        1.0,
        (0.0, 0.0, -0.15),
        (0.02, 0.02, 0.004, 0.0, 0.0, 0.001),
    ),
    "rod": (
        "arm",
        "slide",
        (0.0, 0.0, -0.3),
        (1.0, 0.0, 0.0, 0.0),
        0.4,
        (0.0, 0.0, -0.1),
        (0.003, 0.003, 0.001, 0.0, 0.0, 0.0),
    ),
}
DAMPING, ARMATURE = 0.05, 0.01


def _system():
    joints = {
        "ball": lambda name: SphericalJoint(),
        "hinge": lambda name: RevoluteJoint(AXES[name]),
        "slide": lambda name: PrismaticJoint(AXES[name]),
    }
    bodies = [
        Body(name, parent, joints[joint_type](name), p, Q, m, c, I, damping=DAMPING, rotor_inertia=ARMATURE)
        for name, (parent, joint_type, p, Q, m, c, I) in BODIES.items()
    ]
    return ArticulatedSystem(tuple(bodies))


def _numbers(values):
    return " ".join(f"{x!r}" for x in values)


def _xml(parent):
    text = ""
    for name, (above, joint_type, p, Q, m, c, I) in BODIES.items():
        if above != parent:
            continue
        axis = f'axis="{_numbers(AXES[name])}"' if name in AXES else ""
        text += f"""<body name="{name}" pos="{_numbers(p)}" quat="{_numbers(Q)}">
            <inertial mass="{m}" pos="{_numbers(c)}" fullinertia="{_numbers(I)}"/>
            <joint type="{joint_type}" {axis} damping="{DAMPING}" armature="{ARMATURE}"/>{_xml(name)}</body>"""
    return text


@pytest.fixture(scope="module")
def peer():
    flags = '<flag constraint="disable" contact="disable" eulerdamp="disable"/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler balanceinertia="false"/><option gravity="0 0 -9.81">{flags}</option>'
        f"<worldbody>{_xml('ground')}</worldbody></mujoco>"
    )
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("seed", range(4))
def test_ball_and_hinge_model(peer, seed):
    model, data = peer
    system = _system()
    rng = np.random.default_rng(seed)
    q, u, tau = system.random(1, rng)[0], rng.normal(size=system.nu), rng.normal(size=system.nu)
    assert (model.nq, model.nv) == (system.nq, system.nu)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, u, tau
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    _close(mass_matrix(system, q), M)
    _close(bias_force(system, q, u), data.qfrc_bias - data.qfrc_passive)
    _close(forward_dynamics(system, q, u, tau), data.qacc)
    _close(inverse_dynamics(system, q, u, data.qacc.copy()), tau)
    for name in system.body_names:
        body = model.body(name).id
        R, p = frame_pose(system, q, name)
        _close(R, data.xmat[body].reshape(3, 3))
        _close(p, data.xpos[body])
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, body)
        _close(frame_jacobian(system, q, name), np.concatenate([linear, angular]))


def _close(found, expected):
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()
