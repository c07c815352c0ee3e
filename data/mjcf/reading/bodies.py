"""The tree of a compiled model: its bodies as ours, with the geoms and sites on them."""

from dataclasses import field
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.joints import FileJoint, Link, links_of, read_joint
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.data.mjcf.source import Source, rows
from myoquat.joints import Body, FixedJoint, Shape, quaternion_multiply, rotation_matrix
from myoquat.joints.vectors import congruent
from myoquat.muscle import PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import CoordinateFriction

__all__ = ["FIRST_HIDDEN_GROUP", "GROUND", "HALVED", "SLIP_SPEEDS", "Geom", "Place", "Skeleton", "read_skeleton"]

GROUND = "world"
SLIP_SPEEDS = {"hinge": 0.01, "slide": 1e-3}  # [rad/s, m/s] below which dry friction is not at its greatest
GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2}  # how many numbers tell the size; three for other types
HALVED = {  # by type of geom: which of its sizes a file counts by half
    "box": (True, True, True),
    "sphere": (False,),
    "ellipsoid": (False, False, False),
    "cylinder": (False, True),
    "capsule": (False, True),
}
FIRST_HIDDEN_GROUP = 3  # MuJoCo shows geoms of groups 0 to 2 unless another choice is made
DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
INERTIA_ROUND_OFF = 1e-12  # relative, by which an inertia that was diagonalised may miss that of the file


@dataclass(frozen=True)
class Place:
    """A frame in the frame of its body or of the body above: origin p (3,) [m] and unit quaternion Q (4,)."""

    p: Array
    Q: Array

    @property
    def R(self) -> Array:
        """(3, 3) the rotation matrix of Q."""
        return np.asarray(rotation_matrix(self.Q))

    @property
    def position(self) -> tuple[float, ...]:
        """p as numbers."""
        return tuple(float(x) for x in self.p)

    @property
    def orientation(self) -> tuple[float, ...]:
        """Q as numbers."""
        return tuple(float(x) for x in self.Q)


