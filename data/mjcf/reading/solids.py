"""Geoms as surfaces that touch: solids, planes, and the points with which solids rest on planes."""

from dataclasses import field
from itertools import product
from typing import Any

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.elements import three
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.geoms import Geom
from myoquat.data.xml import complain
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
from myoquat.muscle.contact.cores import ROUNDING

__all__ = ["Solids"]

TYPES = ("plane", "sphere", "capsule", "ellipsoid", "box", "cylinder", "mesh")
HULL_DIRECTIONS = 48  # in which the corners of a mesh's hull are looked for
FULL_DETAIL = 1e-3  # of the size of a mesh, by which the hull of these corners may miss it
RESTING_CORNERS = 4  # of a box or a mesh that lies on a plane


@dataclass
class Solids:
    """The surfaces of geoms; hulls of meshes are made once."""

    document: Document
    skeleton: Skeleton
    _hulls: dict[int, ContactHull] = field(default_factory=dict)

    def known(self, geom: Geom) -> bool:
        """Whether a geom's type has a surface."""
        return geom.type in TYPES

    def plane(self, geom: Geom) -> ContactHalfSpace:
        """All that lies behind a plane."""
        return ContactHalfSpace(_name(geom), geom.body, geom.place.position, three(geom.place.R[:, 2]))  # type: ignore[arg-type]

    def solid(self, geom: Geom) -> ContactSurface:
        """The convex solid of a geom."""
        common: dict[str, Any] = {"name": _name(geom), "body": geom.body, "position": geom.place.position}
        if geom.type == "sphere":
            return ContactSphere(radius=geom.sizes[0], **common)
        common["orientation"] = geom.place.orientation
        if geom.type == "ellipsoid":
            return ContactEllipsoid(radii=three(np.array(geom.sizes)), **common)
        if geom.type == "box":
            return ContactBox(half_sizes=three(np.array(geom.sizes)), **common)
        if geom.type == "mesh":
            return self._hull(geom, common)
        made = ContactCapsule if geom.type == "capsule" else ContactCylinder
        return made(radius=geom.sizes[0], half_length=geom.sizes[1], **common)

    def feet(self, geom: Geom) -> tuple[list[ContactSurface], int]:
        """What touches a plane: the solid itself, or several points of it, and how many of them carry it at rest."""
        if geom.type in ("sphere", "ellipsoid"):
            return [self.solid(geom)], 1
        if geom.type == "cylinder":
            return _rims(geom), 3
        if geom.type == "capsule":
            radius, half = geom.sizes[:2]
            return _balls(geom, radius, half * np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])), 2
        if geom.type == "box":
            radius = ROUNDING * min(geom.sizes)
            signs = np.array(list(product((-1.0, 1.0), repeat=3)))
            return _balls(geom, radius, signs * (np.array(geom.sizes) - radius)), RESTING_CORNERS
        hull = self.solid(geom)
        assert isinstance(hull, ContactHull)
        return _balls(geom, hull.radius, np.array(hull.vertices)), RESTING_CORNERS

    def _hull(self, geom: Geom, common: dict[str, Any]) -> ContactHull:
        """The hull of a mesh's vertices, opened by a ball as boxes are, and reduced to a few corners, which is
        noted."""
        if id(geom) not in self._hulls:
            vertices = self.skeleton.meshes.vertices(geom.element, geom.mesh_name)
            try:
                corners, radius = opened_hull(vertices)
            except scipy.spatial.QhullError:
                complain(geom.element, f"the vertices of mesh {geom.mesh_name!r} span no volume, so it cannot touch")
            few = reduced(corners)
            if len(few) < len(corners) and _missed(corners, few) > FULL_DETAIL * float(np.ptp(vertices, axis=0).max()):
                self.document.unsupported.count(geom.element, f"a mesh in contact; its hull has {len(few)} corners")
            rows = tuple(three(corner) for corner in few)
            self._hulls[id(geom)] = ContactHull(vertices=rows, radius=radius, **common)
        return self._hulls[id(geom)]


def _name(geom: Geom) -> str:
    return geom.name or f"{geom.body}_{geom.element.sourceline}"


def _balls(geom: Geom, radius: float, centers: Array) -> list[ContactSurface]:
    """Balls about centres (k, 3) in the frame of a geom."""
    moved = geom.place.p + centers @ geom.place.R.T
    return [
        ContactSphere(f"{_name(geom)}_{k}", geom.body, three(place), radius) for k, place in enumerate(moved, start=1)
    ]


def _rims(geom: Geom) -> list[ContactSurface]:
    """Three points of both rims of a cylinder."""
    radius, half = geom.sizes[:2]
    tube = ROUNDING * min(radius, half)
    found: list[ContactSurface] = []
    for end, angle in product((-1.0, 1.0), (0.0, 2 * np.pi / 3, -2 * np.pi / 3)):
        place = three(geom.place.p + end * (half - tube) * geom.place.R[:, 2])
        name = f"{_name(geom)}_{len(found) + 1}"
        found.append(
            ContactRim(name, geom.body, place, geom.place.orientation, radius - tube, tube, angle)  # type: ignore[arg-type]
        )
    return found


# ---- hulls ---------------------------------------------------------------------------------------------------


def opened_hull(vertices: Array) -> tuple[Array, float]:
    """The corners (k, 3) of the hull's inner parallel body, and its distance from the hull: a tenth of the radius of
    the greatest ball inside. QhullError for vertices in a plane."""
    planes = scipy.spatial.ConvexHull(vertices).equations
    normals, offsets = planes[:, :3], planes[:, 3]
    ones = np.ones((len(planes), 1))
    ball = scipy.optimize.linprog([0, 0, 0, -1], np.hstack([normals, ones]), -offsets, bounds=[(None, None)] * 4)
    radius = ROUNDING * float(ball.x[3])
    moved = np.column_stack([normals, offsets + radius])
    corners = scipy.spatial.HalfspaceIntersection(moved, ball.x[:3]).intersections
    return corners[scipy.spatial.ConvexHull(corners).vertices], radius


def reduced(corners: Array) -> Array:
    """(j, 3) the corners (k, 3) that are farthest along any of some directions, spread evenly over the sphere."""
    k = np.arange(HULL_DIRECTIONS) + 0.5
    height, angle = 1 - 2 * k / HULL_DIRECTIONS, np.pi * (1 + np.sqrt(5.0)) * k
    across = np.sqrt(1 - height**2)
    directions = np.column_stack([across * np.cos(angle), across * np.sin(angle), height])
    chosen = np.unique(np.argmax(corners @ directions.T, axis=0))
    found: Array = corners[chosen]
    return found


def _missed(corners: Array, few: Array) -> float:
    """[m] how far corners lie outside the hull of a few of them."""
    planes = scipy.spatial.ConvexHull(few).equations
    return float(np.maximum(corners @ planes[:, :3].T + planes[:, 3], 0.0).max())
