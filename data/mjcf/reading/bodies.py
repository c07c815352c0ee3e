"""The tree of a compiled model: its bodies and joints as ours, with the geoms and sites on them."""

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.data.mjcf.source import Part, Source, has_mass
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
    quaternion_conjugate,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.joints.functions import Linear
from myoquat.joints.types.base import unit_axis
from myoquat.joints.vectors import congruent
from myoquat.muscle import CoordinateLimit, PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import CoordinateFriction, GravityCompensation, PassiveForce, RotationLimit

from .softness import Softness

# --------------------------------------------------------------------------------------------------------------
#
# Joints: the rows of joints of a body as joints of this package, in series where one cannot represent them.
#
# MuJoCo applies the joints of a body in the order of the file, each in the frame that those before it have reached.
# One joint here represents a ball, a free joint, or up to three slides and then up to three hinges about one point. The
# same spring, damper and armature must act in all of them.


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
UNNAMED = {"hinge": "angle", "slide": "position"}  # names of the coordinates of joints without a name
LETTERS = {X: "X", Y: "Y", Z: "Z"}


class FileJoint(Part):
    """A joint of a body; ModelError for one that cannot be.

    coordinate  the name of its coordinate: its own, or one that is made up of the body's
    single      whether it is a hinge or a slide, which have one coordinate
    axis        of a hinge or a slide, in the body
    ref, rest   the coordinate at which it does not move the body, and that where its spring rests
    range       of its coordinate or, of a ball, of its angle; None without one
    limited     whether something holds it in that range
    dof         the first of its degrees of freedom
    passive     (stiffness, damping, armature)
    """

    def __init__(self, source: Source, index: int, bodies: Sequence[str]) -> None:
        super().__init__(source, "joint", index)
        m, part, body, free = source.m, Part(source, "joint", index), bodies[self.bodyid], self.type == "free"
        before = index - int(m.body_jntadr[self.bodyid])
        self.single, self.dof = self.type in UNNAMED, Part(source, "dof", self.dofadr)
        unnamed = f"{body}.{UNNAMED[self.type]}{before + 1 if before else ''}" if self.single else body
        self.coordinate: str = self.name or unnamed
        self.axis: tuple[float, float, float] = unit_axis(part.axis) if self.single else Z
        self.ref, self.rest = (float(q[self.qposadr]) if self.single else 0.0 for q in (m.qpos0, m.qpos_spring))
        self.check("ref", self.ref)
        self.check("springref", self.rest)
        self.passive = self.stiffness, self.dof.damping, self.dof.armature
        friction = self.dof.frictionloss
        for key, value in (("stiffness", self.stiffness), ("damping", self.dof.damping), ("frictionloss", friction)):
            if value < 0:
                self.complain(f"{key} must not be negative, not {value:g}")
        if friction and not self.single:
            self.note(f"frictionloss of a {self.type} joint")
        if free and part.limited:
            self.note("limits of a free joint; nothing holds it")
        self.limited = bool(part.limited) and not free
        self.range: Any = part.range if (part.limited or any(part.range)) and not free else None


def rows_of(joints: Sequence[FileJoint]) -> list[list[FileJoint]]:
    """The joints of a body in order, in rows that are one joint of ours each."""
    rows: list[list[FileJoint]] = []
    for joint in joints:
        if rows and _fits(rows[-1], joint):
            rows[-1].append(joint)
        else:
            rows.append([joint])
    return rows


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
    return len(turns) < 3 and all(other.pos == joint.pos for other in turns)


