from .angles import Angles as Angles, Dependent as Dependent
from .axes import (
    FixedJoint as FixedJoint,
    PlanarJoint as PlanarJoint,
    PrismaticJoint as PrismaticJoint,
    RevoluteJoint as RevoluteJoint,
)
from .base import Axis as Axis, CoordinateJoint as CoordinateJoint, Joint as Joint, JointFacts as JointFacts
from .custom import CustomJoint as CustomJoint
from .follower import FollowerJoint as FollowerJoint, ReversedJoint as ReversedJoint, Turn as Turn
from .pointed import ConstantCurvatureJoint as ConstantCurvatureJoint, EllipsoidJoint as EllipsoidJoint
from .spherical import FloatingJoint as FloatingJoint, SphericalJoint as SphericalJoint
from .table import JOINT_FACTS as JOINT_FACTS, joint_table as joint_table
from .turns import EulerJoint as EulerJoint, GimbalJoint as GimbalJoint, UniversalJoint as UniversalJoint
