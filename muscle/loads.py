"""Parts that act on a model, loads on bodies, and the generalized forces that these are: by virtual work, whatever
describes the joints."""

import math
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, Record, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.constraints.base import check_bodies, check_coordinates
from myoquat.joints.ranges import UNIT_TOLERANCE, check_ranges
from myoquat.joints.vectors import cross, dot, joined, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array

Poses = Mapping[str, tuple[Array, Array]]
FRAMES = ("force_frame", "point_frame")  # fields that name bodies, or the world by None
BODIES = ("body", "first", "second", *FRAMES)  # fields that name bodies
COORDINATES = ("coordinate", "dependent", "independent")  # fields that name coordinates
DIRECTIONS = ("axis", "direction", "normal")  # fields that are directions, of any length


def named_bodies(muscles: Iterable[Any], parts: Iterable[Any]) -> set[str]:
    """The bodies that paths and other parts of a model name."""
    along = (part for muscle in muscles for part in (*muscle.path.points, *muscle.path.wraps))
    return {getattr(part, key) for part in (*along, *parts) for key in BODIES if hasattr(part, key)}


@frozen
class ActingPart(Record, ABC):
    """A passive force or an actuator. One that is `in_joints` acts on no body."""

    noun: ClassVar[str]  # what it is, in messages
    in_joints: ClassVar[bool] = False
    name: str

    @property
    def element(self) -> str:
        """The part in words, for messages."""
        return f"{self.noun} {self.name!r}"

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for impossible numbers, and for bodies and coordinates that do not exist."""
        check_part(self, system, self.element)
        self.check_apart(*(name for key in ("first", "second") if isinstance(name := vars(self).get(key), str)))

    def check_apart(self, *bodies: str) -> None:
        """ModelError for one body twice."""
        if len(bodies) > len({*bodies}):
            raise ModelError(f"it acts between body {bodies[0]!r} and itself", element=self.element)


def check_part(part: Record, system: ArticulatedSystem, element: str, what: str = "") -> None:
    """ModelError, with `what` before it, for impossible numbers, and for bodies and coordinates that do not exist: the
    names of fields say which these are."""
    check_ranges(part, element, what)
    for key, value in vars(part).items():
        if key in BODIES and not (isinstance(value, Record) or (value is None and key in FRAMES)):
            check_bodies(system, value, element=element, what=what)
        elif key in COORDINATES:
            check_coordinates(system, value, element=element)
        elif key in DIRECTIONS and not any(value):
            raise ModelError(f"{what}{key} must not be zero", element=element)
        elif key == "orientation" and not abs(math.hypot(*value) - 1) <= UNIT_TOLERANCE:
            raise ModelError(f"{what}orientation must be a unit quaternion, not {value}", element=element)


@frozen
class Load:
    """A force (..., 3) [N] at a point (..., 3) [m] that moves with the `body`, and a torque (..., 3) [N m]; all in
    world axes."""

    body: str
    point: Array
    force: Array
    torque: Array | None = None


@frozen
class LoadFrames:
    """Where external loads act: bodies, frames of force and torque, frames of the points."""

    bodies: tuple[str, ...] = ()
    force_frames: tuple[str, ...] = ()
    point_frames: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Numbers per time: force, torque and point of each load."""
        return 9 * len(self.bodies)

    def acting(self, system: ArticulatedSystem, q: Array, loads: Array) -> list[Load]:
        """The loads on bodies of numbers (..., 9 n): a force, a torque and a point of each."""
        poses, acting = system.poses(q), []
        for k, (body, frame, point_frame) in enumerate(
            zip(self.bodies, self.force_frames, self.point_frames, strict=True)
        ):
            force, torque, point = (loads[..., 9 * k + 3 * i : 9 * k + 3 * i + 3] for i in range(3))
            R = poses[frame][0]
            acting.append(Load(body, world_point(poses, point_frame, point), matvec(R, force), matvec(R, torque)))
        return acting


