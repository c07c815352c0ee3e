"""Muscles: paths from point to point between bodies, and their lengths."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np

from myoquat.core.records import Record
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.memoize import memoize
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import ForceLaw
from myoquat.muscle.points import ConditionalPoint, PathPoint
from myoquat.muscle.wrapping import Piece, Wrap, path_contacts
from myoquat.muscle.wrapping.order_along_path import in_order

__all__ = [
    "Contacts",
    "Muscle",
    "MuscleGroup",
    "PathWrap",
    "Pulley",
    "Span",
    "carried_bodies",
    "carried_wrenches",
    "contacts",
    "lengths",
    "moved_point",
    "path_length",
    "stops_length",
    "wrenches",
]

Contacts = tuple[tuple[Piece, ...], ...]  # of every muscle, of every piece of its path


@dataclass(frozen=True)
class Pulley(Record):
    """From the path's point of number `point` on, the path is a branch of its own, whose length counts 1 / divisor.

    No segment leads from the point before to this one. A tendon that splits behind a moving pulley has one length, half
    that of its two branches more than that of its trunk [MuJoCo, `pulley`].

    >>> from myoquat.muscle import Muscle, PathPoint, Pulley
    >>> path = [PathPoint("ground", (x, 0.0, 0.0)) for x in (0.0, 0.1, 0.1, 0.5)]
    >>> Muscle("split", tuple(path), pulleys=(Pulley(2, 2.0),)).shares  # of the pieces between its points
    (1.0, 0.0, 0.5)
    """

    point: int
    divisor: Positive


@dataclass(frozen=True)
class PathWrap(Record):
    """What an OpenSim file states of a surface on a path: the numbers of the `points` between which it acts, None for
    the whole path, and the `method` for ellipsoids. `wrap` is the surface's number in `Muscle.wraps`.

    >>> from myoquat.muscle import PathWrap
    >>> PathWrap(0, (1, 2)).method
    'hybrid'
    """

    wrap: int
    points: tuple[int, int] | None = None
    method: str = "hybrid"


@dataclass(frozen=True)
class Muscle(Record):
    """A muscle: its path from origin over via points to insertion, and its force law.

    Between its points the path is straight, or goes around the surfaces `wraps` that lie in its way: those that act on
    the same piece in the order in which the path meets them. Over `pulleys` it consists of several branches.
    `activation` is the one that a simulation takes where none is given, None if the model names none. With
    `activation_dynamics` it follows an excitation and is a state of simulations; without, it is given.

    `path_wraps` holds the surfaces as an OpenSim file states them, in the order of the file. Lengths do not depend on
    it. It serves to write the file again, because OpenSim's lengths depend on the order and the ranges of the file.

    >>> from myoquat.muscle import ExponentialMuscle, Muscle, PathPoint
    >>> path = (PathPoint("ground", (-0.1, 0, 0)), PathPoint("upper", (0, 0, -0.2)))
    >>> Muscle("flexor", path, ExponentialMuscle(optimal_length=0.2, max_isometric_force=100.0)).name
    'flexor'
    """

    name: str
    path: tuple[PathPoint, ...]
    law: ForceLaw | None = None
    activation: float | None = None
    activation_dynamics: ActivationDynamics | None = None
    wraps: tuple[Wrap, ...] = ()
    pulleys: tuple[Pulley, ...] = ()
    path_wraps: tuple[PathWrap, ...] = field(default=(), compare=False)

    @property
    def shares(self) -> tuple[float, ...]:
        """By how much the length of each piece between two points counts: 1 without pulleys, and 0 where there is no
        piece."""
        found = [1.0] * (len(self.path) - 1)
        for pulley in self.pulleys:
            found[pulley.point :] = [1.0 / pulley.divisor] * (len(found) - pulley.point)
            if pulley.point:
                found[pulley.point - 1] = 0.0
        return tuple(found)

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the path cannot be: too short, an unknown body, a segment of length zero in every pose."""
        element = f"muscle {self.name!r}"
        if len(self.path) < 2:
            raise ModelError(f"a path needs at least two points, not {len(self.path)}", element=element)
        for point in self.path:
            point.check(system, element)
        if any(isinstance(point, ConditionalPoint) for point in (self.path[0], self.path[-1])):
            raise ModelError("the first and the last point of a path cannot be conditional", element=element)
        self._check_pulleys(element)
        for (a, b), share in zip(pairwise(self.path), self.shares, strict=True):
            if a == b and share:
                raise ModelError(
                    f"two consecutive points are the same point {list(a.position)} of body {a.body!r}", element=element
                )
        for wrap in self.wraps:
            wrap.check(system, element, len(self.path))
        if self.activation is not None and not 0 <= self.activation <= 1:
            raise ModelError(f"activation must lie in [0, 1], not {self.activation}", element=element)
        if self.law is not None:
            self.law.check(element)
        if self.activation_dynamics is not None:
            self.activation_dynamics.check(element)

    def _check_pulleys(self, element: str) -> None:
        """ModelError for branches of fewer than two points, or that begin or end at a conditional point, and for
        surfaces that act between branches."""
        starts = [pulley.point for pulley in self.pulleys]
        edges = [0, *(starts[1:] if starts[:1] == [0] else starts), len(self.path)]
        if any(b - a < 2 for a, b in pairwise(edges)):
            raise ModelError(f"every branch needs at least two points; pulleys stand at {starts}", element=element)
        for pulley in self.pulleys:
            check_ranges(pulley, element, "pulley: ")
            ends = self.path[max(pulley.point - 1, 0) : pulley.point + 1]
            if any(isinstance(point, ConditionalPoint) for point in ends):
                raise ModelError("a branch cannot begin or end at a conditional point", element=element)
            if pulley.point and any(wrap.acts(pulley.point) for wrap in self.wraps):
                message = f"no surface can act between points {pulley.point - 1} and {pulley.point}, on two branches"
                raise ModelError(message, element=element)


