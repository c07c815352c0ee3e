"""Surfaces that paths wrap around: spheres, cylinders, ellipsoids and tori, one or several on the way."""

from muscle.wrapping.base import Contact, Wrap
from muscle.wrapping.chain import Piece
from muscle.wrapping.contacts import path_contacts
from muscle.wrapping.cylinder import WrapCylinder
from muscle.wrapping.ellipsoid import WrapEllipsoid
from muscle.wrapping.sphere import WrapSphere
from muscle.wrapping.torus import WrapTorus

__all__ = ["Contact", "Piece", "Wrap", "WrapCylinder", "WrapEllipsoid", "WrapSphere", "WrapTorus", "path_contacts"]
