"""Joint types: one file each, all with the verbs of `joints.types.base.Joint`."""

from joints.types.base import Joint
from joints.types.euler import EulerJoint
from joints.types.fixed import FixedJoint
from joints.types.spherical import SphericalJoint

__all__ = ["EulerJoint", "FixedJoint", "Joint", "SphericalJoint"]