@dataclass(frozen=True)
class MuscleGroup(Record):
    """A named group of muscles, such as the flexors of a joint: a muscle may belong to several groups or to none.

    Kept as data, as a file lists it; OpenSim calls it ObjectGroup.

    >>> import dataclasses
    >>> import myoquat as mq
    >>> group = mq.muscle.MuscleGroup("front", ("m1", "m2"))
    >>> model = dataclasses.replace(mq.load_model("two_link"), groups=(group,))
    >>> {group.name: group.members for group in model.groups}
    {'front': ('m1', 'm2')}
    """

    name: str
    members: tuple[str, ...] = ()

    def check(self, muscles: Sequence[str]) -> None:
        """ModelError for a member that is not among the names `muscles`, or that is listed twice."""
        element = f"group {self.name!r}"
        for place, member in enumerate(self.members):
            if member not in muscles:
                raise ModelError(f"member {member!r} is no muscle of the model", element=element)
            if member in self.members[:place]:
                raise ModelError(f"member {member!r} is listed twice", element=element)


@memoize
def contacts(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array) -> Contacts:
    """What every path touches at coordinates q (..., nq); the formula, on floats and symbols. Muscles along one path,
    such as an actuator and a limit of one tendon, share what it touches."""
    poses = system.poses(q) if any(muscle.wraps for muscle in muscles) else {}
    paths = [(muscle.path, muscle.wraps) for muscle in muscles]
    keys = [path if _has_hash(path) else i for i, path in enumerate(paths)]
    different = dict(zip(keys, paths, strict=True))
    found = dict(zip(different, path_contacts(system, list(different.values()), q, poses), strict=True))
    return tuple(found[key] for key in keys)


def _has_hash(path: Hashable) -> bool:
    """False for a path with symbols in it."""
    try:
        hash(path)
    except TypeError:
        return False
    return True


