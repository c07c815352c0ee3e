"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between them."""

from collections.abc import Iterator
from dataclasses import field
from itertools import combinations, product
from typing import Any

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Document, Values, elements_of
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.geoms import Geom, read_condim
from myoquat.data.mjcf.reading.softness import Mobilities, Softness, given_mobility, mixed_softness, read_softness
from myoquat.data.xml import Element, complain, three
from myoquat.joints.multibody.system import Poses
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
from myoquat.muscle.forces import LinearContact
from myoquat.muscle.loads import world_point

__all__ = ["pairs_of", "read_contacts"]


# ---- Geoms as surfaces that touch: solids, planes, and the points with which solids rest on planes ----------------


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


MAX_TOUCHING_GEOMS = 2000  # pairs grow with the square
JOINTS = ("joint", "freejoint")
SAMPLED_POSES, COINCIDENT_M = 4, 1e-9  # centres nearer than this at all random poses are one point
QUIET = ("name", "class", "solreffriction", "gap")
UNBRAKED = {4: "spinning about the normal", 6: "spinning and rolling"}


@dataclass(frozen=True)
class GeomPair:
    """Two geoms that touch.

    friction  their coefficient of sliding friction, 0 where condim is 1
    condim    the directions of force that MuJoCo follows (1, 3, 4 or 6)
    margin    the distance [m] at which they begin to press
    softness  how softly they press
    """

    first: Geom
    second: Geom
    friction: float
    condim: int
    margin: float
    softness: Softness


def read_contacts(document: Document, skeleton: Skeleton, mobilities: Mobilities) -> tuple[LinearContact, ...]:
    """Forces between all pairs. Capsules, boxes, cylinders and meshes rest on planes with several points. Spheres about
    one point, whose contact has no direction, and geoms of other types are noted by their types and names."""
    forces: list[LinearContact] = []
    system = mobilities.system
    poses = system.poses(system.random(SAMPLED_POSES, np.random.default_rng(0)))
    solids = Solids(document, skeleton)
    for number, pair in enumerate(pairs_of(document, skeleton), start=1):
        problem = ", whose centres always coincide" if _concentric(pair, poses) else ""
        if problem or not (solids.known(pair.first) and solids.known(pair.second)):
            names = f"{_described(pair.first)} and {_described(pair.second)}{problem}"
            document.unsupported.count(pair.second.element, f"contact of {names}; they pass through each other")
            continue
        if pair.condim > 3:
            document.unsupported.count(
                pair.second.element, f"condim {pair.condim}; {UNBRAKED[pair.condim]} is not braked by friction"
            )
        forces += _forces(f"contact_{number}", pair, solids, mobilities)
    return tuple(forces)


def _described(geom: Geom) -> str:
    return f"{geom.type} {geom.name or f'of {geom.body}'}"


def _forces(name: str, pair: GeomPair, solids: Solids, mobilities: Mobilities) -> list[LinearContact]:
    """One force between two solids, several between a plane and what rests on it."""
    first, second = (pair.second, pair.first) if pair.second.type == "plane" else (pair.first, pair.second)
    mobility = sum(_mobility(geom, mobilities) for geom in (first, second))
    if mobility <= 0:
        return []
    stiffness, damping = pair.softness.spring(mobility)
    grip = {"friction": pair.friction, "transition": pair.softness.onset, "margin": pair.margin}
    if first.type != "plane":
        return [LinearContact(name, solids.solid(first), solids.solid(second), stiffness, damping, **grip)]
    floor, (feet, sharing) = solids.plane(first), solids.feet(second)
    return [
        LinearContact(f"{name}_{k}" if len(feet) > 1 else name, floor, foot, stiffness, damping / sharing, **grip)
        for k, foot in enumerate(feet, start=1)
    ]


def _mobility(geom: Geom, mobilities: Mobilities) -> float:
    """[1/kg] of the body of a geom."""
    body = _body_of(geom.element)
    given = None if body is None else given_mobility(body)
    return mobilities.of_body(geom.body) if given is None else given


def _concentric(pair: GeomPair, poses: Poses) -> bool:
    """Whether the centres of two spheres are one point at all of these poses."""
    geoms = pair.first, pair.second
    if {geom.type for geom in geoms} != {"sphere"}:
        return False
    first, second = (world_point(poses, geom.body, geom.place.position) for geom in geoms)
    return bool((np.abs(first - second) < COINCIDENT_M).all())


# ---- which pairs ---------------------------------------------------------------------------------------------


