"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between those that it has."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.document import Document, elements_of
from myoquat.data.mjcf.reading.geoms import Geom
from myoquat.data.xml import Element, complain
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle.contact import ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.forces import ContactMaterial, HuntCrossley

__all__ = ["GeomPair", "pairs_of", "read_contacts"]

STIFFNESS_PA, DISSIPATION_S_PER_M = 1e6, 1.0  # of all surfaces: MuJoCo's soft constraints have no material
MAX_TOUCHING_GEOMS = 2000  # pairs grow with the square
JOINTS = ("joint", "freejoint")


@dataclass(frozen=True)
class GeomPair:
    """Two geoms that touch, and their coefficient of sliding friction."""

    first: Geom
    second: Geom
    friction: float


def read_contacts(document: Document, skeleton: Skeleton) -> tuple[HuntCrossley, ...]:
    """A force for every pair whose types this package has: planes with spheres, ellipsoids and the round ends of
    capsules, and spheres with each other. Other pairs are noted by their types and names."""
    forces = []
    for number, pair in enumerate(pairs_of(document, skeleton), start=1):
        one, two = _surfaces(pair.first), _surfaces(pair.second)
        if not (one and two) or not _supported(pair.first, pair.second):
            names = f"{_described(pair.first)} and {_described(pair.second)}"
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


def _surfaces(geom: Geom) -> tuple[ContactSurface, ...]:
    """The surfaces of a geom: a capsule meets a plane with the spheres at its ends. None of other types."""
    name, center = geom.name or f"{geom.body}_{geom.element.sourceline}", np.array(geom.place.position)
    if geom.type == "plane":
        return (ContactHalfSpace(name, geom.body, _three(center), _three(_axis(geom))),)
    if geom.type == "sphere":
        return (ContactSphere(name, geom.body, _three(center), geom.sizes[0]),)
    if geom.type == "ellipsoid":
        Q = geom.place.orientation
        return (ContactEllipsoid(name, geom.body, _three(center), Q, _three(np.array(geom.sizes))),)  # type: ignore[arg-type]
    if geom.type == "capsule":
        radius, half = geom.sizes[:2]
        ends = (center + sign * half * _axis(geom) for sign in (1.0, -1.0))
        return tuple(ContactSphere(f"{name}_{k}", geom.body, _three(end), radius) for k, end in enumerate(ends))
    return ()


def _three(v: Array) -> tuple[float, float, float]:
    x, y, z = map(float, v)
    return x, y, z


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
    excluded = set(_excluded(document))
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


def _friction(first: Geom, second: Geom) -> float:
    """That of the geom with the higher priority, else the greater one."""
    if first.priority != second.priority:
        return max(first, second, key=lambda geom: geom.priority).friction
    return max(first.friction, second.friction)


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
        friction = values.numbers("friction", 1, 5, (_friction(first, second),))[0]
        if _weld(_body_of(first.element)) is not _weld(_body_of(second.element)):
            yield GeomPair(first, second, friction)


def _excluded(document: Document) -> Iterator[frozenset[str]]:
    for element in document.sections("contact"):
        if element.tag == "exclude":
            yield frozenset((element.get("body1", ""), element.get("body2", "")))


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
