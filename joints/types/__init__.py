"""Joint types: one file each, all with the verbs of `joints.types.base.Joint`."""

from joints.types.base import Joint, JointFacts
from joints.types.custom import Axis, CustomJoint
from joints.types.ellipsoid import EllipsoidJoint
from joints.types.euler import EulerJoint
from joints.types.fixed import FixedJoint
from joints.types.floating import FloatingJoint
from joints.types.planar import PlanarJoint
from joints.types.prismatic import PrismaticJoint
from joints.types.revolute import RevoluteJoint
from joints.types.spherical import SphericalJoint
from joints.types.table import JOINT_FACTS, joint_table
from joints.types.universal import UniversalJoint

__all__ = [
    "JOINT_FACTS",
    "Axis",
    "CustomJoint",
    "EllipsoidJoint",
    "EulerJoint",
    "FixedJoint",
    "FloatingJoint",
    "Joint",
    "JointFacts",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "SphericalJoint",
    "UniversalJoint",
    "joint_table",
]
