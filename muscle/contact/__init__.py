"""Contact surfaces of bodies, and where two of them touch."""

from myoquat.muscle.contact.surfaces import ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.contact.touch import Touch, can_touch, touch

__all__ = ["ContactEllipsoid", "ContactHalfSpace", "ContactSphere", "ContactSurface", "Touch", "can_touch", "touch"]
