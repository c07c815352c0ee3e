"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between them."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from myoquat.core import frozen
from myoquat.data.mjcf.reading.bodies import Geom, Skeleton
from myoquat.data.mjcf.reading.softness import Softness, mixed_softness
from myoquat.data.mjcf.source import Source
from myoquat.data.xml import three
from myoquat.joints import ArticulatedSystem
from myoquat.joints.multibody.system import Poses
from myoquat.muscle.contact import ContactCapsule, ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.forces import LinearContact
from myoquat.muscle.loads import world_point

__all__ = ["GeomPair", "pairs_of", "read_contacts"]

ROUND, ON_PLANES = {"sphere", "capsule"}, {"sphere", "capsule", "ellipsoid"}  # what touches each other, and planes
MAX_TOUCHING_GEOMS = 2000  # pairs grow with the square
SAMPLED_POSES, COINCIDENT_M = 4, 1e-9  # centres nearer than this at all random poses are one point
UNBRAKED = {4: "spinning about the normal", 6: "spinning and rolling"}


@frozen
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


def read_contacts(source: Source, skeleton: Skeleton, system: ArticulatedSystem) -> tuple[LinearContact, ...]:
    """Forces between spheres and capsules, and of these and ellipsoids on planes; a capsule rests on a plane with both
    ends. Spheres about one point, whose contact has no direction, and other pairs are noted by types and names."""
    forces: list[LinearContact] = []
    poses = system.poses(system.random(SAMPLED_POSES, np.random.default_rng(0)))
    for number, pair in enumerate(pairs_of(source, skeleton), start=1):
        problem = ", whose centres always coincide" if _concentric(pair, poses) else ""
        types = {pair.first.type, pair.second.type}
        if problem or not types <= (ON_PLANES | {"plane"} if "plane" in types else ROUND):
            names = f"{_described(pair.first)} and {_described(pair.second)}{problem}"
            source.note("geom", pair.second.index, f"contact of {names}; they pass through each other")
            continue
        if pair.condim > 3:
            effect = f"condim {pair.condim}; {UNBRAKED[pair.condim]} is not braked by friction"
            source.note("geom", pair.second.index, effect)
        forces += _forces(f"contact_{number}", pair, source)
    return tuple(forces)


def _described(geom: Geom) -> str:
    return f"{geom.type} {geom.name or f'of {geom.body}'}"


def _forces(name: str, pair: GeomPair, source: Source) -> list[LinearContact]:
    """One force between two solids, and one for every point with which a solid rests on a plane."""
    first, second = (pair.second, pair.first) if pair.second.type == "plane" else (pair.first, pair.second)
    bodies = [int(source.m.geom_bodyid[geom.index]) for geom in (first, second)]
    mobility = sum(float(source.m.body_invweight0[body, 0]) for body in bodies)
    if mobility <= 0:
        return []
    stiffness, damping = pair.softness.spring(mobility)
    grip = {"friction": pair.friction, "transition": pair.softness.onset, "margin": pair.margin}
    if first.type != "plane":
        return [LinearContact(name, _solid(first), _solid(second), stiffness, damping, **grip)]
    floor, feet = _plane(first), _ends(second) if second.type == "capsule" else [_solid(second)]
    return [
        LinearContact(f"{name}_{k}" if len(feet) > 1 else name, floor, foot, stiffness, damping / len(feet), **grip)
        for k, foot in enumerate(feet, start=1)
    ]


def _name(geom: Geom) -> str:
    return geom.name or f"{geom.body}_{geom.index}"


def _plane(geom: Geom) -> ContactHalfSpace:
    """All that lies behind a plane."""
    return ContactHalfSpace(_name(geom), geom.body, geom.place.position, three(geom.place.R[:, 2]))  # type: ignore[arg-type]


def _solid(geom: Geom) -> ContactSurface:
    common: dict[str, Any] = {"name": _name(geom), "body": geom.body, "position": geom.place.position}
    if geom.type == "sphere":
        return ContactSphere(radius=geom.sizes[0], **common)
    common["orientation"] = geom.place.orientation
    if geom.type == "ellipsoid":
        return ContactEllipsoid(radii=three(geom.sizes), **common)
    return ContactCapsule(radius=geom.sizes[0], half_length=geom.sizes[1], **common)


