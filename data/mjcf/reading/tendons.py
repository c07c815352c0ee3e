"""Tendons and the limits of joints and tendons: muscles, springs, friction and limits along paths."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.data.mjcf.reading.actuators import Drive, Drives
from myoquat.data.mjcf.reading.bodies import GROUND, Geom, Skeleton
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.data.mjcf.source import Source, rows
from myoquat.joints import quaternion_from_matrix, rotation_matrix
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.muscle import (
    CoordinateLimit,
    HalfPlaneCylinder,
    HalfPlaneSphere,
    InsideCylinder,
    InsideSphere,
    MujocoInsideCylinder,
    MujocoInsideSphere,
    Muscle,
    MusclePath,
    PathPoint,
    Pulley,
    SideCylinder,
    Wrap,
    WrapCylinder,
    WrapSphere,
    function_path,
)
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.laws import AffinePath, ForceLaw, MujocoMuscle, PathFriction, PathLimit, PathSpring, SlackSpring

__all__ = [
    "SLIP_SPEED",
    "Combination",
    "Used",
    "combinations_of",
    "length_at",
    "on_offset_path",
    "read_ball_limits",
    "read_limits",
    "read_tendons",
]


# ---- Limits of joints and tendons as forces that set in where a range is left -------------------------------------


MIN_ANGLE = 1e-6  # [rad] at which a limit of a ball joint acts, whatever its margin


def read_limits(skeleton: Skeleton) -> tuple[CoordinateLimit, ...]:
    """A limit for every hinge and slide that has one, from its margin on. Its stiffness and damping are those of the
    joint's soft constraint (`Softness.spring`); one that cannot move has none."""
    found = []
    for joint in skeleton.limited:
        assert joint.range is not None
        low, high = joint.range
        if joint.mobility <= 0:
            continue
        stiffness, damping = joint.softness.spring(joint.mobility)
        low, high = _narrowed(low, high, joint.margin)
        found.append(
            CoordinateLimit(
                f"{joint.name}_limit", joint.name, low, high, stiffness, stiffness, joint.softness.onset, damping
            )
        )
    return tuple(found)


def read_ball_limits(skeleton: Skeleton) -> tuple[RotationLimit, ...]:
    """A limit for every ball joint that has one, of the angle of its rotation vector: the greater end of the file's
    range. One that allows every rotation is none."""
    found = []
    for body, joint in skeleton.limited_balls:
        assert joint.range is not None
        upper = max(joint.range)
        if joint.mobility <= 0 or upper - joint.margin > math.pi:
            continue
        stiffness, damping = joint.softness.spring(joint.mobility)
        upper = max(upper - joint.margin, MIN_ANGLE)
        found.append(RotationLimit(f"{joint.name}_limit", body, upper, stiffness, joint.softness.onset, damping))
    return tuple(found)


def _narrowed(low: float, high: float, margin: float) -> tuple[float, float]:
    """The range from whose ends a limit acts; its middle where the margin leaves nothing."""
    middle = (low + high) / 2
    return min(low + margin, middle), max(high - margin, middle)


def _path_limit(source: Source, i: int) -> PathLimit | None:
    """The law of a tendon's limit; None for a tendon without, or that nothing moves."""
    m, mobility = source.m, float(source.m.tendon_invweight0[i])
    low, high = rows(m, "tendon_range", i)
    if not m.tendon_limited[i] or mobility <= 0:
        return None
    softness = Softness.of(source, "tendon", i, "_lim")
    stiffness, damping = softness.spring(mobility)
    return PathLimit(stiffness, *_narrowed(low, high, float(m.tendon_margin[i])), damping, softness.onset)


# --------------------------------------------------------------------------------------------------------------
#
# Fixed tendons, linear combinations of the coordinates of joints, as paths whose length is that plus an offset.


JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(1, 6)  # what a tendon runs over
Combination = dict[str, float]  # coefficients by coordinate
FREE_REACH = 100.0  # [rad, m] of a coordinate without a range, 16 turns


