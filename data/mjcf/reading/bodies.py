"""The tree of a compiled model: its bodies and joints as ours, with the geoms and sites on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.data.mjcf.source import Source, rows
from myoquat.joints import (
    Axis,
    Body,
    CustomJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    Shape,
    SphericalJoint,
    UniversalJoint,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.joints.functions import Linear
from myoquat.joints.types.base import unit_axis
from myoquat.joints.vectors import congruent
from myoquat.muscle import PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import CoordinateFriction

__all__ = ["FIRST_HIDDEN_GROUP", "GROUND", "HALVED", "SLIP_SPEEDS", "Geom", "Place", "Skeleton", "read_skeleton"]


# --------------------------------------------------------------------------------------------------------------
#
# Joints: the rows of joints of a body as joints of this package, in series where one cannot represent them.
#
# MuJoCo applies the joints of a body in the order of the file, each in the frame that those before it have reached.
# One joint here represents a ball, a free joint, or up to three slides and then up to three hinges about one point. The
# same spring, damper and armature must act in all of them.


TYPES = ("free", "ball", "slide", "hinge")
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
UNNAMED = {"hinge": "angle", "slide": "position"}  # names of the coordinates of joints without a name
LETTERS = {X: "X", Y: "Y", Z: "Z"}


@frozen
class FileJoint:
    """A joint of a body: number `index` of all. `given`: its name in the file, empty without one.

    point, axis       in the body [m]
    ref               the coordinate at which it does not move the body
    passive           (stiffness, damping, armature)
    rest              where its spring rests
    margin, softness  a limit acts from `margin` inside the range on, as softly as `softness` says
    mobility          J M^-1 J^T of its coordinates in the pose of the file
    """

    index: int
    given: str
    name: str
    type: str
    point: tuple[float, ...] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = Z
    ref: float = 0.0
    passive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rest: float = 0.0
    range: tuple[float, float] | None = None
    limited: bool = False
    friction: float = 0.0
    margin: float = 0.0
    softness: Softness = Softness()
    mobility: float = 0.0

    @property
    def coordinate(self) -> Coordinate | None:
        """What the file says of the joint's coordinate, if it has a single one."""
        return Coordinate(self.name, self.range, clamped=self.limited) if self.type in ("slide", "hinge") else None


@frozen
class Link:
    """A joint of ours for some joints of a body, at a point (3,) [m] of that body."""

    joints: tuple[FileJoint, ...]
    joint: Joint
    point: Array

    def fields(self, body: str) -> dict[str, Any]:
        """The fields of a Body with this joint beside its place and mass."""
        first = self.joints[0]
        stiffness, damping, armature = first.passive
        names = self._names(body)
        plain = tuple(f"{body}.{suffix}" for suffix in self.joint.coordinate_suffixes)
        rests = tuple(joint.rest for joint in self.joints)
        sprung = stiffness > 0 and first.type in ("slide", "hinge") and any(rests) and self.joint.nq == len(rests)
        single = self.joint.span == "all" or len(self.joints) == 1
        name = self.joints[-1].given if single else ""
        return {
            "joint": self.joint,
            "joint_name": "" if name == body else name,
            "coordinate_names": None if names == plain else names,
            "stiffness": stiffness,
            "damping": damping,
            "rotor_inertia": armature,
            "spring_mount": rests if sprung else None,
        }

    def _names(self, body: str) -> tuple[str, ...]:
        ball = tuple(f"{body}.Q{k}" for k in range(4))
        own = tuple(joint.name for joint in self.joints if joint.type in ("slide", "hinge"))
        if self.joint.facts.quaternion == 0:
            return ball
        if self.joint.span == "all":
            return (*(own or tuple(f"{body}.{axis}" for axis in "xyz")), *ball)
        return own

    @property
    def start(self) -> tuple[float, ...]:
        """The coordinates at the pose that the file gives the body."""
        if self.joint.facts.quaternion is not None:
            return tuple(map(float, self.joint.neutral()))
        return tuple(joint.ref for joint in self.joints)


