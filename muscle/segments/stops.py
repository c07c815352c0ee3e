"""The stops of paths: their points and their spans on surfaces, where these are, and the length along them.

A span runs over a surface between two points of a path. It stays where it is on its body while the pose varies. The
path is the shortest, so that moving the contacts along does not change its length to first order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from myoquat.core import Array
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.types import Joint
from myoquat.joints.vectors import cross, joined, matvec
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.kernels.tracing.context import memoize
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import wrapping
from myoquat.muscle.path import MusclePath, different_paths
from myoquat.muscle.points import ConditionalPoint, DrivenPoint, PathPoint
from myoquat.muscle.wrapping.route import in_order

FIXED, GIVEN, MOVING, SURFACE = range(4)  # points that are numbers, varied ones, moving ones, and spans on surfaces
Contacts = Sequence[tuple["wrapping.Piece", ...]]  # of every path, of every piece of it


class Stop(NamedTuple):
    """A point of a path, or its span on a surface.

    number   among the stops of all paths
    body     on which it is
    sort     FIXED, GIVEN, MOVING or SURFACE
    point    None for a span
    share    by how much the length of the piece that leads there counts, 0 where a branch begins
    """

    number: int
    body: str
    sort: int
    point: PathPoint | None = None
    share: float = 1.0

    @property
    def conditional(self) -> bool:
        """Whether it may be off the path."""
        return self.point is None or isinstance(self.point, ConditionalPoint)


class PlacedStop(NamedTuple):
    """Where a stop is on its body, and whether the path takes it.

    parts  of a point, where it is (..., 3). Of a span, P and Q (..., 3) where it begins and ends, its arc (...), and
           its place (...) in the order along the path
    on     (...), True for a point that is always on the path
    """

    body: str
    parts: tuple[Array, ...]
    on: Array | bool

    @property
    def numbers(self) -> Array:
        """(..., 3) or (..., 8) its parts, one after the other."""
        return joined([*self.parts[:2], *(as_array(x)[..., None] for x in self.parts[2:])])

    @property
    def flag(self) -> Array:
        """(..., 1) 1 where the path takes it, else 0."""
        return as_array(np.where(self.on, 1.0, 0.0))[..., None]


def stops_of(paths: Sequence[MusclePath]) -> list[list[Stop]]:
    """The stops of every path, in order."""
    found: list[list[Stop]] = []
    number = 0
    for path in paths:
        found.append(list(_stops(path, number)))
        number += len(found[-1])
    return found


def _stops(path: MusclePath, number: int) -> Iterator[Stop]:
    """The stops of a path, of which the first has this number."""
    for point, share, acting in zip(path.points, (1.0, *path.shares), [(), *path.acting], strict=True):
        for wrap in acting:
            yield Stop(number, wrap.body, SURFACE)
            number += 1
        yield Stop(number, point.body, _sort(point), point, share)
        number += 1


def _sort(point: PathPoint) -> int:
    if isinstance(point, DrivenPoint):
        return MOVING
    return GIVEN if is_symbolic(as_array(point.position)) else FIXED


# ---- where they are at a pose --------------------------------------------------------------------------------


@memoize
def contacts(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array) -> Contacts:
    """What every path touches at coordinates q (..., nq); the formula, on floats and symbols."""
    poses = system.poses(q) if any(path.wraps for path in paths) else {}
    firsts, numbers = different_paths(paths)
    different = [(paths[k].points, paths[k].wraps) for k in firsts]
    found = wrapping.path_contacts(system, different, q, poses)
    return tuple(found[number] for number in numbers)


def placed_paths(
    system: ArticulatedSystem,
    paths: tuple[MusclePath, ...],
    q: Array,
    after: Array | None = None,
    touching: Contacts | None = None,
) -> tuple[list[list[Stop]], list[list[PlacedStop]], list[int]]:
    """The stops of the different ones among some paths, where these are, and the number of every path among them.

    Points are where the coordinates `after` (..., nq) put them, if the path takes them at q (..., nq). Spans are those
    of the contacts `touching`. By default both are of q.
    """
    firsts, numbers = different_paths(paths)
    found = contacts(system, paths, q) if touching is None else touching
    stops = stops_of([paths[k] for k in firsts])
    placed = placed_stops(system, stops, [found[k] for k in firsts], q, q if after is None else after)
    return stops, placed, numbers


def placed_stops(
    system: ArticulatedSystem, paths: Sequence[Sequence[Stop]], touching: Contacts, q: Array, after: Array
) -> list[list[PlacedStop]]:
    """The stops of every path: the formula. Points are where the coordinates `after` (..., nq) put them, if the path
    takes them at q (..., nq); spans are those of the contacts `touching`."""
    touched = (c for pieces in touching for piece in pieces for c in piece.in_order)

    def placed(stop: Stop) -> PlacedStop:
        if stop.point is None:
            c, place = next(touched)
            return PlacedStop(stop.body, (c.P, c.Q, c.arc, as_array(place)), c.on)
        return PlacedStop(stop.body, (stop.point.local(system, after),), stop.point.active(system, q))

    return [[placed(stop) for stop in stops] for stops in paths]


# ---- the length along them -----------------------------------------------------------------------------------


def moved_length(stops: Sequence[PlacedStop], poses: Poses, moved: Poses) -> Array:
    """(...) the length along stops, of bodies at `poses` after the small motions `moved`: (rotation, translation) of
    those that move."""
    points = [tuple(_moved(poses, moved, stop.body, x) for x in stop.parts[:2]) for stop in stops]
    ends = [(*ends, *stop.parts[2:]) for ends, stop in zip(points, stops, strict=True)]
    return stops_length(ends, [stop.on for stop in stops])


def _moved(poses: Poses, moved: Poses, body: str, local: Array) -> Array:
    """A point of a body in the world, after the motion of the body if there is one."""
    R, p = poses[body]
    arm = matvec(R, local)
    position: Array = p + arm
    if body not in moved:
        return position
    rotation, translation = moved[body]
    return position + (translation + cross(rotation, arm))


class _Span(NamedTuple):
    """A span on a surface, in the world."""

    on: Array
    P: Array
    Q: Array
    arc: Array
    place: Array | float = 0.0


def stops_length(stops: Sequence[tuple[Array, ...]], on: Sequence[Array | bool]) -> Array:
    """(...) the length along stops, those that are `on`: points (x,) and spans (P, Q, arc, place) in one frame. The
    pieces between them are straight."""
    total: Array = np.zeros(())
    last = stops[0][0]
    spans: list[_Span] = []
    for (x, *span), there in zip(stops[1:], on[1:], strict=True):
        if span:
            spans.append(_Span(cast(Array, there), x, *span))  # a contact's flag, never True alone
            continue
        for s in _along(spans):
            total, _ = _advanced(total, last, s.P, s.on)
            total, last = total + np.where(s.on, s.arc, 0.0), np.where(s.on[..., None], s.Q, last)
        total, last = _advanced(total, last, x, there)
        spans = []
    return total


def _along(spans: list[_Span]) -> list[_Span]:
    """Spans in the order of the path."""
    if len(spans) < 2:
        return spans
    rows = [
        joined([s.P, s.Q, as_array(s.arc)[..., None], as_array(np.where(s.on, 1.0, 0.0))[..., None]]) for s in spans
    ]
    order = [np.broadcast_to(as_array(s.place), x.shape[:-1], subok=True) for s, x in zip(spans, rows, strict=True)]
    found, _ = in_order(order, rows)
    return [_Span(x[..., 7] > 0, x[..., :3], x[..., 3:6], x[..., 6]) for x in found]


def _advanced(total: Array, last: Array, point: Array, on: Array | bool) -> tuple[Array, Array]:
    """Length and end of the path after a straight line to a point, where `on`."""
    d = point - last
    if isinstance(on, bool):
        return total + np.sqrt(np.sum(d * d, axis=-1)), point
    square = np.sum(d * d, axis=-1)
    apart = on & (square != 0)  # a root of zero would spoil the derivative where the point is off, or on the one before
    return total + np.where(apart, np.sqrt(np.where(apart, square, 1.0)), 0.0), np.where(on[..., None], point, last)


# ---- Numbers that place the joints of a model near a pose -----------------------------------------------------------
# Small motions, coordinates, or all but one of a quaternion.


class Chart(NamedTuple):
    """Numbers of a joint, or of all: what they are at a pose (..., n), and the coordinates that they give near it."""

    start: Array
    coordinates: Callable[[Array], Array]


def charts(system: ArticulatedSystem, q: Array, wrt: str, eliminated: Array | None = None) -> list[Chart]:
    """The chart of every joint around q (..., nq).

    "velocity"     its small motions u dt
    "coordinates"  its coordinates
    "constrained"  its coordinates without the component `eliminated` (..., balls) of its quaternion
    """
    balls = iter(np.moveaxis(as_array(eliminated), -1, 0) if eliminated is not None else ())
    return [
        _chart(body.joint, q[..., at], wrt, next(balls) if _is_dropped(body.joint, wrt) else None)
        for body, at in zip(system.bodies, system.q_slices, strict=True)
    ]


def together(parts: Sequence[Chart]) -> Chart:
    """The chart of all joints."""
    start = joined([np.zeros(0), *(part.start for part in parts)])
    edges = np.cumsum([part.start.shape[-1] for part in parts], dtype=int)

    def coordinates(x: Array) -> Array:
        *pieces, none = np.split(x, edges, axis=-1)
        return joined([none, *(part.coordinates(y) for part, y in zip(parts, pieces, strict=True))])

    return Chart(start, coordinates)


def slides(system: ArticulatedSystem, points: Iterable[PathPoint], q: Array, chart: Chart) -> dict[int, Array]:
    """By the id of each point, the derivative (..., 3, n) of where it is on its body, by the numbers of a chart."""
    distinct = {id(point): point for point in points}

    def local(x: Array) -> Array:
        after = chart.coordinates(x)
        return joined([np.zeros(0), *(point.local(system, after) for point in distinct.values())])

    J = jacobian_at(local, chart.start, like=q)
    return {key: J[..., 3 * k : 3 * k + 3, :] for k, key in enumerate(distinct)}


def _is_dropped(joint: Joint, wrt: str) -> bool:
    return wrt == "constrained" and joint.facts.quaternion is not None


def _chart(joint: Joint, q: Array, wrt: str, dropped: Array | None) -> Chart:
    if wrt == "velocity":
        return Chart(np.zeros((*q.shape[:-1], joint.nu)), lambda motion: joint.displaced(q, motion))
    if dropped is None:
        return Chart(q, lambda x: x)
    kept = np.concatenate([q[..., :-4], _kept(q[..., -4:], dropped)], axis=-1)

    def coordinates(x: Array) -> Array:
        return np.concatenate([x[..., :-3], _completed(x[..., -3:], q[..., -4:], dropped)], axis=-1)

    return Chart(kept, coordinates)


def _kept(Q: Array, k: Array) -> Array:
    """Q* (..., 3): the components of Q (..., 4) other than k, in order."""
    return np.stack([np.where(k > i, Q[..., i], Q[..., i + 1]) for i in range(3)], axis=-1)


def _completed(Q_star: Array, Q: Array, k: Array) -> Array:
    """Q (..., 4) from Q* (..., 3) on the sphere through the given Q: Qk = Qk0 sqrt(1 + (|Q*0|^2 - |Q*|^2) / Qk0^2).

    Measured from the given Q the root keeps its sign, and its digits where Qk is small; 1 - |Q*|^2 would not.
    """
    start = sum(np.where(k == i, Q[..., i], 0.0) for i in range(4))
    kept = _kept(Q, k)
    change = np.sum(kept * kept, axis=-1) - np.sum(Q_star * Q_star, axis=-1)
    root = start * np.sqrt(1 + change / (start * start))
    last = np.where(k == 3, root, Q_star[..., 2])
    inner = [np.where(k == i, root, np.where(k > i, Q_star[..., i], Q_star[..., i - 1])) for i in (1, 2)]
    return np.stack([np.where(k == 0, root, Q_star[..., 0]), *inner, last], axis=-1)