def _joint(row: list[FileJoint]) -> Joint:
    types, axes = [joint.type for joint in row], [joint.axis for joint in row]
    if types[-1] == "free" or (types[-1] == "ball" and len(row) > 1):
        return FloatingJoint()
    if types[-1] == "ball":
        return SphericalJoint()
    if not any(joint.ref for joint in row):  # a type of its own for axes that have one
        if types == ["hinge"]:
            return RevoluteJoint(axes[0])
        if types == ["slide"]:
            return PrismaticJoint(axes[0])
        if types == ["hinge"] * 2 and float(np.linalg.norm(np.cross(axes[0], axes[1]))) > 1e-9:
            return UniversalJoint(*axes)
        if types == ["hinge"] * 3 and not any(row[0].passive[:2]) and all(axis in LETTERS for axis in axes):
            sequence = "".join(LETTERS[axis] for axis in axes)
            if sequence[0] != sequence[1] != sequence[2]:
                return EulerJoint(sequence)
    moved = [Axis(joint.axis, k, Linear(1.0, -joint.ref + 0.0)) for k, joint in enumerate(row)]
    slides = types.count("slide")
    units = tuple("m" if joint_type == "slide" else "rad" for joint_type in types)
    return CustomJoint(tuple(joint.coordinate for joint in row), tuple(moved[slides:]), tuple(moved[:slides]), units)


# --------------------------------------------------------------------------------------------------------------
#
# Bodies, geoms and sites.


