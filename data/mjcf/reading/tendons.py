"""Tendons: muscles, springs, friction and limits along paths."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from myoquat.core import Array
from myoquat.data.mjcf.source import Part, Source
from myoquat.joints import quaternion_from_matrix, rotation_matrix
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.muscle import Muscle, MusclePath, PathPoint, Pulley, Wrap, WrapCylinder, WrapSphere, function_path
from myoquat.muscle.laws import AffinePath, ForceLaw, MujocoMuscle, PathFriction, PathLimit, PathSpring, SlackSpring

from .actuators import Drive, Drives
from .bodies import GROUND, Skeleton, narrowed, parts_along, tendon_name
from .softness import Softness

# --------------------------------------------------------------------------------------------------------------
#
# Fixed tendons, linear combinations of the coordinates of joints, as paths whose length is that plus an offset.


Combination = dict[str, float]  # coefficients by coordinate
FREE_REACH = 100.0  # [rad, m] of a coordinate without a range, 16 turns


def combinations_of(skeleton: Skeleton) -> dict[str, Combination]:
    """The coefficients of all <fixed> tendons by coordinate, by the tendons' names. ModelError for one whose
    coefficients are all zero."""
    combinations = {}
    for tendon in skeleton.source.parts("tendon"):
        found: Combination = {}
        for part in parts_along(tendon):
            if part.type == "joint":
                name = skeleton.joints[part.objid].coordinate
                found[name] = found.get(name, 0.0) + part.prm
        if found and not any(found.values()):
            tendon.complain("a fixed tendon needs a joint whose coef is not zero")
        if found:
            combinations[tendon_name(tendon)] = {name: factor for name, factor in found.items() if factor}
    return combinations


def length_at(combination: Mapping[str, float], coordinates: Mapping[str, float]) -> float:
    """A combination of coordinates by their values."""
    return sum(coefficient * coordinates[name] for name, coefficient in combination.items())


def offset_of(combination: Mapping[str, float], skeleton: Skeleton) -> float:
    """A power of two above twice the greatest magnitude of the combination in the ranges of the coordinates. Where one
    has no range, in 100 rad or m."""
    reach = 0.0
    for name, coefficient in combination.items():
        joint = skeleton.singles[name]
        ends = joint.range or (-FREE_REACH, FREE_REACH)
        reach += abs(coefficient) * max(abs(x) for x in (*ends, joint.ref, 1.0))
    return 2.0 ** math.ceil(math.log2(2 * reach)) if math.isfinite(reach) else math.inf


def linear_path(combination: Mapping[str, float], offset: float) -> MusclePath:
    """A path whose length is the combination plus the offset."""
    names = tuple(combination)
    coefficients = (offset, *(combination[name] for name in reversed(names)))
    return MusclePath(function_path(names, MultivariatePolynomial(len(names), 1, coefficients), GROUND))


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
SURFACES = ("sphere", "cylinder")


def used_by_tendons(source: Source) -> tuple[set[int], set[int]]:
    """The numbers of the sites and of the geoms that tendons run over."""
    wraps = [wrap for tendon in source.parts("tendon") for wrap in parts_along(tendon)]
    around = [wrap for wrap in wraps if wrap.type in SURFACES]
    sites = {wrap.objid for wrap in wraps if wrap.type == "site"} | {round(wrap.prm) for wrap in around}
    return sites, {wrap.objid for wrap in around}  # -1 for a surface without a side site is the number of none


def read_tendons(skeleton: Skeleton, drives: Drives, wrapping: str) -> tuple[Muscle, ...]:
    """All tendons as muscles, and the actuators of joints whose laws only muscles have, along paths that are linear in
    a coordinate. What a path or a law of ours cannot hold is noted.

    The actuators, the spring, the friction and the limit of a tendon act along one path."""
    muscles: list[Muscle] = []
    for tendon in skeleton.source.parts("tendon"):
        name, offset = tendon_name(tendon), 0.0
        combination = skeleton.combinations.get(name)
        if combination is not None:
            offset = offset_of(combination, skeleton)
            path = linear_path(combination, offset)
        else:
            path = _path(tendon, skeleton, wrapping)
        along = [_driven(name, path, drive, offset) for drive in drives.tendons.get(name, ())]
        friction = tendon.frictionloss
        if friction < 0:
            tendon.complain(f"frictionloss must not be negative, not {friction:g}")
        dry = PathFriction(friction, SLIP_SPEED) if friction else None
        passive = (_spring(tendon, combination is not None), dry, _limit(tendon))
        along += [Muscle(name, path, on_offset_path(law, offset)) for law in passive if law is not None]
        if not along:
            unread = combination is None and tendon.index in drives.driven
            if drives.count and combination is None and not unread:
                tendon.source.idle.append(name)
            along = [Muscle(name, path, None if unread else IDLE)]
        muscles += [along[0], *(replace(muscle, name=f"{name}_{k}") for k, muscle in enumerate(along[1:], start=2))]
    for name, (joint, sign, drive) in drives.joints.items():
        unused = f"{name}_actuator" if any(muscle.name == name for muscle in muscles) else name
        offset = offset_of({joint: sign}, skeleton)
        muscles.append(_driven(unused, linear_path({joint: sign}, offset), drive, offset))
    return tuple(muscles)


def _driven(name: str, path: MusclePath, drive: Drive, offset: float) -> Muscle:
    return Muscle(name, path, on_offset_path(drive.law, offset), drive.activation, drive.dynamics)


def _spring(tendon: Part, fixed: bool) -> ForceLaw | None:
    """A spring that is slack between two lengths, and a damper."""
    stiffness, damping, (low, high) = tendon.stiffness, tendon.damping, tendon.lengthspring
    if not stiffness and not damping:
        return None
    if fixed:
        return SlackSpring(stiffness, low, high, damping)
    if low <= 0 < high and not damping:
        return PathSpring(stiffness, high)
    return SlackSpring(stiffness, max(low, 0.0), max(high, 0.0), damping)


def _limit(tendon: Part) -> PathLimit | None:
    """The law of a tendon's limit; None for a tendon without, or that nothing moves."""
    if not tendon.limited or tendon.invweight0 <= 0:
        return None
    softness = Softness.of(tendon, "_lim")
    stiffness, damping = softness.spring(tendon.invweight0)
    return PathLimit(stiffness, *narrowed(tendon), damping, softness.onset)


