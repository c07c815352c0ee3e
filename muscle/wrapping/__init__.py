"""Surfaces that paths wrap around: spheres, cylinders, ellipsoids and tori, one or several on the way."""

from myoquat.muscle.wrapping.base import Contact, Wrap
from myoquat.muscle.wrapping.chain import Piece
from myoquat.muscle.wrapping.contacts import path_contacts
from myoquat.muscle.wrapping.cylinder import WrapCylinder
from myoquat.muscle.wrapping.ellipsoid import WrapEllipsoid
from myoquat.muscle.wrapping.side_site import InsideCylinder, InsideSphere, SideCylinder
from myoquat.muscle.wrapping.sphere import WrapSphere
from myoquat.muscle.wrapping.torus import WrapTorus

__all__ = [
    "Contact",
    "InsideCylinder",
    "InsideSphere",
    "Piece",
    "SideCylinder",
    "Wrap",
    "WrapCylinder",
    "WrapEllipsoid",
    "WrapSphere",
    "WrapTorus",
    "path_contacts",
]
