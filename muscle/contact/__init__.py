"""Contact surfaces of bodies, and where two of them touch."""

from myoquat.muscle.contact.surfaces import (
    ContactCapsule,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactSphere,
    ContactSurface,
)
from myoquat.muscle.contact.touch import Touch, can_touch, has_curvature, touch

__all__ = [
    "ContactCapsule",
    "ContactEllipsoid",
    "ContactHalfSpace",
    "ContactSphere",
    "ContactSurface",
    "Touch",
    "can_touch",
    "has_curvature",
    "touch",
]
