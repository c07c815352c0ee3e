"""Contact surfaces of bodies, and where two of them touch."""

from myoquat.muscle.contact.surfaces import (
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
from myoquat.muscle.contact.touch import Touch, can_touch, has_curvature, touch

__all__ = [
    "ContactBox",
    "ContactCapsule",
    "ContactCylinder",
    "ContactEllipsoid",
    "ContactHalfSpace",
    "ContactHull",
    "ContactRim",
    "ContactSphere",
    "ContactSurface",
    "Touch",
    "can_touch",
    "has_curvature",
    "touch",
]
