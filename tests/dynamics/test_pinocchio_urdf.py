"""Plain URDF means the same here as in Pinocchio's own reader: what we write, and a file as other tools write it."""

import numpy as np
import pytest
from pinocchio_peer import Peer, close

from myoquat.data import ImplausibleWarning, UnwrittenWarning
from myoquat.data.urdf import load_urdf, write_urdf
from myoquat.dynamics import bias_force, mass_matrix
from myoquat.joints import ArticulatedSystem, frame_pose
from myoquat.joints.multibody.sampling import random_system
from myoquat.muscle import Model
from tests.bodies import on_ball, on_hinge

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

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


def _compare(path):
    system, model = load_urdf(path), pin.buildModelFromUrdf(str(path))
    moving = [k for k, body in enumerate(system.bodies) if body.joint.nu]
    joints = [model.joints[model.getJointId(system.bodies[k].joint_name)] for k in moving]
    slices = ((system.q_slices[k], system.u_slices[k]) for k in moving)
    peer = Peer(model, [(joint, *at) for joint, at in zip(joints, slices, strict=True)])
    assert (model.nv, sorted(peer.velocities)) == (system.nu, list(range(system.nu)))
    rng = np.random.default_rng(0)
    q, u = system.random(1, rng)[0], rng.normal(size=system.nu)
    x, v = peer.q(q), peer.u(u)
    close(mass_matrix(system, q), peer.matrix(pin.crba(peer.model, peer.data, x)))
    close(bias_force(system, q, u), peer.back(pin.nonLinearEffects(peer.model, peer.data, x, v)))
    pin.framesForwardKinematics(peer.model, peer.data, x)
    for name in system.body_names:
        frame = peer.data.oMf[peer.model.getFrameId(name, pin.FrameType.BODY)]
        R, p = frame_pose(system, q, name)
        close(R, frame.rotation)
        np.testing.assert_allclose(p, frame.translation, atol=1e-12)


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
    spring = on_hinge("B", inertia=0.1, stiffness=2.0)
    write_urdf(ArticulatedSystem((spring,)), tmp_path / "x.urdf")
    assert pin.buildModelFromUrdf(str(tmp_path / "x.urdf")).nv == 1


def test_a_warning_names_the_joints_for_which_pinocchio_refuses_a_file(tmp_path):
    """URDF has no type for ball joints; other joints open there."""
    hinge = on_hinge("rod", "y", inertia=0.1)
    ball = on_ball("ball", parent="rod", inertia=0.1)
    Model(ArticulatedSystem((hinge,))).save(tmp_path / "hinge.urdf")
    assert pin.buildModelFromUrdf(str(tmp_path / "hinge.urdf")).nv == 1
    with pytest.warns(
        UnwrittenWarning, match=r"'spherical', which this package reads and other programs refuse \(ball\)"
    ):
        Model(ArticulatedSystem((hinge, ball))).save(tmp_path / "ball.urdf")
    with pytest.raises(ValueError, match="valid URDF model"):
        pin.buildModelFromUrdf(str(tmp_path / "ball.urdf"))
