"""Passive forces beside muscles: one file per kind, with the verbs of `myoquat.muscle.forces.base.PassiveForce`."""

from myoquat.muscle.forces.base import PassiveForce
from myoquat.muscle.forces.bushing import Bushing
from myoquat.muscle.forces.coordinate_spring import CoordinateSpring
from myoquat.muscle.forces.point_spring import PointSpring

__all__ = ["Bushing", "CoordinateSpring", "PassiveForce", "PointSpring"]
