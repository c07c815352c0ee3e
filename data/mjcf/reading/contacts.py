"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between them."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.document import Document, elements_of
from myoquat.data.mjcf.reading.geoms import Geom, read_condim
from myoquat.data.mjcf.reading.softness import Mobilities, Softness, given_mobility, mixed_softness, read_softness
from myoquat.data.mjcf.reading.solids import Solids
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.joints.multibody.system import Poses
from myoquat.muscle.forces import LinearContact
from myoquat.muscle.loads import world_point

__all__ = ["GeomPair", "pairs_of", "read_contacts"]

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