# ---- paths -------------------------------------------------------------------------------------------------


def _path(tendon: Part, skeleton: Skeleton, wrapping: str) -> MusclePath:
    """The points of a tendon, what it wraps around between them, and its pulleys. `wrapping`: the rule on which side
    it passes surfaces."""
    points: list[PathPoint] = []
    around: list[tuple[Wrap, int, int]] = []  # surfaces, each on the piece, or the pieces in a row, between two points
    pulleys: list[Pulley] = []
    pending: Wrap | None = None
    for part in parts_along(tendon):
        end = len(points)
        if part.type == "pulley":
            pulleys.append(Pulley(end, part.prm))
        elif part.type != "site":
            pending = _surface(tendon, part, skeleton, wrapping)
        else:
            points.append(skeleton.sites[part.objid])
            if pending is not None:
                goes_on = bool(around) and around[-1][::2] == (pending, end - 1)
                around.append((pending, around.pop()[1] if goes_on else end - 1, end))
            pending = None
    whole = 0, len(points) - 1
    wraps = (wrap if (start, end) == whole else replace(wrap, points=(start, end)) for wrap, start, end in around)
    return MusclePath(tuple(points), tuple(wraps), tuple(pulleys))


def _surface(tendon: Part, part: Part, skeleton: Skeleton, wrapping: str) -> Wrap | None:
    """The surface of a geom, on the side of its side site or inside; None, noted, for a site on another body."""
    geom = skeleton.geoms[part.objid]
    body, rule, quadrant, Q = skeleton.names[geom.bodyid], "shortest", "all", np.array(geom.quat)
    if part.prm >= 0:
        site = skeleton.sites[round(part.prm)]
        if site.body != body:
            tendon.note("a side site on another body")
            return None
        rule, side = wrapping, rotation_matrix(Q).T @ np.subtract(site.position, geom.pos)
        if float(np.linalg.norm(side)) < geom.size[0]:
            rule = "inside" if wrapping == "shortest" else "mujoco_inside"
        else:
            quadrant, Q = _quadrant(side * ([1.0, 1.0, 0.0] if geom.type == "cylinder" else 1.0), Q)
            if geom.type == "sphere" and wrapping == "mujoco":
                rule = "shortest"  # that of MuJoCo 4 differs for cylinders alone
    return {"sphere": WrapSphere, "cylinder": WrapCylinder}[geom.type](
        body=body,
        position=geom.pos,
        orientation=Q,
        quadrant=quadrant,
        rule=rule,
        radius=geom.size[0],
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
    return "+x", quaternion_from_matrix(rotation_matrix(Q) @ turned)
