"""Tendons and the limits of joints and tendons: muscles, springs, friction and limits along paths."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Document, Values, elements_of
from myoquat.data.mjcf.reading.actuators import Drive, Drives
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.geoms import Geom
from myoquat.data.mjcf.reading.softness import Mobilities, Softness, given_mobility, read_softness
from myoquat.data.xml import Element, complain
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.joints.quaternion import quaternion_from_matrix, rotation_matrix
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.functional import function_path
from myoquat.muscle.laws import (
    AffinePath,
    ForceLaw,
    MujocoMuscle,
    PathActuator,
    PathFriction,
    PathLimit,
    PathSpring,
    SlackSpring,
)
from myoquat.muscle.limits import CoordinateLimit
from myoquat.muscle.path import Muscle, Pulley
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import (
    HalfPlaneCylinder,
    HalfPlaneSphere,
    InsideCylinder,
    InsideSphere,
    MujocoInsideCylinder,
    MujocoInsideSphere,
    SideCylinder,
    Wrap,
    WrapCylinder,
    WrapSphere,
)

__all__ = [
    "Combination",
    "Used",
    "combinations_of",
    "length_at",
    "on_offset_path",
    "path_limit",
    "read_ball_limits",
    "read_limits",
    "read_tendons",
]


# ---- Limits of joints and tendons as forces that set in where a range is left -------------------------------------


MIN_ANGLE = 1e-6  # [rad] at which a limit of a ball joint acts, whatever its margin


def read_limits(skeleton: Skeleton, mobilities: Mobilities) -> tuple[CoordinateLimit, ...]:
    """A limit for every hinge and slide that has one, from its margin on. Its stiffness and damping are those of the
    joint's soft constraint (`Softness.spring`); one that cannot move has none."""
    found = []
    for joint in skeleton.limited:
        assert joint.range is not None
        low, high = joint.range
        if low > high:
            complain(joint.element, f"range must be in order, not {low:g} and {high:g}")
        given = given_mobility(joint.element)
        mobility = mobilities.of_coordinate(joint.name) if given is None else given
        if mobility <= 0:
            continue
        stiffness, damping = joint.softness.spring(mobility)
        low, high = _narrowed(low, high, joint.margin)
        found.append(
            CoordinateLimit(
                f"{joint.name}_limit", joint.name, low, high, stiffness, stiffness, joint.softness.onset, damping
            )
        )
    return tuple(found)


def read_ball_limits(skeleton: Skeleton, mobilities: Mobilities) -> tuple[RotationLimit, ...]:
    """A limit for every ball joint that has one, of the angle of its rotation vector: the greater end of the file's
    range. One that allows every rotation is none."""
    found = []
    for body, joint in skeleton.limited_balls:
        assert joint.range is not None
        upper = max(joint.range)
        if joint.range[0] > joint.range[1] or upper <= 0:
            complain(joint.element, f"range of a ball joint must be 0 and a positive angle, not {joint.range}")
        given = given_mobility(joint.element)
        mobility = mobilities.of_rotation(body) if given is None else given
        if mobility <= 0 or upper - joint.margin > math.pi:
            continue
        stiffness, damping = joint.softness.spring(mobility)
        upper = max(upper - joint.margin, MIN_ANGLE)
        found.append(RotationLimit(f"{joint.name}_limit", body, upper, stiffness, joint.softness.onset, damping))
    return tuple(found)


def _narrowed(low: float, high: float, margin: float) -> tuple[float, float]:
    """The range from whose ends a limit acts; its middle where the margin leaves nothing."""
    middle = (low + high) / 2
    return min(low + margin, middle), max(high - margin, middle)


@dataclass(frozen=True)
class FreeRange:
    """The range of a tendon's length, from whose ends on its limit acts, and the softness of that."""

    low: float
    high: float
    softness: Softness


def read_path_limit(values: Values, limited: bool) -> FreeRange | None:
    """That of a tendon; None for a tendon without."""
    low, high = values.vector("range", (0.0, 0.0))
    margin, softness = values.number("margin", 0.0), read_softness(values, "limit")
    if not limited:
        return None
    if low > high:
        complain(values.element, f"range must be in order, not {low:g} and {high:g}")
    return FreeRange(*_narrowed(low, high, margin), softness)


