"""Joint types: one file each, all with the verbs of `myoquat.joints.types.base.Joint`."""

from myoquat.joints.types.angles import Angles, Dependent, EulerJoint, GimbalJoint, UniversalJoint
from myoquat.joints.types.base import CoordinateJoint, Joint, JointFacts
from myoquat.joints.types.constant_curvature import ConstantCurvatureJoint
from myoquat.joints.types.custom import Axis, CustomJoint
from myoquat.joints.types.ellipsoid import EllipsoidJoint
from myoquat.joints.types.fixed import FixedJoint
from myoquat.joints.types.floating import FloatingJoint
from myoquat.joints.types.follower import FollowerJoint, Turn
from myoquat.joints.types.planar import PlanarJoint
from myoquat.joints.types.prismatic import PrismaticJoint
from myoquat.joints.types.reversal import ReversedJoint
from myoquat.joints.types.revolute import RevoluteJoint
from myoquat.joints.types.spherical import SphericalJoint
from myoquat.joints.types.table import JOINT_FACTS, joint_table

__all__ = [
    "JOINT_FACTS",
    "Angles",
    "Axis",
    "ConstantCurvatureJoint",
    "CoordinateJoint",
    "CustomJoint",
    "Dependent",
    "EllipsoidJoint",
    "EulerJoint",
    "FixedJoint",
    "FloatingJoint",
    "FollowerJoint",
    "GimbalJoint",
    "Joint",
    "JointFacts",
    "PlanarJoint",
    "PrismaticJoint",
    "ReversedJoint",
    "RevoluteJoint",
    "SphericalJoint",
    "Turn",
    "UniversalJoint",
    "joint_table",
]
