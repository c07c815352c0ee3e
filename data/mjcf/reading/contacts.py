"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between those that it has."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.elements import three
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.document import Document, elements_of
from myoquat.data.mjcf.reading.geoms import Geom
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle.contact import ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.forces import ContactMaterial, HuntCrossley
from myoquat.muscle.loads import world_point

__all__ = ["GeomPair", "pairs_of", "read_contacts"]

STIFFNESS_PA, DISSIPATION_S_PER_M = 1e6, 1.0  # of all surfaces: MuJoCo's soft constraints have no material
MAX_TOUCHING_GEOMS = 2000  # pairs grow with the square
JOINTS = ("joint", "freejoint")
SAMPLED_POSES, COINCIDENT_M = 4, 1e-9  # centres nearer than this at all random poses are one point
QUIET = ("name", "class", "solref", "solimp", "solreffriction", "margin", "gap")


@dataclass(frozen=True)
class GeomPair:
    """Two geoms that touch, and their coefficient of sliding friction, 0 where condim is 1."""

    first: Geom
    second: Geom
    friction: float


def read_contacts(document: Document, skeleton: Skeleton, system: ArticulatedSystem) -> tuple[HuntCrossley, ...]:
    """A force for every pair whose types this package has: planes with spheres, ellipsoids and the round ends of
    capsules, and spheres with each other. Other pairs, and spheres about one point, whose contact has no direction, are
    noted by their types and names."""
    forces = []
    poses = system.poses(system.random(SAMPLED_POSES, np.random.default_rng(0)))
    for number, pair in enumerate(pairs_of(document, skeleton), start=1):
        one, two = _surfaces(pair.first), _surfaces(pair.second)
        names = f"{_described(pair.first)} and {_described(pair.second)}"
        concentric = _concentric(pair, poses)
        if concentric:
            names += ", whose centres always coincide"
        if concentric or not (one and two) or not _supported(pair.first, pair.second):
            document.unsupported.count(pair.second.element, f"contact of {names}; they pass through each other")
            continue
        made = [
            ContactMaterial(surfaces, STIFFNESS_PA, DISSIPATION_S_PER_M, pair.friction, pair.friction)
            for surfaces in (one, two)
        ]
        forces.append(HuntCrossley(f"contact_{number}", tuple(made)))
    return tuple(forces)


def _described(geom: Geom) -> str:
    return f"{geom.type} {geom.name or f'of {geom.body}'}"


def _supported(first: Geom, second: Geom) -> bool:
    types = {first.type, second.type}
    if "plane" in types:
        return len(types) == 2
    return types == {"sphere"}


def _concentric(pair: GeomPair, poses: Poses) -> bool:
    """Whether the centres of two spheres are one point at all of these poses."""
    geoms = pair.first, pair.second
    if {geom.type for geom in geoms} != {"sphere"}:
        return False
    first, second = (world_point(poses, geom.body, geom.place.position) for geom in geoms)
    return bool((np.abs(first - second) < COINCIDENT_M).all())


def _surfaces(geom: Geom) -> tuple[ContactSurface, ...]:
    """The surfaces of a geom: a capsule meets a plane with the spheres at its ends. None of other types."""
    name, center = geom.name or f"{geom.body}_{geom.element.sourceline}", np.array(geom.place.position)
    if geom.type == "plane":
        return (ContactHalfSpace(name, geom.body, three(center), three(_axis(geom))),)
    if geom.type == "sphere":
        return (ContactSphere(name, geom.body, three(center), geom.sizes[0]),)
    if geom.type == "ellipsoid":
        Q = geom.place.orientation
        return (ContactEllipsoid(name, geom.body, three(center), Q, three(np.array(geom.sizes))),)  # type: ignore[arg-type]
    if geom.type == "capsule":
        radius, half = geom.sizes[:2]
        ends = (center + sign * half * _axis(geom) for sign in (1.0, -1.0))
        return tuple(ContactSphere(f"{name}_{k}", geom.body, three(end), radius) for k, end in enumerate(ends))
    return ()


def _axis(geom: Geom) -> Array:
    """(3,) z of a geom in its body."""
    axis: Array = np.asarray(rotation_matrix(geom.place.Q))[:, 2]
    return axis


# ---- which pairs ---------------------------------------------------------------------------------------------


def pairs_of(document: Document, skeleton: Skeleton) -> list[GeomPair]:
    """The pairs that MuJoCo's collision detection passes on: those of <pair>, and all others whose contype and
    conaffinity agree and whose bodies can move against each other, unless they are parent and child or <exclude> names
    them."""
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
            found.append(GeomPair(first, second, _friction(first, second)))
    return found


def _collide(first: Geom, second: Geom) -> bool:
    """Whether MuJoCo computes contacts of two types: planes and height fields do not meet each other."""
    return not {first.type, second.type} <= {"plane", "hfield"}


def _friction(first: Geom, second: Geom, values: Values | None = None) -> float:
    """The coefficient of a pair from its own `values`, else from the geom with the higher priority, else the greater
    one; 0 where condim, found by the same rule, is 1."""
    priority = max(first.priority, second.priority)
    decisive = [geom for geom in (first, second) if geom.priority == priority]
    friction, condim = max(geom.friction for geom in decisive), max(geom.condim for geom in decisive)
    if values is not None:
        friction = values.numbers("friction", 1, 5, (friction,))[0]
        condim = int(values.number("condim", condim))
    return friction if condim > 1 else 0.0


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
        friction = _friction(first, second, values)
        document.finish(values, *QUIET)
        if _weld(_body_of(first.element)) is not _weld(_body_of(second.element)):
            yield GeomPair(first, second, friction)


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