def path_limit(bare: Muscle, free: FreeRange, element: Element, mobilities: Mobilities) -> PathLimit | None:
    """The law of a tendon's limit; None where nothing moves the tendon."""
    given = given_mobility(element)
    mobility = mobilities.of_muscle(bare) if given is None else given
    if mobility <= 0:
        return None
    stiffness, damping = free.softness.spring(mobility)
    return PathLimit(stiffness, free.low, free.high, damping, free.softness.onset)


# --------------------------------------------------------------------------------------------------------------
#
# Fixed tendons, linear combinations of the coordinates of joints, as paths whose length is that plus an offset.


Combination = dict[str, float]  # coefficients by coordinate
FREE_REACH = 100.0  # [rad, m] of a coordinate without a range, 16 turns


def combinations_of(document: Document, skeleton: Skeleton) -> dict[str, Combination]:
    """The coefficients of all <fixed> tendons by coordinate, by the tendons' names, 'tendon_<number>' without one.
    ModelError with its line for a joint that is no hinge and no slide."""
    return {
        document.values(element).text("name", f"tendon_{number}"): _combination(element, document, skeleton)
        for number, element in enumerate(document.sections("tendon"), start=1)
        if element.tag == "fixed"
    }


def length_at(combination: Mapping[str, float], coordinates: Mapping[str, float]) -> float:
    """A combination of coordinates by their values."""
    return sum(coefficient * coordinates[name] for name, coefficient in combination.items())


def _combination(element: Element, document: Document, skeleton: Skeleton) -> Combination:
    found: Combination = {}
    for child in elements_of(element):
        values = Values(child, {})
        if child.tag != "joint":
            complain(child, f"a fixed tendon is made of joints, not of <{child.tag}>")
        name = values.text("joint")
        if name not in skeleton.refs:
            complain(child, f"{name!r} is no hinge and no slide of the model")
        found[name] = found.get(name, 0.0) + values.number("coef")
        document.finish(values)
    if not any(found.values()):
        complain(element, "a fixed tendon needs a joint whose coef is not zero")
    return {name: coefficient for name, coefficient in found.items() if coefficient}


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


QUIET = (
    *("class", "group", "user", "width", "rgba", "material", "solref", "solimp", "solreffriction", "solimpfriction"),
)
SLIP_SPEED = 1e-3  # [m/s] below which dry friction is less than its greatest force
ALIGNED_SINE = 1e-9  # sine of the angle by which a site may miss an axis of its surface


@dataclass(frozen=True)
class Used:
    """The names of the sites and geoms that tendons run over."""

    sites: frozenset[str]
    geoms: frozenset[str]

    @classmethod
    def of(cls, document: Document) -> "Used":
        """Those of all tendons."""
        parts = [part for element in document.sections("tendon") for part in elements_of(element)]
        sites = frozenset(name for part in parts for key in ("site", "sidesite") if (name := part.get(key)))
        return cls(sites, frozenset(name for part in parts if (name := part.get("geom"))))


def read_tendons(
    document: Document, skeleton: Skeleton, drives: Drives, wrapping: str, mobilities: Mobilities
) -> tuple[Muscle, ...]:
    """All tendons as muscles, and the actuators of joints whose laws only muscles have, along paths that are linear in
    a coordinate. What a path or a law of ours cannot hold is noted.

    A tendon that has several actuators, or a spring, friction or a limit beside one, has several muscles along one
    path."""
    muscles: list[Muscle] = []
    driven = frozenset(element.get("tendon", "") for element in document.sections("actuator"))  # "" of other parts
    paths = _Paths(document, skeleton, wrapping, mobilities, driven)
    for number, element in enumerate(document.sections("tendon"), start=1):
        muscles += _muscles(element, paths, drives.tendons, f"tendon_{number}")
    for name, (joint, sign, drive) in drives.joints.items():
        offset = offset_of({joint: sign}, skeleton)
        bare = Muscle(_unused(name, muscles), linear_path({joint: sign}, offset))
        muscles.append(_driven(bare, drive, offset))
    return tuple(muscles)


def _unused(name: str, muscles: Sequence[Muscle]) -> str:
    taken = {muscle.name for muscle in muscles}
    return name if name not in taken else f"{name}_actuator"