def _ends(geom: Geom) -> list[ContactSurface]:
    """The balls at the ends of a capsule."""
    radius, half = geom.sizes
    centers = (geom.place.p + sign * half * geom.place.R[:, 2] for sign in (1.0, -1.0))
    return [
        ContactSphere(f"{_name(geom)}_{k}", geom.body, three(center), radius) for k, center in enumerate(centers, 1)
    ]


def _concentric(pair: GeomPair, poses: Poses) -> bool:
    """Whether the centres of two spheres are one point at all of these poses."""
    geoms = pair.first, pair.second
    if {geom.type for geom in geoms} != {"sphere"}:
        return False
    first, second = (world_point(poses, geom.body, geom.place.position) for geom in geoms)
    return bool((np.abs(first - second) < COINCIDENT_M).all())


# ---- which pairs ---------------------------------------------------------------------------------------------


def pairs_of(source: Source, skeleton: Skeleton) -> list[GeomPair]:
    """The pairs that MuJoCo's collision detection passes on: those of <pair>, and all others whose contype and
    conaffinity agree. Their bodies can move against each other, are not parent and child, and no <exclude> names them.
    """
    m: Any = source.m
    if source.disabled("CONTACT") or source.disabled("CONSTRAINT"):
        return []
    explicit = list(_explicit(source, skeleton))
    named = {frozenset((pair.first.index, pair.second.index)) for pair in explicit}
    geoms = [geom for geom in skeleton.geoms if geom.touches]
    if len(geoms) > MAX_TOUCHING_GEOMS:
        problem = f"contact of at most {MAX_TOUCHING_GEOMS} geoms is read, not of {len(geoms)}"
        source.complain("geom", geoms[-1].index, problem)
    # a signature is two numbers of bodies, of 16 bits each
    excluded = {frozenset((int(pair) >> 16, int(pair) & 0xFFFF)) for pair in m.exclude_signature}
    filtered, found = not source.disabled("FILTERPARENT"), list(explicit)
    for first, second in combinations(geoms, 2):
        bodies = [int(m.geom_bodyid[geom.index]) for geom in (first, second)]
        one, two = (int(m.body_weldid[body]) for body in bodies)
        meets = first.contype & second.conaffinity or second.contype & first.conaffinity
        if not meets or one == two or frozenset(bodies) in excluded:
            continue
        if filtered and one and two and (_above(m, one) == two or _above(m, two) == one):
            continue
        if frozenset((first.index, second.index)) not in named and _collide(first, second):
            found.append(_implicit_pair(first, second))
    return found


def _above(m: Any, weld: int) -> int:
    """The moving body that a moving body hangs on; 0 for the world."""
    return int(m.body_weldid[m.body_parentid[weld]])


def _collide(first: Geom, second: Geom) -> bool:
    """Whether MuJoCo computes contacts of two types: planes and height fields do not meet each other."""
    return not {first.type, second.type} <= {"plane", "hfield"}


def _implicit_pair(first: Geom, second: Geom) -> GeomPair:
    """Of two geoms that no <pair> names. Margins add up. Friction and softness are those of the higher priority, else
    the greater friction, and the mean of the softness by `solmix`."""
    decisive = [geom for geom in (first, second) if geom.priority == max(first.priority, second.priority)]
    softness = (
        decisive[0].softness
        if len(decisive) == 1
        else mixed_softness((first.softness, second.softness), (first.mix, second.mix))
    )
    condim = max(geom.condim for geom in decisive)
    friction = max(geom.friction for geom in decisive) if condim > 1 else 0.0
    return GeomPair(first, second, friction, condim, first.margin + second.margin, softness)


def _explicit(source: Source, skeleton: Skeleton) -> Iterator[GeomPair]:
    m: Any = source.m
    for i in range(m.npair):
        first, second = (skeleton.geoms[int(getattr(m, f"pair_geom{k}")[i])] for k in (1, 2))
        if len({int(m.body_weldid[m.geom_bodyid[geom.index]]) for geom in (first, second)}) == 2:
            condim = int(m.pair_dim[i])
            friction = float(m.pair_friction[i, 0]) if condim > 1 else 0.0
            yield GeomPair(first, second, friction, condim, float(m.pair_margin[i]), Softness.of(source, "pair", i))