def combinations_of(source: Source, skeleton: Skeleton) -> dict[str, Combination]:
    """The coefficients of all <fixed> tendons by coordinate, by the tendons' names. ModelError for one whose
    coefficients are all zero."""
    m, combinations = source.m, {}
    for i in range(m.ntendon):
        parts = _parts(m, i)
        if not parts or int(m.wrap_type[parts[0]]) != JOINT:
            continue
        found: Combination = {}
        for k in parts:
            name = skeleton.joints[int(m.wrap_objid[k])]
            found[name] = found.get(name, 0.0) + float(m.wrap_prm[k])
        if not any(found.values()):
            source.complain("tendon", i, "a fixed tendon needs a joint whose coef is not zero")
        combinations[tendon_name(source, i)] = {name: coefficient for name, coefficient in found.items() if coefficient}
    return combinations


def tendon_name(source: Source, i: int) -> str:
    """The name of a tendon, 'tendon_<number>' without one."""
    return source.name("tendon", i) or f"tendon_{i + 1}"


def _parts(m: Any, i: int) -> range:
    """The numbers of what a tendon runs over."""
    first = int(m.tendon_adr[i])
    return range(first, first + int(m.tendon_num[i]))


def length_at(combination: Mapping[str, float], coordinates: Mapping[str, float]) -> float:
    """A combination of coordinates by their values."""
    return sum(coefficient * coordinates[name] for name, coefficient in combination.items())


def offset_of(combination: Mapping[str, float], skeleton: Skeleton) -> float:
    """A power of two above twice the greatest magnitude of the combination in the ranges of the coordinates. Where one
    has no range, in 100 rad or m."""
    ranges = {c.name: c.range for c in skeleton.coordinates}
    reach = 0.0
    for name, coefficient in combination.items():
        ends = ranges.get(name) or (-FREE_REACH, FREE_REACH)
        reach += abs(coefficient) * max(abs(x) for x in (*ends, skeleton.refs[name], 1.0))
    return 2.0 ** math.ceil(math.log2(2 * reach)) if math.isfinite(reach) else math.inf


def linear_path(combination: Mapping[str, float], offset: float) -> Any:
    """A path whose length is the combination plus the offset."""
    names = tuple(combination)
    coefficients = (offset, *(combination[name] for name in reversed(names)))
    return function_path(names, MultivariatePolynomial(len(names), 1, coefficients), GROUND)


def on_offset_path(law: ForceLaw, offset: float) -> ForceLaw:
    """The law of the length without the offset, as a law of the length with it."""
    if isinstance(law, AffinePath):
        return replace(law, gain_0=law.gain_0 - law.gain_1 * offset, bias_0=law.bias_0 - law.bias_1 * offset)
    if isinstance(law, (MujocoMuscle, PathLimit, SlackSpring)):
        ends = {key: getattr(law, key) + offset for key in ("shortest_length", "longest_length")}
        return replace(law, **ends)
    return law  # of the speed, or of the activation alone


# --------------------------------------------------------------------------------------------------------------
#
# Tendons as muscles: sites as points, spheres and cylinders as surfaces, fixed ones as functions of coordinates.


SLIP_SPEED = 1e-3  # [m/s] below which dry friction is less than its greatest force
IDLE = SlackSpring(0.0, 0.0, 0.0)  # the law of a tendon that has a length and no force
ALIGNED_SINE = 1e-9  # sine of the angle by which a site may miss an axis of its surface


@frozen
class Used:
    """The numbers of the sites and geoms that tendons run over."""

    sites: frozenset[int]
    geoms: frozenset[int]

    @classmethod
    def of(cls, m: Any) -> "Used":
        """Those of all tendons."""
        sites, geoms = set(), set()
        for wrap_type, i, side in zip(m.wrap_type, m.wrap_objid, m.wrap_prm, strict=True):
            if wrap_type == SITE:
                sites.add(int(i))
            elif wrap_type in (SPHERE, CYLINDER):
                geoms.add(int(i))
                sites |= {round(float(side))} if side >= 0 else set()
        return cls(frozenset(sites), frozenset(geoms))


