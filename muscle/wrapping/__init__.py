"""Surfaces that paths wrap around: spheres, cylinders, ellipsoids and tori, one or several on the way."""

from myoquat.muscle.wrapping.contacts import path_contacts
from myoquat.muscle.wrapping.half_plane import HalfPlaneCylinder, HalfPlaneSphere
from myoquat.muscle.wrapping.segment_solver import Piece
from myoquat.muscle.wrapping.side_site import (
    InsideCylinder,
    InsideSphere,
    MujocoInsideCylinder,
    MujocoInsideSphere,
    SideCylinder,
)
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap
from myoquat.muscle.wrapping.surfaces.cylinder import WrapCylinder
from myoquat.muscle.wrapping.surfaces.ellipsoid import WrapEllipsoid
from myoquat.muscle.wrapping.surfaces.sphere import WrapSphere
from myoquat.muscle.wrapping.surfaces.torus import WrapTorus

__all__ = [
    "Contact",
    "HalfPlaneCylinder",
    "HalfPlaneSphere",
    "InsideCylinder",
    "InsideSphere",
    "MujocoInsideCylinder",
    "MujocoInsideSphere",
    "Piece",
    "SideCylinder",
    "Wrap",
    "WrapCylinder",
    "WrapEllipsoid",
    "WrapSphere",
    "WrapTorus",
    "path_contacts",
]