@memoize
def lengths(
    system: ArticulatedSystem,
    muscles: tuple[Muscle, ...],
    q: Array,
    motion: Array | None = None,
    touching: Contacts | None = None,
) -> Array:
    """(..., m) path lengths [m] at coordinates q (..., nq); the formula, on floats and symbols.

    With `motion` (..., nu), the lengths after the small motion u dt, exact to first order where |Q| = 1. `touching` are
    the contacts at the pose around which q varies, by default those at q. The path is the shortest, so that moving the
    contacts along does not change its length to first order: whoever differentiates with respect to q gives them, and
    they stay where they are on their surfaces.
    """
    poses = system.poses(q)
    after = q if motion is None else system.displaced(q, motion)
    touching = contacts(system, muscles, q) if touching is None else touching

    @cache
    def shifts(base: str) -> Poses:
        return {} if motion is None else system.shifts(q, motion, poses, base)

    columns = []
    for muscle, pieces in zip(muscles, touching, strict=True):
        # Motion is seen from the body on which the whole path hangs: joints below it cannot change the length.
        names = [*(point.body for point in muscle.path), *(wrap.body for wrap in muscle.wraps)]
        base = system.lowest_common_ancestor(names)
        columns.append(_measured(system, muscle, (q, after), poses, shifts(base), pieces))
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


def _measured(
    system: ArticulatedSystem, muscle: Muscle, q: tuple[Array, Array], poses: Poses, moved: Poses, pieces: Any
) -> Array:
    """(...) length of one path at q[0], whose points are on their bodies where q[1] puts them, bodies moved."""
    points = [moved_point(poses, moved, point.body, point.local(system, q[1])) for point in muscle.path]
    spans = [_spans(poses, moved, piece) for piece in pieces]
    on = [point.active(system, q[0]) for point in muscle.path]
    return path_length(points, on, spans, muscle.shares if muscle.pulleys else ())


def wrenches(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array, tensions: Array) -> Array:
    """(..., bodies, 6) what tensions (..., m) do to each body: force [N] and torque [N m] at its origin, world axes.

    The formula: -d(sum F l)/dx for a small motion x of every body by itself. A moving point pulls where it is; what
    moves it is a matter of its coordinate, and passes through that joint.
    """
    poses, touching = system.poses(q), contacts(system, muscles, q)

    def pulled(x: Array) -> Array:
        moved = {name: (x[..., 6 * i + 3 : 6 * i + 6], x[..., 6 * i : 6 * i + 3])
                 for i, name in enumerate(system.body_names)}  # fmt: skip
        total: Array = np.zeros(1)
        for k, (muscle, pieces) in enumerate(zip(muscles, touching, strict=True)):
            total = total + (tensions[..., k] * _measured(system, muscle, (q, q), poses, moved, pieces))[..., None]
        return total

    size = 6 * len(system.bodies)
    gradient = jacobian_at(pulled, np.zeros(size), like=q)[..., 0, :]
    result: Array = -gradient.reshape((*gradient.shape[:-1], len(system.bodies), 6))
    return result


def carried_bodies(system: ArticulatedSystem, name: str) -> tuple[str, ...]:
    """The body, named by itself or by its joint, and those that it carries."""
    first = system.body_names[system.indices.body(name)]
    others = [body.name for body in system.bodies if body.name != first]
    return (first, *(other for other in others if system.lowest_common_ancestor([other, first]) == first))


def carried_wrenches(
    system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array, carried: tuple[str, ...]
) -> Array:
    """(..., m, 6) what a unit tension of every muscle does to bodies that move as one, `carried`: force [N] and torque
    [N m] at the origin of the first, in world axes. The formula: -dl/dx for a small motion x of them all."""
    poses, touching = system.poses(q), contacts(system, muscles, q)
    origin = poses[carried[0]][1]

    def measured(x: Array) -> Array:
        turn, step = x[..., 3:], x[..., :3]
        moved = {name: (turn, step + cross(turn, poses[name][1] - origin)) for name in carried}
        columns = [_measured(system, muscle, (q, q), poses, moved, pieces) + 0.0 * step[..., 0]
                   for muscle, pieces in zip(muscles, touching, strict=True)]  # fmt: skip
        return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1)

    result: Array = -jacobian_at(measured, np.zeros(6), like=q)
    return result