def read_joint(source: Source, j: int, body: str, before: int) -> FileJoint:
    """Joint j, of a body, after some others; ModelError for one that cannot be."""
    m: Any = source.m
    joint_type, at, dof = TYPES[int(m.jnt_type[j])], int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    single, free = joint_type in ("slide", "hinge"), joint_type == "free"
    unnamed = f"{body}.{UNNAMED[joint_type]}{before + 1 if before else ''}" if joint_type in UNNAMED else body
    given = source.name("joint", j)
    passive = float(m.jnt_stiffness[j]), float(m.dof_damping[dof]), float(m.dof_armature[dof])
    friction, limited = float(m.dof_frictionloss[dof]), bool(m.jnt_limited[j])
    for key, value in (("stiffness", passive[0]), ("damping", passive[1]), ("frictionloss", friction)):
        if value < 0:
            source.complain("joint", j, f"{key} must not be negative, not {value:g}")
    if friction and not single:
        source.note("joint", j, f"frictionloss of a {joint_type} joint")
    if free and limited:
        source.note("joint", j, "limits of a free joint; nothing holds it")
    ends = float(m.jnt_range[j, 0]), float(m.jnt_range[j, 1])
    return FileJoint(
        j,
        given,
        given or unnamed,
        joint_type,
        (0.0, 0.0, 0.0) if free else tuple(map(float, m.jnt_pos[j])),
        unit_axis(tuple(map(float, m.jnt_axis[j]))) if single else Z,
        float(m.qpos0[at]) if single else 0.0,
        passive,
        float(m.qpos_spring[at]) if single else 0.0,
        ends if (limited or any(ends)) and not free else None,
        limited and not free,
        friction if single else 0.0,
        float(m.jnt_margin[j]),
        Softness.of(source, "jnt", j, word="joint") if limited else Softness(),
        float(m.dof_invweight0[dof]),
    )


# ---- from rows of joints to joints of ours -----------------------------------------------------------------


def links_of(joints: Sequence[FileJoint]) -> list[Link]:
    """The joints of a body as joints of ours, in order."""
    rows: list[list[FileJoint]] = []
    for joint in joints:
        if rows and _fits(rows[-1], joint):
            rows[-1].append(joint)
        else:
            rows.append([joint])
    return [Link(tuple(row), _joint(row), _point(row)) for row in rows]


def _fits(row: list[FileJoint], joint: FileJoint) -> bool:
    """Whether one joint of ours holds the row and one joint more."""
    types = [other.type for other in row]
    if joint.passive != row[0].passive or joint.type == "free" or {"free", "ball"} & set(types):
        return False
    if joint.type == "ball":
        plain = [(other.axis, other.ref) for other in row] == [(X, 0.0), (Y, 0.0), (Z, 0.0)]
        return plain and types == ["slide"] * 3 and not (joint.passive[0] and any(other.rest for other in row))
    if joint.type == "slide":
        return "hinge" not in types and len(row) < 3
    turns = [other for other in row if other.type == "hinge"]
    return len(turns) < 3 and all(other.point == joint.point for other in turns)


def _joint(row: list[FileJoint]) -> Joint:
    types = [joint.type for joint in row]
    if types[-1] == "free" or (types[-1] == "ball" and len(row) > 1):
        return FloatingJoint()
    if types[-1] == "ball":
        return SphericalJoint()
    if not any(joint.ref for joint in row):
        own = _own(row, types)
        if own is not None:
            return own
    axes = [Axis(joint.axis, k, Linear(1.0, -joint.ref + 0.0)) for k, joint in enumerate(row)]
    turns = tuple(axis for axis, joint_type in zip(axes, types, strict=True) if joint_type == "hinge")
    slides = tuple(axis for axis, joint_type in zip(axes, types, strict=True) if joint_type == "slide")
    units = tuple("m" if joint_type == "slide" else "rad" for joint_type in types)
    return CustomJoint(tuple(joint.name for joint in row), turns, slides, units)


def _own(row: list[FileJoint], types: list[str]) -> Joint | None:
    """A joint type of its own for axes that have one; None otherwise."""
    axes = [joint.axis for joint in row]
    if types == ["hinge"]:
        return RevoluteJoint(axes[0])
    if types == ["slide"]:
        return PrismaticJoint(axes[0])
    if types == ["hinge"] * 2 and float(np.linalg.norm(np.cross(axes[0], axes[1]))) > 1e-9:
        return UniversalJoint(*axes)
    if types == ["hinge"] * 3 and not any(row[0].passive[:2]) and all(axis in LETTERS for axis in axes):
        sequence = "".join(LETTERS[axis] for axis in axes)
        return EulerJoint(sequence) if sequence[0] != sequence[1] != sequence[2] else None
    return None


def _point(row: list[FileJoint]) -> Array:
    """(3,) [m] the point about which a row turns; slides and free joints need none."""
    return np.array(row[-1].point if row[-1].type in ("hinge", "ball") else (0.0, 0.0, 0.0))


# --------------------------------------------------------------------------------------------------------------
#
# Bodies, geoms and sites.


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


@frozen
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


@frozen
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