def pairs_of(document: Document, skeleton: Skeleton) -> list[GeomPair]:
    """The pairs that MuJoCo's collision detection passes on: those of <pair>, and all others whose contype and
    conaffinity agree. Their bodies can move against each other, are not parent and child, and no <exclude> names them.
    """
    if _switched_off(document):
        return []
    explicit = list(_explicit(document, skeleton))
    named = {frozenset((id(pair.first), id(pair.second))) for pair in explicit}
    touching = sum(geom.touches for geom in skeleton.geoms)
    if touching > MAX_TOUCHING_GEOMS:
        complain(document.root, f"contact of at most {MAX_TOUCHING_GEOMS} geoms is read, not of {touching}")
    excluded = set(_excluded(document, skeleton))
    welds = {id(geom): _weld(_body_of(geom.element)) for geom in skeleton.geoms}
    filtered = not any(flag.get("filterparent") == "disable" for flag in document.root.findall("option/flag"))
    found = list(explicit)
    for first, second in combinations([geom for geom in skeleton.geoms if geom.touches], 2):
        one, two = welds[id(first)], welds[id(second)]
        meets = first.contype & second.conaffinity or second.contype & first.conaffinity
        if not meets or one is two or frozenset((first.body, second.body)) in excluded:
            continue
        if filtered and one is not None and two is not None and (_above(one) is two or _above(two) is one):
            continue
        if frozenset((id(first), id(second))) not in named and _collide(first, second):
            found.append(_implicit_pair(first, second))
    return found


def _implicit_pair(first: Geom, second: Geom) -> GeomPair:
    """Of two geoms that no <pair> names: margins add up; the softness is that of the higher priority, else the mean by
    `solmix`."""
    return GeomPair(first, second, *_friction(first, second), first.margin + second.margin, _softness(first, second))


def _softness(first: Geom, second: Geom) -> Softness:
    if first.priority != second.priority:
        return max(first, second, key=lambda geom: geom.priority).softness
    return mixed_softness((first.softness, second.softness), (first.mix, second.mix))


def _collide(first: Geom, second: Geom) -> bool:
    """Whether MuJoCo computes contacts of two types: planes and height fields do not meet each other."""
    return not {first.type, second.type} <= {"plane", "hfield"}


def _friction(first: Geom, second: Geom, values: Values | None = None) -> tuple[float, int]:
    """The coefficient and condim of a pair from its own `values`, else from the geom with the higher priority, else the
    greater one. The coefficient is 0 where condim is 1."""
    priority = max(first.priority, second.priority)
    decisive = [geom for geom in (first, second) if geom.priority == priority]
    friction, condim = max(geom.friction for geom in decisive), max(geom.condim for geom in decisive)
    if values is not None:
        friction = values.numbers("friction", 1, 5, (friction,))[0]
        condim = read_condim(values, condim)
    return (friction if condim > 1 else 0.0), condim


def _switched_off(document: Document) -> bool:
    flags = document.root.findall("option/flag")
    return any(flag.get(key) == "disable" for flag in flags for key in ("contact", "constraint"))


def _explicit(document: Document, skeleton: Skeleton) -> Iterator[GeomPair]:
    for element in document.sections("contact"):
        if element.tag != "pair":
            continue
        values = document.values(element)
        names = [values.text("geom1"), values.text("geom2")]
        for name in names:
            if name not in skeleton.named:
                complain(element, f"{name!r} is no geom of the model")
        first, second = (skeleton.named[name] for name in names)
        friction, softness = _friction(first, second, values), read_softness(values, "", _softness(first, second))
        margin = values.number("margin", first.margin + second.margin)
        document.finish(values, *QUIET)
        if _weld(_body_of(first.element)) is not _weld(_body_of(second.element)):
            yield GeomPair(first, second, *friction, margin, softness)


def _excluded(document: Document, skeleton: Skeleton) -> Iterator[frozenset[str]]:
    known = {GROUND, *(body.name for body in skeleton.bodies)}
    for element in document.sections("contact"):
        if element.tag == "exclude":
            names = [element.get("body1", ""), element.get("body2", "")]
            for name in names:
                if name not in known:
                    complain(element, f"{name!r} is no body of the model")
            yield frozenset(names)


def _body_of(element: Element) -> Element | None:
    """The body around an element; None for the world."""
    above = element.getparent()
    while above is not None and above.tag not in ("body", "worldbody"):
        above = above.getparent()
    return None if above is None or above.tag == "worldbody" else above


def _weld(body: Element | None) -> Element | None:
    """The body that a body without joints is part of; None for the world."""
    while body is not None and not _has_joint(body):
        body = _body_of(body)
    return body


def _above(body: Element) -> Element | None:
    return _weld(_body_of(body))


def _has_joint(body: Element) -> bool:
    return any(child.tag in JOINTS for child in elements_of(body))