def _muscles(
    element: Element, paths: "_Paths", drives: Mapping[str, Sequence[Drive]], unnamed: str
) -> Iterator[Muscle]:
    document = paths.document
    values = document.values(element)
    name, offset = values.text("name", unnamed), 0.0
    if element.tag == "fixed":
        combination = paths.skeleton.combinations[name]
        offset, rest = offset_of(combination, paths.skeleton), length_at(combination, paths.skeleton.rests)
        bare = Muscle(name, linear_path(combination, offset))
    else:
        points, wraps, pulleys = paths.path(element)
        bare = Muscle(name, points, wraps=wraps, pulleys=pulleys)
        rest = None
    passive = _passive(values, document, rest, lambda: paths.mobilities.length_of(bare))
    free = read_path_limit(values, values.limited("limited", "range", document.compiler.limits))
    if free is not None and (limit := path_limit(bare, free, element, paths.mobilities)) is not None:
        passive.append(limit)
    if values.number("armature", 0.0):
        document.unsupported.count(element, "armature: its inertia")
    document.finish(values, *QUIET)
    found = [_driven(bare, drive, offset) for drive in drives.get(name, ())]
    if not found and not passive and element.tag == "fixed":
        passive = [PathActuator(0.0)]  # a length that others may ask for
    elif not found and not passive and paths.driven and name not in paths.driven:
        document.idle.append(name)
        passive = [SlackSpring(0.0, 0.0, 0.0, 0.0)]
    for law in passive:
        found.append(
            replace(bare, law=on_offset_path(law, offset), activation=0.0 if found or name in document.idle else None)
        )
    names = [name, *(f"{name}_{k}" for k in range(2, len(found) + 1))]
    yield from (replace(muscle, name=own) for muscle, own in zip(found or [bare], names, strict=False))


def _driven(bare: Muscle, drive: Drive, offset: float) -> Muscle:
    law = on_offset_path(drive.law, offset)
    return replace(bare, law=law, activation=drive.activation, activation_dynamics=drive.dynamics)


def _passive(values: Values, document: Document, rest: float | None, at_start: Callable[[], float]) -> list[ForceLaw]:
    """The laws of a spring and a damper, and of dry friction."""
    spring, friction = _spring(values, document, rest, at_start), values.number("frictionloss", 0.0)
    if friction < 0:
        complain(values.element, f"frictionloss must not be negative, not {friction:g}")
    return [*([] if spring is None else [spring]), *([PathFriction(friction, SLIP_SPEED)] if friction else [])]


def _spring(values: Values, document: Document, rest: float | None, at_start: Callable[[], float]) -> ForceLaw | None:
    """A spring that is slack between two lengths, and a damper. Terms of higher order are noted.

    rest  the length of a fixed tendon where the springs of its joints rest. None for a path in space: unless the file
          says otherwise, it rests at its length in the file's pose
    """
    stiffness, *others = values.numbers("stiffness", 1, 3, (0.0,))
    damping, *more = values.numbers("damping", 1, 3, (0.0,))
    low, *high = values.numbers("springlength", 1, 2, (-1.0,))
    if any(others) or any(more):
        document.unsupported.count(values.element, "stiffness or damping of higher order")
    top = high[0] if high else low
    if low == top == -1.0 and rest is not None:
        low = top = rest
    elif stiffness and low < 0 and not high:
        low = top = at_start()
    if not stiffness and not damping:
        return None
    if rest is not None:
        return SlackSpring(stiffness, low, top, damping)
    if low <= 0 < top and not damping:
        return PathSpring(stiffness, top)
    return SlackSpring(stiffness, max(low, 0.0), max(top, 0.0), damping)


# ---- paths -------------------------------------------------------------------------------------------------


