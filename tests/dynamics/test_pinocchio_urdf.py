"""Plain URDF means the same here as in Pinocchio's own reader: what we write, and a file as other tools write it."""

import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, UnwrittenWarning
from myoquat.data.urdf import load_urdf, write_urdf
from myoquat.dynamics import bias_force, forward_dynamics, mass_matrix
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint, SphericalJoint, frame_pose
from myoquat.joints.multibody.sampling import random_system
from myoquat.muscle import Model

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

TOLERANCE = 1e-11
FOREIGN = """<?xml version="1.0"?>
<robot name="foreign" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="root"/>
  <link name="carriage">
    <inertial><origin xyz="0.1 0 0" rpy="0.3 -0.2 0.9"/><mass value="3"/>
      <inertia ixx="0.03" ixy="0.002" ixz="-0.001" iyy="0.04" iyz="0.003" izz="0.05"/></inertial>
    <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry><material name="grey"/></visual>
  </link>
  <link name="bracket">
    <inertial><origin xyz="0 0.2 0.1"/><mass value="0.7"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0.001" izz="0.015"/></inertial>
  </link>
  <link name="wheel">
    <inertial><origin xyz="0 0 0.05" rpy="0 1.5707963267948966 0"/><mass value="1.2"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.005" iyz="0" izz="0.006"/></inertial>
  </link>
  <link name="puck">
    <inertial><origin xyz="0.02 -0.03 0"/><mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0.0001" iyy="0.0012" iyz="0" izz="0.0015"/></inertial>
  </link>
  <joint name="z_slide" type="prismatic"><parent link="root"/><child link="carriage"/>
    <origin xyz="0 0 0.5" rpy="0.1 0.2 -0.4"/><axis xyz="1 2 -1"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/><dynamics friction="0.5"/>
    <safety_controller k_velocity="10"/></joint>
  <joint name="weld" type="fixed"><parent link="carriage"/><child link="bracket"/>
    <origin xyz="0.3 0 0" rpy="1.5707963267948966 0 0.2"/></joint>
  <joint name="hinge" type="revolute"><parent link="bracket"/><child link="wheel"/>
    <origin rpy="-0.5 0.4 2" xyz="0.05 0.1 0.2"/><limit lower="-2" upper="2" effort="10" velocity="1"/></joint>
  <joint name="a_spin" type="continuous"><parent link="bracket"/><child link="puck"/>
    <axis xyz="0.3 0 -0.9"/><calibration rising="0.0"/></joint>
  <transmission name="t"><type>transmission_interface/SimpleTransmission</type></transmission>
  <gazebo reference="wheel"><mu1>0.2</mu1></gazebo>
</robot>
"""


class Peer:
    """The model that Pinocchio reads from a file, and states of ours in its order."""

    def __init__(self, path, system):
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.system = system
        moving = [body for body in system.bodies if body.joint.nu]
        self.joints = [self.model.joints[self.model.getJointId(body.joint_name)] for body in moving]
        # our velocities of each body, in Pinocchio's order
        self.indices = np.concatenate([j.idx_v + np.arange(j.nv) for j in self.joints])

    def q(self, q):
        """A hinge without limits has (cos, sin) there, a quaternion is scalar last."""
        found = np.zeros(self.model.nq)
        slices = [s for body, s in zip(self.system.bodies, self.system.q_slices, strict=True) if body.joint.nu]
        for joint, s in zip(self.joints, slices, strict=True):
            part = q[s]
            if (joint.nq, joint.nv) == (2, 1):
                part = np.array([np.cos(part[0]), np.sin(part[0])])
            elif joint.nq == 7:
                part = np.concatenate([part[:3], np.roll(part[3:], -1)])
            found[joint.idx_q : joint.idx_q + joint.nq] = part
        return found

    def u(self, u):
        found = np.zeros(self.model.nv)
        found[self.indices] = u
        return found


def _compare(path):
    system = load_urdf(path)
    peer = Peer(path, system)
    assert (peer.model.nv, sorted(peer.indices)) == (system.nu, list(range(system.nu)))
    rng = np.random.default_rng(0)
    q, (u, tau) = system.random(1, rng)[0], rng.normal(size=(2, system.nu))
    x, v = peer.q(q), peer.u(u)
    M = pin.crba(peer.model, peer.data, x)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(peer.indices, peer.indices)]
    _close(mass_matrix(system, q), M)
    _close(bias_force(system, q, u), pin.nonLinearEffects(peer.model, peer.data, x, v)[peer.indices])
    udot = pin.aba(peer.model, peer.data, x, v, peer.u(tau))[peer.indices]
    _close(forward_dynamics(system, q, u, tau), udot, max(1.0, np.linalg.cond(M) / 1e5))
    pin.framesForwardKinematics(peer.model, peer.data, x)
    for name in system.body_names:
        frame = peer.data.oMf[peer.model.getFrameId(name, pin.FrameType.BODY)]
        R, p = frame_pose(system, q, name)
        _close(R, frame.rotation)
        np.testing.assert_allclose(p, frame.translation, atol=1e-12)


def _close(found, expected, limit=1.0):
    assert np.abs(found - expected).max() <= TOLERANCE * limit * np.abs(expected).max()


def test_a_file_of_other_tools(tmp_path):
    path = tmp_path / "foreign.urdf"
    path.write_text(FOREIGN)
    _compare(path)


def test_inertias_that_no_body_can_have(tmp_path):
    """A thin wheel, whose moments break the triangle inequality, and a puck with inertia and without mass."""
    path = tmp_path / "thin.urdf"
    thin = FOREIGN.replace('iyy="0.005" iyz="0" izz="0.006"', 'iyy="0.005" iyz="0" izz="0.0095"')
    path.write_text(thin.replace('<mass value="0.5"/>', '<mass value="0"/>'))
    with pytest.warns(ImplausibleWarning, match=r"triangle inequality \(wheel\); links .* without mass \(puck\)"):
        _compare(path)


@pytest.mark.parametrize("seed", range(4))
def test_files_that_we_write(tmp_path, seed):
    system = random_system(8, np.random.default_rng(seed), ("fixed", "revolute", "prismatic", "floating"))
    path = tmp_path / "written.urdf"
    write_urdf(system, path)
    _compare(path)


def test_a_joint_with_stiffness_and_no_damping_opens(tmp_path):
    """urdfdom, which Pinocchio reads with, refuses a <dynamics> without damping and friction."""
    spring = Body(
        "B", "ground", RevoluteJoint((0.0, 0.0, 1.0)), mass=1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0), stiffness=2.0
    )
    write_urdf(ArticulatedSystem((spring,)), tmp_path / "x.urdf")
    assert pin.buildModelFromUrdf(str(tmp_path / "x.urdf")).nv == 1


def test_a_warning_names_the_joints_for_which_pinocchio_refuses_a_file(tmp_path):
    """URDF has no type for ball joints; other joints open there."""
    hinge = Body("rod", "ground", RevoluteJoint((0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    ball = Body("ball", "rod", SphericalJoint(), mass=1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    Model(ArticulatedSystem((hinge,))).save(tmp_path / "hinge.urdf")
    assert pin.buildModelFromUrdf(str(tmp_path / "hinge.urdf")).nv == 1
    with pytest.warns(
        UnwrittenWarning, match=r"'spherical', which this package reads and other programs refuse \(ball\)"
    ):
        Model(ArticulatedSystem((hinge, ball))).save(tmp_path / "ball.urdf")
    with pytest.raises(ValueError, match="valid URDF model"):
        pin.buildModelFromUrdf(str(tmp_path / "ball.urdf"))
