"""Joints: the rows of joints of a body as joints of this package, in series where one cannot represent them.

MuJoCo applies the joints of a body in the order of the file, each in the frame that those before it have reached. One
joint here represents a ball, a free joint, or up to three slides and then up to three hinges about one point. The same
spring, damper and armature must act in all of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.data.mjcf.source import Source
from myoquat.joints import (
    Axis,
    CustomJoint,
    EulerJoint,
    FloatingJoint,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
)
from myoquat.joints.functions import Linear
from myoquat.joints.types.base import unit_axis
from myoquat.muscle.coordinates import Coordinate

__all__ = ["FileJoint", "Link", "links_of", "read_joint"]

TYPES = ("free", "ball", "slide", "hinge")
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
UNNAMED = {"hinge": "angle", "slide": "position"}  # names of the coordinates of joints without a name
LETTERS = {X: "X", Y: "Y", Z: "Z"}


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
