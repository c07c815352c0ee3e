"""Passive forces beside muscles: one file per type, with the verbs of `myoquat.muscle.forces.base.PassiveForce`.

Contact forces act between surfaces of bodies, such as `ContactHalfSpace`, `ContactSphere` and `ContactBox`.
"""

from myoquat.muscle.contact import (
    ContactBox,
    ContactCapsule,
    ContactCylinder,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactHull,
    ContactRim,
    ContactSphere,
    ContactSurface,
)
from myoquat.muscle.forces.base import LoadingForce, MeasuredForce, PassiveForce
from myoquat.muscle.forces.bushing import Bushing
from myoquat.muscle.forces.bushing_functions import BushingFunctions
from myoquat.muscle.forces.contact import Contact, ContactForce
from myoquat.muscle.forces.coordinate_friction import CoordinateFriction
from myoquat.muscle.forces.coordinate_spring import CoordinateSpring
from myoquat.muscle.forces.expressions import BushingExpressions, CoordinateExpression, PointExpression
from myoquat.muscle.forces.hunt_crossley import ContactMaterial, HuntCrossley
from myoquat.muscle.forces.linear_contact import LinearContact
from myoquat.muscle.forces.point_spring import PointSpring
from myoquat.muscle.forces.prescribed import PrescribedForce
from myoquat.muscle.forces.rotation_limit import RotationLimit
from myoquat.muscle.forces.smooth_contact import SmoothSphereHalfSpace
from myoquat.muscle.forces.swing_twist import SwingTwistLimit

__all__ = [
    "Bushing",
    "BushingExpressions",
    "BushingFunctions",
    "Contact",
    "ContactBox",
    "ContactCapsule",
    "ContactCylinder",
    "ContactEllipsoid",
    "ContactForce",
    "ContactHalfSpace",
    "ContactHull",
    "ContactMaterial",
    "ContactRim",
    "ContactSphere",
    "ContactSurface",
    "CoordinateExpression",
    "CoordinateFriction",
    "CoordinateSpring",
    "HuntCrossley",
    "LinearContact",
    "LoadingForce",
    "MeasuredForce",
    "PassiveForce",
    "PointExpression",
    "PointSpring",
    "PrescribedForce",
    "RotationLimit",
    "SmoothSphereHalfSpace",
    "SwingTwistLimit",
]