HERE = Place(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class Geom:
    """A geom of a body: its number, its type, its sizes as MJCF counts them and its pose. `weighs`: it has a mass.

    contype, conaffinity     which others it may touch
    friction                 the coefficient of sliding friction
    priority, condim, mix    of its contacts, which begin at `margin` and are as soft as `softness` says
    """

    index: int
    name: str
    body: str
    type: str
    sizes: tuple[float, ...]
    place: Place
    weighs: bool
    contype: int
    conaffinity: int
    friction: float
    priority: int
    condim: int
    margin: float
    softness: Softness
    mix: float

    @property
    def touches(self) -> bool:
        """Whether it collides with other geoms."""
        return bool(self.contype or self.conaffinity)

    def _whole_sizes(self) -> tuple[float, ...]:
        return tuple(2 * x if half else x for x, half in zip(self.sizes, HALVED[self.type], strict=True))

    def shape(self, source: Source) -> Shape | None:
        """The shape of a body; None for a type that shapes of bodies do not have."""
        if self.type not in HALVED and self.type != "mesh":
            return None
        m, i = source.m, self.index
        # single precision: the shortest decimal number is that of the file
        color = tuple(float(str(x)) for x in np.asarray(m.geom_rgba[i], dtype=np.float32))
        return Shape(
            self.type,
            (1.0, 1.0, 1.0) if self.type == "mesh" else self._whole_sizes(),
            self.place.position,  # type: ignore[arg-type]
            self.place.orientation,  # type: ignore[arg-type]
            purpose="collision" if self.touches else "hidden" if m.geom_group[i] >= FIRST_HIDDEN_GROUP else "visual",
            file=_mesh_file(source, int(m.geom_dataid[i])) if self.type == "mesh" else "",
            name=self.name,
            color=None if color == DEFAULT_COLOR else color,  # type: ignore[arg-type]
            material=m.mat(int(m.geom_matid[i])).name if m.geom_matid[i] >= 0 else "",
        )


def _mesh_file(source: Source, k: int) -> str:
    """The file of a mesh, or its name where it stands in the document."""
    name, m = source.name("mesh", k), source.m
    if name in source.meshes:
        return source.meshes[name]
    start, paths = int(m.mesh_pathadr[k]), bytes(m.paths)
    return name if start < 0 else paths[start : paths.index(b"\0", start)].decode("utf-8", "replace")


@dataclass
class Skeleton:
    """The bodies in the order of the file, depth first, which is MuJoCo's order of coordinates, and what belongs to
    them.

    start                   the coordinates of the pose of the file
    coordinates             with their ranges
    refs                    the references of coordinates by name
    frictions               dry friction of coordinates
    combinations            the coefficients of fixed tendons by coordinate
    limited, limited_balls  the joints that have limits; ball joints with the names of their bodies
    balls                   the two bodies that ball joints connect, the child first, by the joints' names
    names, joints           of the bodies and the joints, by their numbers
    geoms, sites, axes      geoms, sites and the axes (3, 3) of these, by their numbers
    """

    bodies: list[Body] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    coordinates: list[Coordinate] = field(default_factory=list)
    refs: dict[str, float] = field(default_factory=dict)
    frictions: list[CoordinateFriction] = field(default_factory=list)
    combinations: dict[str, dict[str, float]] = field(default_factory=dict)
    limited: list[FileJoint] = field(default_factory=list)
    limited_balls: list[tuple[str, FileJoint]] = field(default_factory=list)
    balls: dict[str, tuple[str, str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[PathPoint] = field(default_factory=list)
    axes: list[Array] = field(default_factory=list)


def read_skeleton(source: Source) -> Skeleton:
    """All bodies of a model; ModelError for one that cannot be."""
    reader = _Reader(source)
    for i in range(1, source.m.nbody):
        reader.read(i)
    return reader.found


class _Reader:
    """What reads bodies, each after the one that carries it."""

    def __init__(self, source: Source) -> None:
        self.found = found = Skeleton()
        self._source = source
        m: Any = source.m
        given = [source.name("body", i) for i in range(1, m.nbody)]
        self._taken = {GROUND, *given}
        self._numbered: dict[str, int] = {}  # the last number that was tried after a name
        found.names += [GROUND, *(name or self._new("body") for name in given)]
        found.joints += [""] * m.njnt
        for i in range(m.nsite):
            position = tuple(rows(m, "site_pos", i))
            found.sites.append(PathPoint(found.names[int(m.site_bodyid[i])], position))
            found.axes.append(np.asarray(rotation_matrix(np.array(m.site_quat[i]))))
        found.geoms += [_geom(source, i, found.names[int(m.geom_bodyid[i])]) for i in range(m.ngeom)]

    def read(self, i: int) -> None:
        """Body i on its joints."""
        m, found = self._source.m, self.found
        name, parent = found.names[i], found.names[int(m.body_parentid[i])]
        first = int(m.body_jntadr[i])
        joints = [read_joint(self._source, j, name, j - first) for j in range(first, first + int(m.body_jntnum[i]))]
        for joint in joints:
            found.joints[joint.index] = joint.name
        self._add(i, name, parent, Place(np.array(m.body_pos[i]), np.array(m.body_quat[i])), joints)

    def _new(self, base: str) -> str:
        """A name that no body has."""
        name = None
        while name is None or name in self._taken:
            self._numbered[base] = self._numbered.get(base, 0) + 1
            name = f"{base}_{self._numbered[base]}"
        self._taken.add(name)
        return name

    # ---- one body as one or several of ours --------------------------------------------------------------------

    def _add(self, i: int, name: str, parent: str, place: Place, joints: list[FileJoint]) -> None:
        """The body on its joint. Massless bodies between the parent and the body carry joints away from the body's
        origin. They also carry joints in excess of those that one joint here holds."""
        mass = self._mass(i)
        links = links_of(joints)
        self._note(links)
        resting: dict[str, Any] = {}
        if any(joint.type == "free" for joint in joints):  # its coordinates are those of the world
            resting = {"spring_mount": (*place.position, *place.orientation)} if joints[0].passive[0] else {}
            self.found.start[-7:] = [*place.position, *place.orientation]
            place = HERE
        reached = np.zeros(3)
        for k, link in enumerate(links):
            at = Place(place.p + place.R @ (link.point - reached), place.Q)
            ends = k == len(links) - 1 and not link.point.any()
            new = name if ends else self._new(name)
            own: dict[str, Any] = mass if ends else {}
            fields = link.fields(new) | resting | own
            self.found.bodies.append(Body(new, parent, position=at.position, orientation=at.orientation, **fields))
            balls = [joint for joint in link.joints if joint.type == "ball"]
            self.found.limited_balls += [(new, ball) for ball in balls if ball.limited]
            self.found.balls |= {ball.name: (new, parent) for ball in balls}
            parent, place, reached = new, HERE, link.point
        if not links or reached.any():
            at = Place(place.p - place.R @ reached, place.Q)
            self.found.bodies.append(Body(name, parent, FixedJoint(), at.position, at.orientation, **mass))

    def _note(self, links: list[Link]) -> None:
        for link in links:
            self.found.start += link.start
            for joint in link.joints:
                coordinate = joint.coordinate
                if coordinate is not None:
                    self.found.refs[joint.name] = joint.ref
                    if joint.friction:
                        friction = CoordinateFriction(
                            f"{joint.name}_friction", joint.name, joint.friction, SLIP_SPEEDS[joint.type]
                        )
                        self.found.frictions.append(friction)
                    self.found.coordinates.append(coordinate)
                    if joint.limited:
                        self.found.limited.append(joint)

    def _mass(self, i: int) -> dict[str, Any]:
        """The fields of a Body for its mass. MuJoCo keeps principal moments; where the file has all six numbers, and
        the compiler has not corrected them, these are taken."""
        m, part = self._source.m, self._source.part("body", i)
        Q, moments = np.array(m.body_iquat[i]), np.array([*m.body_inertia[i], 0.0, 0.0, 0.0])
        inertia = moments if Q[0] == 1.0 else np.asarray(congruent(np.asarray(rotation_matrix(Q)), moments))
        given = None if part is None else np.array(part.fullinertia)
        if given is not None and np.abs(given - inertia).max() <= INERTIA_ROUND_OFF * moments.max():
            inertia = given
        return {
            "mass": float(m.body_mass[i]),
            "center_of_mass": rows(m, "body_ipos", i),
            "inertia": tuple(map(float, inertia)),
        }


def _geom(source: Source, i: int, body: str) -> Geom:
    m: Any = source.m
    geom_type = GEOMS[int(m.geom_type[i])] if int(m.geom_type[i]) < len(GEOMS) else "sdf"
    place = Place(np.array(m.geom_pos[i]), np.array(m.geom_quat[i]))
    if geom_type in ("mesh", "sdf") and m.geom_dataid[i] >= 0:
        place = _as_given(place, m.mesh_pos[m.geom_dataid[i]], m.mesh_quat[m.geom_dataid[i]])
    part = source.part("geom", i)
    weighs = part is not None and bool(part.density if np.isnan(part.mass) else part.mass)
    return Geom(
        i,
        source.name("geom", i),
        body,
        geom_type,
        rows(m, "geom_size", i)[: SIZES.get(geom_type, 3)],
        place,
        weighs and geom_type not in ("plane", "hfield"),
        int(m.geom_contype[i]),
        int(m.geom_conaffinity[i]),
        float(m.geom_friction[i, 0]),
        int(m.geom_priority[i]),
        int(m.geom_condim[i]),
        float(m.geom_margin[i]),
        Softness.of(source, "geom", i),
        float(m.geom_solmix[i]),
    )


def _as_given(place: Place, position: Array, orientation: Array) -> Place:
    """The place of a mesh as its file has it. The compiler moves its origin to the centre of mass, and turns its axes
    to the principal ones."""
    inverse = np.array(orientation) * [1.0, -1.0, -1.0, -1.0]
    Q = np.asarray(quaternion_multiply(place.Q, inverse))
    return Place(place.p - np.asarray(rotation_matrix(Q)) @ np.array(position), Q)