def read_tendons(source: Source, skeleton: Skeleton, drives: Drives, wrapping: str) -> tuple[Muscle, ...]:
    """All tendons as muscles, and the actuators of joints whose laws only muscles have, along paths that are linear in
    a coordinate. What a path or a law of ours cannot hold is noted.

    The actuators, the spring, the friction and the limit of a tendon act along one path."""
    muscles: list[Muscle] = []
    for i in range(source.m.ntendon):
        muscles += _muscles(i, source, skeleton, drives, wrapping)
    for name, (joint, sign, drive) in drives.joints.items():
        offset = offset_of({joint: sign}, skeleton)
        path = MusclePath(linear_path({joint: sign}, offset))
        muscles.append(_driven(_unused(name, muscles), path, drive, offset))
    return tuple(muscles)


def _unused(name: str, muscles: Sequence[Muscle]) -> str:
    taken = {muscle.name for muscle in muscles}
    return name if name not in taken else f"{name}_actuator"


def _muscles(i: int, source: Source, skeleton: Skeleton, drives: Drives, wrapping: str) -> list[Muscle]:
    name, offset = tendon_name(source, i), 0.0
    combination = skeleton.combinations.get(name)
    if combination is not None:
        offset = offset_of(combination, skeleton)
        path = MusclePath(linear_path(combination, offset))
    else:
        path = MusclePath(*_path(i, source, skeleton, wrapping))
    found = [_driven(name, path, drive, offset) for drive in drives.tendons.get(name, ())]
    passive = (_spring(source, i, combination is not None), _friction(source, i), _path_limit(source, i))
    found += [Muscle(name, path, on_offset_path(law, offset)) for law in passive if law is not None]
    if not found:
        unread = combination is None and i in drives.driven
        source.idle += [name] if drives.count and combination is None and not unread else []
        found = [Muscle(name, path, None if unread else IDLE)]
    return [found[0], *(replace(muscle, name=f"{name}_{k}") for k, muscle in enumerate(found[1:], start=2))]


def _driven(name: str, path: MusclePath, drive: Drive, offset: float) -> Muscle:
    return Muscle(name, path, on_offset_path(drive.law, offset), drive.activation, drive.dynamics)


def _friction(source: Source, i: int) -> PathFriction | None:
    friction = float(source.m.tendon_frictionloss[i])
    if friction < 0:
        source.complain("tendon", i, f"frictionloss must not be negative, not {friction:g}")
    return PathFriction(friction, SLIP_SPEED) if friction else None


def _spring(source: Source, i: int, fixed: bool) -> ForceLaw | None:
    """A spring that is slack between two lengths, and a damper."""
    m = source.m
    stiffness, damping = float(m.tendon_stiffness[i]), float(m.tendon_damping[i])
    low, high = rows(m, "tendon_lengthspring", i)
    if not stiffness and not damping:
        return None
    if fixed:
        return SlackSpring(stiffness, low, high, damping)
    if low <= 0 < high and not damping:
        return PathSpring(stiffness, high)
    return SlackSpring(stiffness, max(low, 0.0), max(high, 0.0), damping)


# ---- paths -------------------------------------------------------------------------------------------------


def _path(
    i: int, source: Source, skeleton: Skeleton, wrapping: str
) -> tuple[tuple[PathPoint, ...], tuple[Wrap, ...], tuple[Pulley, ...]]:
    """The points of a tendon, what it wraps around between them, and its pulleys. `wrapping`: the rule on which side
    it passes surfaces."""
    m: Any = source.m
    points: list[PathPoint] = []
    wraps: list[Wrap] = []
    pulleys: list[Pulley] = []
    before: int | None = None  # the surface, if any, on the piece that ends in the last point
    pending: Wrap | None = None
    for k in _parts(m, i):
        wrap_type, number, prm = int(m.wrap_type[k]), int(m.wrap_objid[k]), float(m.wrap_prm[k])
        if wrap_type == SITE:
            points.append(skeleton.sites[number])
            before = None if pending is None else _wrap_piece(wraps, before, pending, len(points) - 1)
            pending = None
        elif wrap_type == PULLEY:
            before = None
            pulleys.append(Pulley(len(points), prm))
        else:
            pending = _surface(source, i, skeleton, wrapping, (number, round(prm) if prm >= 0 else None))
    whole = (0, len(points) - 1)
    freed = tuple(replace(wrap, points=None) if wrap.points == whole else wrap for wrap in wraps)
    return tuple(points), freed, tuple(pulleys)


