"""Contact of geoms: which pairs MuJoCo lets touch, and this package's compliant force between them."""

from typing import Any

import numpy as np

from myoquat.core import frozen
from myoquat.data.mjcf.source import CODES, Part
from myoquat.joints import ArticulatedSystem, rotation_matrix
from myoquat.muscle.contact import ContactCapsule, ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.forces import LinearContact
from myoquat.muscle.loads import world_point

from .bodies import Skeleton, touches
from .softness import Softness, mixed_softness

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

    first: Part
    second: Part
    friction: float
    condim: int
    margin: float
    softness: Softness


def read_contacts(skeleton: Skeleton, system: ArticulatedSystem) -> tuple[LinearContact, ...]:
    """Forces between spheres and capsules, and of these and ellipsoids on planes; a capsule rests on a plane with both
    ends. Spheres about one point, whose contact has no direction, and other pairs are noted by types and names."""
    forces: list[LinearContact] = []
    poses = system.poses(system.random(SAMPLED_POSES, np.random.default_rng(0)))
    for number, pair in enumerate(pairs_of(skeleton), start=1):
        types = {pair.first.type, pair.second.type}
        centers = (world_point(poses, skeleton.names[geom.bodyid], geom.pos) for geom in (pair.first, pair.second))
        concentric = types == {"sphere"} and bool((np.abs(np.subtract(*centers)) < COINCIDENT_M).all())
        if concentric or not types <= (ON_PLANES | {"plane"} if "plane" in types else ROUND):
            names = " and ".join(
                f"{geom.type} {geom.name or f'of {skeleton.names[geom.bodyid]}'}" for geom in (pair.first, pair.second)
            )
            problem = ", whose centres always coincide" if concentric else ""
            pair.second.note(f"contact of {names}{problem}; they pass through each other")
            continue
        if pair.condim > 3:
            pair.second.note(f"condim {pair.condim}; {UNBRAKED[pair.condim]} is not braked by friction")
        forces += _forces(f"contact_{number}", pair, skeleton)
    return tuple(forces)


def _forces(name: str, pair: GeomPair, skeleton: Skeleton) -> list[LinearContact]:
    """One force between two solids, and one for every point with which a solid rests on a plane."""
    first, second = (pair.second, pair.first) if pair.second.type == "plane" else (pair.first, pair.second)
    weights = skeleton.source.m.body_invweight0
    mobility = sum(float(weights[geom.bodyid, 0]) for geom in (first, second))
    if mobility <= 0:
        return []
    stiffness, damping = pair.softness.spring(mobility)
    ground = _surface(first, skeleton)
    feet = [_surface(second, skeleton)]
    if {first.type, second.type} == {"plane", "capsule"}:  # the balls at the ends of the capsule
        (name_2, body, position), (radius, half, _) = _at(second, skeleton), second.size
        centers = (position + sign * half * _normal(second) for sign in (1.0, -1.0))
        feet = [ContactSphere(f"{name_2}_{k}", body, center, radius) for k, center in enumerate(centers, 1)]
    return [
        LinearContact(
            f"{name}_{k}" if len(feet) > 1 else name,
            ground,
            foot,
            stiffness,
            damping / len(feet),
            friction=pair.friction,
            transition=pair.softness.onset,
            margin=pair.margin,
        )
        for k, foot in enumerate(feet, start=1)
    ]


def _surface(geom: Part, skeleton: Skeleton) -> ContactSurface:
    """The surface of a geom; that of a plane is all that lies behind it."""
    name, body, position = _at(geom, skeleton)
    if geom.type == "plane":
        return ContactHalfSpace(name, body, position, _normal(geom))
    if geom.type == "sphere":
        return ContactSphere(name, body, position, radius=geom.size[0])
    turned: dict[str, Any] = {"name": name, "body": body, "position": position, "orientation": geom.quat}
    if geom.type == "ellipsoid":
        return ContactEllipsoid(radii=geom.size, **turned)
    return ContactCapsule(radius=geom.size[0], half_length=geom.size[1], **turned)


def _at(geom: Part, skeleton: Skeleton) -> tuple[str, str, tuple[float, float, float]]:
    """Its name, its body and its place on it."""
    body = skeleton.names[geom.bodyid]
    return geom.name or f"{body}_{geom.index}", body, geom.pos


def _normal(geom: Part) -> Any:
    return rotation_matrix(geom.quat)[:, 2]


# ---- which pairs ---------------------------------------------------------------------------------------------


def pairs_of(skeleton: Skeleton) -> list[GeomPair]:
    """The pairs that MuJoCo's collision detection passes on: those of <pair>, and all others whose contype and
    conaffinity agree. Their bodies can move against each other, are not parent and child, and no <exclude> names them.
    """
    source = skeleton.source
    m: Any = source.m
    if source.disabled("CONTACT") or source.disabled("CONSTRAINT"):
        return []
    geoms = [geom for geom in skeleton.geoms if touches(geom)]
    if len(geoms) > MAX_TOUCHING_GEOMS:
        geoms[-1].complain(f"contact of at most {MAX_TOUCHING_GEOMS} geoms is read, not of {len(geoms)}")
    weld = m.body_weldid[m.geom_bodyid]  # the first of the bodies that move as one
    found, done = [], set[frozenset[int]]()
    for pair in source.parts("pair"):
        first, second = (skeleton.geoms[i] for i in (pair.geom1, pair.geom2))
        if weld[first.index] != weld[second.index]:
            done.add(frozenset((first.index, second.index)))
            friction = pair.friction[0] if pair.dim > 1 else 0.0
            found.append(GeomPair(first, second, friction, pair.dim, pair.margin, Softness.of(pair)))
    # a signature is two numbers of bodies, of 16 bits each
    excluded = {frozenset((int(pair) >> 16, int(pair) & 0xFFFF)) for pair in m.exclude_signature}
    rows = [geom.index for geom in geoms]
    types, affinities, weld = m.geom_contype[rows], m.geom_conaffinity[rows], weld[rows]
    flat = np.isin(m.geom_type[rows], [CODES["geom_type"].index(word) for word in ("plane", "hfield")])
    meets = (types[:, None] & affinities | affinities[:, None] & types) != 0
    meets &= (weld[:, None] != weld) & ~(flat[:, None] & flat)
    if not source.disabled("FILTERPARENT"):
        carrying = m.body_weldid[m.body_parentid[weld]]  # the moving body on which a moving one hangs; 0 for the world
        adjacent = (carrying[:, None] == weld) | (weld[:, None] == carrying)
        meets &= ~(adjacent & (weld[:, None] > 0) & (weld > 0))
    for one, two in np.argwhere(np.triu(meets)):
        first, second = geoms[one], geoms[two]
        bodies, indices = frozenset((first.bodyid, second.bodyid)), frozenset((first.index, second.index))
        if bodies not in excluded and indices not in done:
            found.append(_implicit_pair(first, second))
    return found


def _implicit_pair(first: Part, second: Part) -> GeomPair:
    """Of two geoms that no <pair> names. Margins add up. Friction and softness are those of the higher priority, else
    the greater friction, and the mean of the softness by `solmix`."""
    geoms = first, second
    decisive = [geom for geom in geoms if geom.priority == max(first.priority, second.priority)]
    softness = (
        Softness.of(decisive[0])
        if len(decisive) == 1
        else mixed_softness([Softness.of(geom) for geom in geoms], [geom.solmix for geom in geoms])
    )
    condim = max(geom.condim for geom in decisive)
    friction = max(geom.friction[0] for geom in decisive) if condim > 1 else 0.0
    return GeomPair(first, second, friction, condim, first.margin + second.margin, softness)