@dataclass
class _Paths:
    """What reads paths: the rule on which side they pass cylinders is that of `wrapping`. `driven` names what
    actuators act on, those too that are not read."""

    document: Document
    skeleton: Skeleton
    wrapping: str
    mobilities: Mobilities
    driven: frozenset[str]

    def path(self, element: Element) -> tuple[tuple[PathPoint, ...], tuple[Wrap, ...], tuple[Pulley, ...]]:
        """The points of a tendon, what it wraps around between them, and its pulleys."""
        points: list[PathPoint] = []
        wraps: list[Wrap] = []
        pulleys: list[Pulley] = []
        before: int | None = None  # the surface, if any, on the piece that ends in the last point
        pending: Wrap | None = None
        for child in elements_of(element):
            values = Values(child, {})  # these name sites and geoms: default classes do not count
            if child.tag == "site":
                points.append(_site(values, "site", self.skeleton))
                before = None if pending is None else _wrap_piece(wraps, before, pending, len(points) - 1)
                pending = None
            elif child.tag == "geom":
                if len(points) == (pulleys[-1].point if pulleys else 0) or pending is not None:
                    complain(child, "a surface lies between two sites")
                pending = _surface(values, self)
            elif child.tag == "pulley":
                if pending is not None:
                    complain(child, "a surface lies between two sites")
                before = None
                pulleys.append(_pulley(values, len(points)))
            else:
                complain(child, f"a tendon runs over sites, geoms and pulleys, not <{child.tag}>")
            self.document.finish(values)
        _check_branches(element, points, pulleys)
        whole = (0, len(points) - 1)
        freed = tuple(replace(wrap, points=None) if wrap.points == whole else wrap for wrap in wraps)
        return tuple(points), freed, tuple(pulleys)


def _pulley(values: Values, point: int) -> Pulley:
    divisor = values.number("divisor")
    if divisor <= 0:
        complain(values.element, f"divisor must be positive, not {divisor:g}")
    return Pulley(point, divisor)


def _check_branches(element: Element, points: Sequence[PathPoint], pulleys: Sequence[Pulley]) -> None:
    """ModelError for a branch of fewer than two sites."""
    starts = [pulley.point for pulley in pulleys if pulley.point]
    sizes = np.diff([0, *starts, len(points)])
    if min(sizes) < 2:
        which = "every branch of a tendon" if pulleys else "a tendon"
        complain(element, f"{which} needs at least two sites, not {min(sizes)}")


def _site(values: Values, key: str, skeleton: Skeleton) -> PathPoint:
    name = values.text(key)
    if name not in skeleton.sites:
        complain(values.element, f"{key} names {name!r}, which is no site of the model")
    return skeleton.sites[name]


def _wrap_piece(wraps: list[Wrap], before: int | None, wrap: Wrap, end: int) -> int:
    """Add a surface on the piece that ends in point `end`, or extend that of the piece before to it. `before` is the
    number of that surface, if the piece before has one. Returns the surface's number."""
    if before is not None and wraps[before].surface == wrap:
        first, _ = wraps[before].points or (end - 2, end - 1)
        wraps[before] = replace(wraps[before], points=(first, end))
        return before
    wraps.append(replace(wrap, points=(end - 1, end)))
    return len(wraps) - 1


def _surface(values: Values, paths: _Paths) -> Wrap | None:
    """The surface of a geom, on the side of its side site or inside; None, noted, for a site on another body."""
    document, skeleton = paths.document, paths.skeleton
    name = values.text("geom")
    geom = skeleton.named.get(name)
    if geom is None or geom.type not in ("sphere", "cylinder"):
        complain(values.element, f"geom names {name!r}, which is no sphere and no cylinder of the model")
    quadrant, Q = "all", geom.place.Q
    if values.has("sidesite"):
        site = _site(values, "sidesite", skeleton)
        if site.body != geom.body:
            document.unsupported.count(values.element, "a side site on another body")
            return None
        side = rotation_matrix(Q).T @ (np.array(site.position) - geom.place.p)
        if float(np.linalg.norm(side)) < geom.sizes[0]:
            return _wrap(geom, INNER_SURFACES[paths.wrapping][geom.type], "all", geom.place.Q)
        side = side * ([1.0, 1.0, 0.0] if geom.type == "cylinder" else 1.0)
        quadrant, Q = _quadrant(side, Q)
    rule = "shortest" if quadrant == "all" else paths.wrapping
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
    found: Wrap = surface(
        body=geom.body,
        position=geom.place.position,
        orientation=tuple(float(x) for x in orientation),
        quadrant=quadrant,
        radius=geom.sizes[0],
        name=geom.name,
    )
    return found


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