def _wrap_piece(wraps: list[Wrap], before: int | None, wrap: Wrap, end: int) -> int:
    """Add a surface on the piece that ends in point `end`, or extend that of the piece before to it. `before` is the
    number of that surface, if the piece before has one. Returns the surface's number."""
    if before is not None and wraps[before].surface == wrap:
        first, _ = wraps[before].points or (end - 2, end - 1)
        wraps[before] = replace(wraps[before], points=(first, end))
        return before
    wraps.append(replace(wrap, points=(end - 1, end)))
    return len(wraps) - 1


def _surface(source: Source, i: int, skeleton: Skeleton, wrapping: str, numbers: tuple[int, int | None]) -> Wrap | None:
    """The surface of a geom, on the side of its side site or inside; None, noted, for a site on another body. numbers:
    of the geom and of its side site."""
    geom = skeleton.geoms[numbers[0]]
    quadrant, Q = "all", geom.place.Q
    if numbers[1] is not None:
        site = skeleton.sites[numbers[1]]
        if site.body != geom.body:
            source.note("tendon", i, "a side site on another body")
            return None
        side = rotation_matrix(Q).T @ (np.array(site.position) - geom.place.p)
        if float(np.linalg.norm(side)) < geom.sizes[0]:
            return _wrap(geom, INNER_SURFACES[wrapping][geom.type], "all", geom.place.Q)
        side = side * ([1.0, 1.0, 0.0] if geom.type == "cylinder" else 1.0)
        quadrant, Q = _quadrant(side, Q)
    rule = "shortest" if quadrant == "all" else wrapping
    return _wrap(geom, OUTER_SURFACES[rule][geom.type], quadrant, Q)


OUTER_SURFACES: dict[str, dict[str, Any]] = {
    "shortest": {"sphere": WrapSphere, "cylinder": WrapCylinder},
    "mujoco": {"sphere": WrapSphere, "cylinder": SideCylinder},
    "mujoco3": {"sphere": HalfPlaneSphere, "cylinder": HalfPlaneCylinder},
}
INNER_SURFACES: dict[str, dict[str, Any]] = {
    "shortest": {"sphere": InsideSphere, "cylinder": InsideCylinder},
    "mujoco": {"sphere": MujocoInsideSphere, "cylinder": MujocoInsideCylinder},
    "mujoco3": {"sphere": MujocoInsideSphere, "cylinder": MujocoInsideCylinder},
}


def _wrap(geom: Geom, surface: Any, quadrant: str, orientation: Array) -> Wrap:
    return surface(
        body=geom.body,
        position=geom.place.position,
        orientation=tuple(float(x) for x in orientation),
        quadrant=quadrant,
        radius=geom.sizes[0],
        name=geom.name,
    )


def _quadrant(side: Array, Q: Array) -> tuple[str, Array]:
    """The quadrant for a side (3,) in the surface's frame, and the orientation of that frame. Where the side is along
    none of its axes, the frame is turned so that it is along x, about z as far as possible."""
    k = int(np.argmax(np.abs(side)))
    across = np.delete(side, k)
    if float(np.linalg.norm(across)) <= ALIGNED_SINE * abs(side[k]):
        return f"{'+' if side[k] > 0 else '-'}{'xyz'[k]}", Q
    x = side / np.linalg.norm(side)
    z = np.array([0.0, 0.0, 1.0]) - x[2] * x
    z = z / np.linalg.norm(z)
    turned = np.stack([x, np.cross(z, x), z], axis=1)
    return "+x", np.asarray(quaternion_from_matrix(np.asarray(rotation_matrix(Q)) @ turned))