@dataclass(frozen=True)
class Span:
    """A stretch of a path on a surface: from P to Q (..., 3) in the world, where `on`."""

    on: Array
    P: Array
    Q: Array
    arc: Array
    place: Array | float = 0.0

    @classmethod
    def unpacked(cls, x: Array) -> "Span":
        """From its numbers (..., 8), 1 where it is on among them."""
        return cls(x[..., 7] > 0, x[..., :3], x[..., 3:6], x[..., 6])

    def packed(self) -> Array:
        """(..., 8) its numbers but the place."""
        return joined([self.P, self.Q, as_array(self.arc)[..., None], as_array(np.where(self.on, 1.0, 0.0))[..., None]])


def _along(spans: list[Span]) -> list[Span]:
    """Spans in the order of the path."""
    if len(spans) < 2:
        return spans
    order = [as_array(span.place) for span in spans]
    found, _ = in_order(order, [span.packed() for span in spans])
    return [Span.unpacked(x) for x in found]


def _spans(poses: Poses, moved: Poses, piece: Piece) -> list[Span]:
    spans = []
    for wrap, c in zip(piece.wraps, piece.contacts, strict=True):
        P, Q = (moved_point(poses, moved, wrap.body, x) for x in (c.P, c.Q))
        spans.append(Span(c.on, P, Q, c.arc, c.place))
    return spans


def moved_point(poses: Poses, moved: Poses, body: str, local: Array) -> Array:
    """A point of a body in the world, after the shift of the body if there is one."""
    R, p = poses[body]
    arm = matvec(R, local)
    position: Array = p + arm
    if body not in moved:
        return position
    rotation, translation = moved[body]
    result: Array = position + (translation + cross(rotation, arm))
    return result


def path_length(
    points: list[Array], active: list[Array | bool], spans: list[list[Span]], shares: Sequence[float] = ()
) -> Array:
    """The sum of the pieces between the points that are active, straight but for their spans on surfaces; with
    `shares`, by which each piece counts."""
    if shares:
        return _branches_length(points, active, spans, shares)
    total: Array = np.zeros(())
    last = points[0]
    for point, on, touched in zip(points[1:], active[1:], spans, strict=True):
        for span in _along(touched):
            total, _ = _advanced(total, last, span.P, span.on)
            total, last = total + np.where(span.on, span.arc, 0.0), np.where(span.on[..., None], span.Q, last)
        total, last = _advanced(total, last, point, on)
    return total


def _branches_length(
    points: list[Array], active: list[Array | bool], spans: list[list[Span]], shares: Sequence[float]
) -> Array:
    """`path_length` of the branches, each times its share."""
    first, total = 0, np.zeros(())
    ends = [k for k, share in enumerate(shares) if not share]
    for end in [*ends, len(shares)]:
        branch = slice(first, end + 1)
        total = total + shares[first] * path_length(points[branch], active[branch], spans[first:end])
        first = end + 1
    return total


def stops_length(stops: Sequence[tuple[Array, ...]], on: Sequence[Array | bool]) -> Array:
    """(...) the length of a path by its stops, those that are `on`: points (x,) and spans on surfaces (P, Q, arc,
    place)."""
    points: list[Array] = []
    active: list[Array | bool] = []
    spans: list[list[Span]] = [[]]
    for (x, *span), there in zip(stops, on, strict=True):
        if span:
            spans[-1].append(Span(cast(Array, there), x, *span))  # a contact's flag, never True alone
        else:
            points.append(x)
            active.append(there)
            spans.append([])
    return path_length(points, active, spans[1:-1])


def _advanced(total: Array, last: Array, point: Array, on: Array | bool) -> tuple[Array, Array]:
    """Length and end of the path after a straight line to a point, where `on`."""
    d = point - last
    if isinstance(on, bool):
        return total + np.sqrt(np.sum(d * d, axis=-1)), point
    square = np.sum(d * d, axis=-1)
    apart = on & (square != 0)  # a root of zero would spoil the derivative where the point is off, or on the one before
    return total + np.where(apart, np.sqrt(np.where(apart, square, 1.0)), 0.0), np.where(on[..., None], point, last)