GROUND = "world"
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
SLIP_SPEEDS = {"hinge": 0.01, "slide": 1e-3}  # [rad/s, m/s] below which dry friction is not at its greatest
MIN_ANGLE = 1e-6  # [rad] at which a limit of a ball joint acts, whatever its margin
ORIGIN, UNTURNED = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class Skeleton:
    """The bodies of a model in the order of the file, depth first, which is MuJoCo's order of coordinates, and what
    belongs to them. ModelError for a body that cannot be.

    start         the coordinates of the pose of the file
    names         of the bodies, by their numbers; likewise joints, geoms, sites and the axes (3, 3) of these
    singles       hinges and slides by name
    balls         the two bodies that ball joints connect, the child first, by the joints' names
    combinations  the coefficients of fixed tendons by coordinate, by the tendons' names
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bodies: list[Body] = []
        self.start: list[float] = []
        self.balls: dict[str, tuple[str, str]] = {}
        self.combinations: dict[str, dict[str, float]] = {}
        bodies = source.parts("body")[1:]
        given = [body.name for body in bodies]
        self._taken = {GROUND, *given}
        self._numbered: dict[str, int] = {}  # the last number that was tried after a name
        self.names = [GROUND, *(name or self.new_name("body") for name in given)]
        self.joints = [FileJoint(source, j, self.names) for j in range(source.m.njnt)]
        self.singles = {joint.coordinate: joint for joint in self.joints if joint.single}
        self.geoms = source.parts("geom")
        sites = source.parts("site")
        self.sites = [PathPoint(self.names[site.bodyid], site.pos) for site in sites]
        self.axes = [rotation_matrix(site.quat) for site in sites]
        for body in bodies:
            self._add(body)

    @property
    def refs(self) -> dict[str, float]:
        """The references of hinges and slides by name."""
        return {name: joint.ref for name, joint in self.singles.items()}

    def new_name(self, base: str) -> str:
        """A name that no body has."""
        name = None
        while name is None or name in self._taken:
            self._numbered[base] = self._numbered.get(base, 0) + 1
            name = f"{base}_{self._numbered[base]}"
        self._taken.add(name)
        return name

    def _add(self, body: Part) -> None:
        """The body on its joints. Massless bodies between the parent and the body carry joints away from the body's
        origin. They also carry joints in excess of those that one joint here holds."""
        name, parent, mass = self.names[body.index], self.names[body.parentid], _mass(body)
        p: Any = np.array(body.pos)
        Q, reached = body.quat, np.zeros(3)
        rows = rows_of(self.joints[body.jntadr : body.jntadr + body.jntnum])
        for k, row in enumerate(rows):
            joint = _joint(row)
            # the point about which it turns, which slides and free joints do not need
            point = np.array(row[-1].pos if row[-1].type in ("hinge", "ball") else ORIGIN)
            resting: dict[str, Any] = {}
            if row[0].type == "free":  # its coordinates are those of the world
                self.start += (*body.pos, *body.quat)
                resting = {"spring_mount": (*body.pos, *body.quat)} if row[0].passive[0] else {}
                p, Q = np.zeros(3), UNTURNED
            elif joint.facts.quaternion is None:
                self.start += [joint.ref for joint in row]
            else:
                self.start += joint.neutral().tolist()
            at: Any = p + rotation_matrix(Q) @ (point - reached)
            ends = k == len(rows) - 1 and not point.any()
            new = name if ends else self.new_name(name)
            stiffness, damping, armature = row[0].passive
            plain = tuple(f"{new}.{suffix}" for suffix in joint.coordinate_suffixes)
            stated = tuple(x.coordinate for x in row if x.single)
            names, rests = stated + plain[len(stated) :], tuple(x.rest for x in row)
            name_of_joint = row[-1].name if joint.span == "all" or len(row) == 1 else ""
            fields = {
                "joint": joint,
                "joint_name": "" if name_of_joint == new else name_of_joint,
                "coordinate_names": None if names == plain else names,
                "stiffness": stiffness,
                "damping": damping,
                "rotor_inertia": armature,
                "spring_mount": rests if stiffness > 0 and any(rests) and joint.nq == len(rests) else None,
            }
            fields |= resting | (mass if ends else {})
            self.bodies.append(Body(new, parent, position=at, orientation=Q, **fields))
            if row[-1].type == "ball":
                self.balls[row[-1].coordinate] = new, parent
            parent, p, Q, reached = new, np.zeros(3), UNTURNED, point
        if not rows or reached.any():
            self.bodies.append(Body(name, parent, FixedJoint(), p - rotation_matrix(Q) @ reached, Q, **mass))

    def with_shapes(self, surfaces: Container[int]) -> tuple[tuple[Body, ...], tuple[Shape, ...]]:
        """The bodies with their shapes, and those of the world. A geom that a tendon wraps around (`surfaces`), and
        that neither weighs nor touches anything, is a surface alone."""
        shapes: dict[str, list[Shape]] = {name: [] for name in self.names}
        for geom in self.geoms:
            body = self.names[geom.bodyid]
            weighs = geom.given is not None and has_mass(geom.given) and geom.type not in ("plane", "hfield")
            if geom.index in surfaces and not touches(geom) and not weighs:
                continue
            if geom.type in HALVED or geom.type == "mesh":
                shapes[body].append(_shape(geom))
            else:
                geom.note("shape of the world" if body == GROUND else geom.type)
        bodies = (replace(body, shapes=tuple(shapes.get(body.name, ()))) for body in self.bodies)
        return tuple(bodies), tuple(shapes[GROUND])

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """What the file says of the coordinates that have a range."""
        joints = [(name, joint) for name, joint in self.singles.items() if joint.range is not None]
        return tuple(Coordinate(name, joint.range, clamped=joint.limited) for name, joint in joints)

    @property
    def forces(self) -> list[PassiveForce]:
        """Dry friction of coordinates, and what carries the weight of bodies."""
        frictions = [
            CoordinateFriction(f"{name}_friction", name, joint.dof.frictionloss, SLIP_SPEEDS[joint.type])
            for name, joint in self.singles.items()
            if joint.dof.frictionloss
        ]
        bodies = zip(self.names, self.source.parts("body"), strict=True)
        return frictions + [
            GravityCompensation(f"{name}_gravcomp", name, body.gravcomp)
            for name, body in bodies
            if body.gravcomp and body.index
        ]

    def limits(self) -> tuple[tuple[CoordinateLimit, ...], tuple[RotationLimit, ...]]:
        """A limit for every hinge and slide that has one, from its margin on, and for every ball, of the angle of its
        rotation vector: the greater end of the file's range.

        Their stiffness and damping are those of the joint's soft constraint (`Softness.spring`). A joint that cannot
        move has none, nor a ball that may take every rotation."""
        axes, balls = [], []
        for joint in self.joints:
            if not joint.limited:
                continue
            softness, mobility, name = Softness.of(joint), joint.dof.invweight0, f"{joint.coordinate}_limit"
            if mobility <= 0:
                continue
            stiffness, damping = softness.spring(mobility)
            low, high = narrowed(joint)
            upper = max(joint.range) - joint.margin
            if joint.single:
                soft = stiffness, stiffness, softness.onset, damping
                axes.append(CoordinateLimit(name, joint.coordinate, low, high, *soft))
            elif upper <= math.pi:
                body, _ = self.balls[joint.coordinate]
                balls.append(RotationLimit(name, body, max(upper, MIN_ANGLE), stiffness, softness.onset, damping))
        return tuple(axes), tuple(balls)


def narrowed(part: Part) -> tuple[float, float]:
    """The range of a joint or tendon from whose ends a limit acts; its middle where the margin leaves nothing."""
    low, high = part.range
    middle = (low + high) / 2
    return min(low + part.margin, middle), max(high - part.margin, middle)


def _mass(body: Part) -> dict[str, Any]:
    """The fields of a Body for its mass. MuJoCo keeps principal moments; where the file has all six numbers, and the
    compiler has not corrected them, these are taken."""
    Q, moments = body.iquat, np.array([*body.inertia, 0.0, 0.0, 0.0])
    inertia = moments if Q[0] == 1.0 else congruent(rotation_matrix(Q), moments)
    given = None if body.given is None else np.array(body.given.fullinertia)
    if given is not None and np.abs(given - inertia).max() <= INERTIA_ROUND_OFF * moments.max():
        inertia = given
    return {"mass": body.mass, "center_of_mass": body.ipos, "inertia": inertia}


def tendon_name(tendon: Part) -> str:
    """The name of a tendon, 'tendon_<number>' without one."""
    return tendon.name or f"tendon_{tendon.index + 1}"


def parts_along(tendon: Part) -> list[Part]:
    """What a tendon runs over, in order."""
    return [Part(tendon.source, "wrap", tendon.adr + k) for k in range(tendon.num)]


# ---- geoms ---------------------------------------------------------------------------------------------------


def touches(geom: Part) -> bool:
    """Whether a geom collides with others."""
    return bool(geom.contype or geom.conaffinity)


def _shape(geom: Part) -> Shape:
    m, orientation, position, sizes, file = geom.source.m, geom.quat, geom.pos, (1.0, 1.0, 1.0), ""
    if geom.type == "mesh":
        # the compiler has moved its origin to the centre of mass, and turned its axes to the principal ones
        mesh = Part(geom.source, "mesh", geom.dataid)
        Q = quaternion_multiply(geom.quat, quaternion_conjugate(mesh.quat))
        position, orientation = geom.pos - rotation_matrix(Q) @ mesh.pos, Q
        file, start, paths = mesh.name, mesh.pathadr, bytes(m.paths)
        if file in geom.source.meshes:
            file = geom.source.meshes[file]
        elif start >= 0:  # else the mesh stands in the document
            file = paths[start : paths.index(b"\0", start)].decode("utf-8", "replace")
    else:
        halved = HALVED[geom.type]
        sizes = tuple(2 * x if half else x for x, half in zip(geom.size[: len(halved)], halved, strict=True))
    # single precision: the shortest decimal number is that of the file
    color = tuple(float(str(x)) for x in np.asarray(m.geom_rgba[geom.index], dtype=np.float32))
    return Shape(
        geom.type,
        sizes,
        position,
        orientation,
        purpose="collision" if touches(geom) else "hidden" if geom.group >= FIRST_HIDDEN_GROUP else "visual",
        file=file,
        name=geom.name,
        color=None if color == DEFAULT_COLOR else color,  # type: ignore[arg-type]
        material=m.mat(geom.matid).name if geom.matid >= 0 else "",
    )