def world_point(poses: Poses, body: str, point: ArrayLike) -> Array:
    """(..., 3) [m] a body's point in the world."""
    R, p = poses[body]
    return p + matvec(R, as_array(point))


def unit_vector(direction: Sequence[float] | Array, R: Array | None = None) -> Array:
    """(..., 3) the unit vector along a direction of the world, or of a body at the rotation R (..., 3, 3)."""
    n = as_array(direction)
    unit: Array = n / np.sqrt(dot(n, n))
    return unit if R is None else matvec(R, unit)


def point_velocity(shifts: Poses, poses: Poses, body: str, point: Array) -> Array:
    """(..., 3) velocity [m/s] of the body's point that is at `point` (..., 3) of the world.

    `shifts` are angular velocities and velocities of the origins: `ArticulatedSystem.shifts` of u.
    """
    omega, v = shifts[body]
    return v + cross(omega, point - poses[body][1])


def generalized_force(system: ArticulatedSystem, q: Array, loads: Sequence[Load]) -> Array:
    """(..., nu) the forces on the velocities u that do the work of the loads: the formula, on floats and symbols.

    The transpose of `ArticulatedSystem.shifts`: from the leaves to the ground every joint takes its part of the wrench
    of all that it carries.
    """
    poses = system.poses(q)
    return carried_force(system, q, poses, _wrenches(poses, loads), system.ground)


def carried_force(
    system: ArticulatedSystem, q: Array, poses: Poses, wrenches: Mapping[str, tuple[Array, Array]], base: str
) -> Array:
    """(..., nu) the generalized forces of wrenches on the bodies that `base` carries, as if `base` were held.

    `wrenches` are (force, torque) at the origins of the bodies, in the axes of the `poses`. The formula runs on symbols
    too.
    """
    carried = dict(wrenches)
    parts: dict[int, Array] = {}
    for i in reversed(system.topological_order):
        body = system.bodies[i]
        if body.name not in carried or body.name == base:
            continue
        (f, n), (R, p), leader = carried[body.name], poses[body.name], system.leaders[i]
        if system.bodies[leader].joint.nu:
            S_omega, S_v = body.joint.subspace(q[..., system.moving_q[i]])
            own = vecmat(vecmat(n, R), S_omega) + vecmat(vecmat(f, R), S_v)
            parts[leader] = parts[leader] + own if leader in parts else own
        _add(carried, body.parent, f, n + cross(p - poses[body.parent][1], f))
    if not parts:
        return np.zeros(system.nu)
    return joined([parts.get(i, np.zeros(body.joint.nu)) for i, body in enumerate(system.bodies)])


def body_wrenches(system: ArticulatedSystem, q: Array, loads: Sequence[Load]) -> Array:
    """(..., bodies, 6) force [N] and torque [N m] of the loads on every body at its origin, in world axes: the formula.

    Loads on the ground are left out.
    """
    found = _wrenches(system.poses(q), loads)
    rows = [joined(list(found.get(name, (np.zeros(3), np.zeros(3))))) for name in system.body_names]
    batch = np.broadcast_shapes(q.shape[:-1], *(row.shape[:-1] for row in rows))
    rows = [np.broadcast_to(row, (*batch, 6), subok=True) for row in rows]
    return np.stack(rows, axis=-2) if rows else np.zeros((*batch, 0, 6))


def _wrenches(poses: Poses, loads: Sequence[Load]) -> dict[str, tuple[Array, Array]]:
    """(force, torque) at the origin of every body that has loads."""
    found: dict[str, tuple[Array, Array]] = {}
    for load in loads:
        moment = cross(load.point - poses[load.body][1], load.force)
        _add(found, load.body, load.force, moment if load.torque is None else moment + load.torque)
    return found


def _add(wrenches: dict[str, tuple[Array, Array]], body: str, f: Array, n: Array) -> None:
    before = wrenches.get(body)
    wrenches[body] = (f, n) if before is None else (before[0] + f, before[1] + n)
