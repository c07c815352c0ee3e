"""Paths cut into segments between points that are always on them, and the types of these segments.

A segment runs from a point that is always on its path to the next such point, over conditional points and surfaces in
between. It is seen from the lowest common ancestor of the bodies on which it hangs: motion above does not change its
length. Segments over like stops are of one type, and one code serves them all.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple, Protocol

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.crossovers import MinRows
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.vectors import joined, matvec, rows_of, vecmat
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.tracing.context import memoize
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.loads import Load, body_wrenches, carried_force
from myoquat.muscle.path import MusclePath
from myoquat.muscle.points import PathPoint

from .lengths import lengths, velocity_jacobian
from .stops import FIXED, GIVEN, MOVING, SURFACE, PlacedStop, Stop, charts, moved_length, placed_paths, slides, together


class SegmentType(NamedTuple):
    """What the code of a segment depends on.

    stops   of each stop its sort, the number of its body (0 for the ancestor), and whether it may be off the path
    bodies  the number of other bodies
    share   by how much the segment's length counts
    """

    stops: tuple[tuple[int, int, bool], ...]
    bodies: int
    share: float = 1.0

    @property
    def met(self) -> range:
        """The numbers of the bodies that have stops: without the ancestor where none is on it."""
        return range(min(body for _, body, _ in self.stops), self.bodies + 1)

    @property
    def moving(self) -> int:
        """Moving points."""
        return sum(sort == MOVING for sort, _, _ in self.stops)

    @property
    def constant(self) -> bool:
        """Whether its length never changes."""
        return not self.bodies and all(sort == FIXED and not conditional for sort, _, conditional in self.stops)

    def counted(self, length: Array) -> Array:
        """The length as far as it counts."""
        return length if self.share == 1.0 else self.share * length


@frozen
class Segment:
    """Stops of a path, by its number, the body from which they are seen, the other bodies, and its type."""

    path: int
    stops: tuple[Stop, ...]
    base: str
    bodies: tuple[str, ...]
    type: SegmentType

    @property
    def points(self) -> list[PathPoint]:
        """Its moving points."""
        return [stop.point for stop in self.stops if stop.sort == MOVING and stop.point is not None]

    @property
    def positions(self) -> list[tuple[float, ...]]:
        """(3,) of its fixed points."""
        return [stop.point.position for stop in self.stops if stop.sort == FIXED and stop.point is not None]

    @property
    def met(self) -> list[str]:
        """The bodies that have stops."""
        return [(self.base, *self.bodies)[k] for k in self.type.met]


def cut(system: ArticulatedSystem, paths: Sequence[Sequence[Stop]]) -> list[Segment]:
    """The segments of paths, which are given by their stops."""

    @cache
    def seen(stops: tuple[tuple[int, str, bool], ...], share: float) -> tuple[str, tuple[str, ...], SegmentType]:
        names = tuple(dict.fromkeys(body for _, body, _ in stops))
        base = system.lowest_common_ancestor(names)
        others = tuple(name for name in names if name != base)
        numbers = {name: k for k, name in enumerate((base, *others))}
        kept = tuple((sort, numbers[body], conditional) for sort, body, conditional in stops)
        return base, others, SegmentType(kept, len(others), share)

    segments: list[Segment] = []
    for number, stops in enumerate(paths):
        since: list[Stop] = []
        for stop in stops:
            since = [stop] if stop.share == 0 else [*since, stop]
            if len(since) > 1 and not stop.conditional:
                own = seen(tuple((x.sort, x.body, x.conditional) for x in since), stop.share)
                segments.append(Segment(number, tuple(since), *own))
                since = [stop]
    return segments


# ---- Lengths and speeds of all paths, and the torques and wrenches of their tensions, by segments ------------------
# Code that grows with their types.
#
# Seen from the ancestor of a segment, its length l depends on the poses of the other bodies and on points that move
# in them. With their velocities x its rate is g . x, g = dl/dx. A tension F acts on them by -F g, which the joints
# below the ancestor take. Segments of one type stand once in a kernel, as a table
# (`myoquat.kernels.control_flow.table_loop`), whose element differentiates the length of one.


_SIZES = {FIXED: 0, GIVEN: 3, MOVING: 3, SURFACE: 8}  # entries of a row that place each


class Paths(Protocol):
    """Some paths at a state.

    length   (..., m) [m]
    speed    (..., m) [m/s], its rate at the velocities u
    """

    @property
    def length(self) -> Array: ...

    @property
    def speed(self) -> Array: ...

    def torque(self, tension: Array) -> Array:
        """(..., nu) the generalized forces -J^T F of tensions (..., m) [N]: the formula, on floats and symbols."""


def paths_at(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, u: Array) -> Paths:
    """Paths at q (..., nq) and u (..., nu), by whichever way is faster: the formula, on floats and
    symbols."""
    if MinRows.SEGMENTS.reached_by(len(paths)):
        return segments(system, paths, q, u)
    J = velocity_jacobian(system, paths, q)
    return _Few(lengths(system, paths, q), matvec(J, u), J)


@frozen
class _Few:
    """Paths by their Jacobian (..., m, nu)."""

    length: Array
    speed: Array
    J: Array

    def torque(self, tension: Array) -> Array:
        return -vecmat(tension, self.J)


@frozen
class PathSegments:
    """Paths by their segments, as `Paths`."""

    system: ArticulatedSystem
    q: Array
    length: Array
    speed: Array
    numbers: Sequence[int]  # of every path among the different ones, whose the segments are
    pulls: Sequence[tuple[Segment, Array]]  # segments that can change, and g of each
    slides: Mapping[int, Array]  # of moving points, by their id: d place / d motion (..., 3, nu)

    def torque(self, tension: Array) -> Array:
        total: Array = np.zeros(self.system.nu)
        for segment, load in self._loaded(tension):
            for k, point in enumerate(segment.points, start=2 * len(segment.bodies)):
                total = total + vecmat(load[..., 3 * k : 3 * k + 3], self.slides[id(point)])
        for base, wrenches in self._on_bodies(tension).items():
            poses = self.system.poses_from(base, self.q)
            total = total + carried_force(self.system, self.q, poses, wrenches, base)
        return total

    def wrenches(self, tension: Array) -> Array:
        """(..., bodies, 6) what tensions (..., m) do to each body: force [N] and torque [N m] at its origin, in world
        axes. The formula, on floats and symbols.

        A moving point pulls where it is; what moves it is a matter of its coordinate, and passes through that joint.
        The paths are of points (`Model.paths_on_bones`).
        """
        poses, loads = self.system.poses(self.q), list[Load]()
        for base, wrenches in self._on_bodies(tension).items():
            for name, wrench in wrenches.items():
                at, (f, n) = poses[name][1], (matvec(poses[base][0], x) for x in wrench)
                loads += [Load(name, at, f, n), Load(base, at, -f, -n)]
        return body_wrenches(self.system, self.q, loads)

    def _loaded(self, tension: Array) -> list[tuple[Segment, Array]]:
        """Segments that can change, and what tensions do along the velocities of each (..., n)."""
        on_paths: dict[int, Array] = {}
        for k, number in enumerate(self.numbers):
            pull = tension[..., k, None]
            on_paths[number] = on_paths[number] + pull if number in on_paths else pull
        return [(segment, -on_paths[segment.path] * g) for segment, g in self.pulls]

    def _on_bodies(self, tension: Array) -> dict[str, dict[str, tuple[Array, Array]]]:
        """By the ancestors of segments, force and torque on the other bodies at their origins, in its axes."""
        carried: dict[str, dict[str, tuple[Array, Array]]] = {}
        for segment, load in self._loaded(tension):
            on = carried.setdefault(segment.base, {})
            for k, name in enumerate(segment.bodies):
                f, n = load[..., 6 * k : 6 * k + 3], load[..., 6 * k + 3 : 6 * k + 6]
                on[name] = (on[name][0] + f, on[name][1] + n) if name in on else (f, n)
        return carried


@memoize
def segments(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, u: Array) -> PathSegments:
    """Paths at q (..., nq) and u (..., nu): the formula, on floats and symbols."""
    stops, on_paths, numbers = placed_paths(system, paths, q)
    found, placed = cut(system, stops), [stop for path in on_paths for stop in path]
    slid = slides(system, [x for s in found for x in s.points], q, together(charts(system, q, "velocity")))
    seen: dict[str, tuple[Poses, Poses]] = {}
    rows = []
    for segment in found:
        if segment.base not in seen:
            poses = system.poses_from(segment.base, q)
            seen[segment.base] = poses, system.shifts(q, u, poses, segment.base)
        poses, shifts = seen[segment.base]
        carried = [x for name in segment.bodies for x in reversed(shifts[name])]
        velocities = [*carried, *(matvec(slid[id(point)], u) for point in segment.points)]
        rows.append(_row(segment, poses, [placed[stop.number] for stop in segment.stops], velocities))
    results = _of_types(found, rows)
    sums: list[Array] = [np.zeros(2)] * len(stops)
    for segment, result in zip(found, results, strict=True):
        sums[segment.path] = sums[segment.path] + result[..., :2]
    rows = [sums[number] for number in numbers]
    both = rows_of(rows) if rows else np.zeros((*q.shape[:-1], 0, 2))
    pulls = [(segment, result[..., 2:]) for segment, result in zip(found, results, strict=True)]
    changing = [x for x in pulls if _velocities(x[0].type)]
    return PathSegments(system, q, both[..., 0], both[..., 1], numbers, changing, slid)


def wrenches(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, tensions: Array) -> Array:
    """(..., bodies, 6) `PathSegments.wrenches` of paths at q (..., nq): the formula, on floats and symbols."""
    return segments(system, paths, q, np.zeros(system.nu)).wrenches(tensions)


def _row(segment: Segment, poses: Poses, placed: Sequence[PlacedStop], velocities: Sequence[Array]) -> Array:
    """(..., n) poses of the bodies seen from the base, positions and flags of stops, and velocities."""
    parts = []
    for name in segment.bodies:
        R, p = poses[name]
        parts += [R.reshape((*R.shape[:-2], 9)), p]
    for stop, there in zip(segment.stops, placed, strict=True):
        if stop.sort != FIXED:
            parts.append(there.numbers)
        if stop.conditional:
            parts.append(there.flag)
    return joined([*parts, *velocities, np.zeros(0)])


def _of_types(found: Sequence[Segment], rows: Sequence[Array]) -> list[Array]:
    """[(..., 2 + velocities) the length of every segment, its rate and g], those of a type as a table."""
    groups: dict[tuple[SegmentType, int], list[int]] = {}
    for i, segment in enumerate(found):
        groups.setdefault((segment.type, rows[i].shape[-1]), []).append(i)
    results: dict[int, Array] = {}
    for (segment_type, _), members in groups.items():
        if not (MinRows.DIFFERENTIATED.reached_by(len(members)) and _velocities(segment_type)):
            results |= {i: _element(segment_type, rows[i], _numbers(found[i])) for i in members}
            continue
        stacked = rows_of(rows[i] for i in members)
        numbers = np.stack([_numbers(found[i]) for i in members])
        table = map_rows(partial(_element, segment_type), stacked, numbers, 2 + _velocities(segment_type))
        results |= {i: table[..., k, :] for k, i in enumerate(members)}
    return [results[i] for i in range(len(found))]


def _numbers(segment: Segment) -> Array:
    """(c,) the fixed points of a segment."""
    return np.array(segment.positions, dtype=float).reshape(-1)


# ---- one segment ---------------------------------------------------------------------------------------------


class _Laid(NamedTuple):
    """The numbers of a row: poses of the bodies by their numbers, the stops, and velocities."""

    poses: Poses
    stops: list[PlacedStop]
    velocities: Array


def _velocities(segment_type: SegmentType) -> int:
    """Velocities of bodies, (v, omega) of each, and of moving points."""
    return 6 * segment_type.bodies + 3 * segment_type.moving


def _element(segment_type: SegmentType, row: Array, numbers: Array) -> Array:
    """(..., 2 + velocities) the length of a segment, its rate and g, from its row and its fixed points."""
    laid = _laid(segment_type, row, numbers)
    zero = np.zeros(_velocities(segment_type))
    length = _measured(segment_type, laid, zero)
    if not zero.size:
        return joined([length, 0.0 * length])
    g = jacobian_at(lambda motion: _measured(segment_type, laid, motion), zero, like=row)[..., 0, :]
    return joined([length, np.sum(g * laid.velocities, axis=-1)[..., None], g])


def _laid(segment_type: SegmentType, row: Array, numbers: Array) -> _Laid:
    first, fixed = 12 * segment_type.bodies, 0
    poses: Poses = {"0": (np.eye(3), np.zeros(3))}
    for k in range(segment_type.bodies):
        R = row[..., 12 * k : 12 * k + 9]
        poses[str(k + 1)] = R.reshape((*R.shape[:-1], 3, 3)), row[..., 12 * k + 9 : 12 * k + 12]
    stops: list[PlacedStop] = []
    for sort, body, conditional in segment_type.stops:
        if sort == FIXED:
            x, fixed = numbers[..., fixed : fixed + 3], fixed + 3
        else:
            x, first = row[..., first : first + _SIZES[sort]], first + _SIZES[sort]
        on = row[..., first] > 0.5 if conditional else True
        first += conditional
        parts = (x[..., :3], x[..., 3:6], x[..., 6], x[..., 7]) if sort == SURFACE else (x,)
        stops.append(PlacedStop(str(body), parts, on))
    return _Laid(poses, stops, row[..., first:])


def _measured(segment_type: SegmentType, laid: _Laid, motion: Array) -> Array:
    """(..., 1) the length after a small motion (..., velocities) of its bodies and moving points."""
    moved = {
        str(k + 1): (motion[..., 6 * k + 3 : 6 * k + 6], motion[..., 6 * k : 6 * k + 3])
        for k in range(segment_type.bodies)
    }
    stops, slide = [], 6 * segment_type.bodies
    for (sort, _, _), stop in zip(segment_type.stops, laid.stops, strict=True):
        if sort == MOVING:
            stop = stop._replace(parts=(stop.parts[0] + motion[..., slide : slide + 3],))
            slide += 3
        stops.append(stop)
    return segment_type.counted(moved_length(stops, laid.poses, moved)[..., None])
