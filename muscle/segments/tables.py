"""Path lengths and the spatial Jacobian by types of segments: code that does not grow with the number of muscles.

A type of segments is traced and differentiated once, and its code runs over a table of all segments of that type. The
poses of bodies go in, and the length comes out. For a Jacobian, the forces at its points x are f = dl/dx. They give the
wrenches (f, m) = sum (f, x x f) on each of its bodies. A velocity u_j between a body and the lowest common ancestor of
the segment's bodies then changes the length by

    dl/du_j = f . v_j + m . omega_j,

where omega_j is the angular velocity of the body at u_j = 1 and v_j the velocity of its point at the origin. Both are
in axes of the world. The origin is that of the first body, near to which the model is, wherever in the world.
Velocities above the common ancestor do not change the length.

Coordinates have columns of the same form, from the derivative of the pose of their joint. Off the unit sphere R(Q) is
no rotation. There a component Q_k of a quaternion also strains what its joint carries, by Q_k W. It adds the part Q_k W
: sum (f x^T + x f^T) / 2 over all points that the joint carries, whether or not the segment is on one side of it.

Solvers find the contacts of paths before the tables run (`myoquat.muscle.wrapping`). A span on a surface stays where it
is on its body, since the path is the shortest.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

import numpy as np

from myoquat.core import Array
from myoquat.joints.crossovers import MinRows
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import cross, joined, matvec, vecmat
from myoquat.kernels.control_flow.table_loop import Block, RowType, Run, table_loop
from myoquat.kernels.tracing.context import becomes_loops
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.path import MusclePath, different_paths

from .columns import MOTIONS, Columns, Reach
from .lengths import coordinate_jacobian, lengths as lengths_of_each, velocity_jacobian
from .path_segments import Segment, SegmentType, cut
from .stops import MOVING, SURFACE, placed_paths, stops_length, stops_of

Paths = tuple[MusclePath, ...]


def tables_pay(paths: Paths) -> bool:
    """Whether there are paths enough for tables to pay."""
    return MinRows.PATHS.reached_by(len(paths))


def path_lengths(system: ArticulatedSystem, paths: Paths, q: Array) -> Array:
    """(..., m) path lengths at q (..., nq): the formula, by tables in kernels where these pay."""
    by_tables = tables_pay(paths) and becomes_loops(q)
    return table_lengths(system, paths, q) if by_tables else lengths_of_each(system, paths, q)


def path_jacobian(
    system: ArticulatedSystem, paths: Paths, wrt: str, q: Array, eliminated: Array | None = None
) -> Array:
    """(..., m, n) the derivative of path lengths at q (..., nq): the formula, by tables in kernels where these pay.

    "velocity"     J with dl/dt = J u
    "coordinates"  dl/dq
    "constrained"  dl/dQ*, where `eliminated` (..., balls) is the dropped component of each quaternion
    """
    if tables_pay(paths) and becomes_loops(q):
        return table_jacobian(system, paths, wrt, q, eliminated)
    if wrt == "velocity":
        return velocity_jacobian(system, paths, q)
    return coordinate_jacobian(system, paths, q, eliminated)


def table_lengths(system: ArticulatedSystem, paths: Paths, q: Array) -> Array:
    """(m,) path lengths at q (nq,) by tables."""
    return _Tables(system, paths, q).lengths()


def table_jacobian(
    system: ArticulatedSystem, paths: Paths, wrt: str, q: Array, eliminated: Array | None = None
) -> Array:
    """(m, n) `path_jacobian` at q (nq,) by tables; exact where |Q| = 1."""
    columns = Columns(system, wrt)
    return _Tables(system, paths, q, strained=bool(columns.straining)).jacobian(columns, eliminated)


class _Cells:
    """Arrays (rows, width) one after the other, the cells of a loop over tables."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.widths = {name: array.shape[1] for name, array in arrays.items()}
        self.firsts = dict(zip(arrays, accumulate((x.size for x in arrays.values()), initial=0), strict=False))
        self.all = np.concatenate([np.asarray(x, dtype=object).reshape(-1) for x in arrays.values()])

    def block(self, name: str, rows: Array, count: int = 1) -> Block:
        """Of every row of a table, so many rows of an array from one on."""
        return Block(self.firsts[name] + self.widths[name] * rows, np.arange(count * self.widths[name]))


class _Tables:
    """The loop over the segments of some paths at a pose q (nq,): of the different ones, whose results all equal ones
    have."""

    def __init__(self, system: ArticulatedSystem, paths: Paths, q: Array, strained: bool = False) -> None:
        self.system, self.q, self.strained = system, q, strained
        firsts, self.numbers = different_paths(paths)
        self.stops = stops_of([paths[k] for k in firsts])
        self.segments = cut(system, self.stops)
        self.types: dict[SegmentType, list[Segment]] = {}
        for segment in self.segments:
            self.types.setdefault(segment.type, []).append(segment)
        self.frames = {name: k for k, name in enumerate((system.ground, *system.body_names))}
        self.placed = sorted({k for s in self.segments if not self._is_alone(s.type) for k in self._met(s)})
        stops = [stop for path in self.stops for stop in path]
        self.rows = {
            "moved": [stop.number for stop in stops if stop.sort == MOVING],
            "active": [stop.number for stop in stops if stop.sort != SURFACE and stop.conditional],
            "touching": [stop.number for stop in stops if stop.sort == SURFACE],
        }
        self.at = [stop for path in placed_paths(system, paths, q)[1] for stop in path]

    def _is_alone(self, segment_type: SegmentType) -> bool:
        """Whether a segment is all in one body and seen from there: without strains, which need its pose."""
        return not segment_type.bodies and not self.strained

    def _met(self, segment: Segment) -> list[int]:
        """The frames of the bodies on which a segment has stops."""
        return [self.frames[name] for name in segment.met]

    # ---- the loops -------------------------------------------------------------------------------------------

    def lengths(self) -> Array:
        constant = np.zeros((len(self.stops), 1))
        for segment_type, members in self.types.items():
            if segment_type.constant:
                points = [(x,) for x in _positions(members).swapaxes(0, 1)]
                lengths = segment_type.share * stops_length(points, [True] * len(points))
                np.add.at(constant[:, 0], [segment.path for segment in members], lengths)
        cells = self._cells({"lengths": constant}, {})
        types = [
            self._row_type(cells, partial(_length, segment_type, self._is_alone(segment_type)), members,
                           [cells.block("lengths", np.array([segment.path for segment in members]))], added=True)
            for segment_type, members in self.types.items() if not segment_type.constant
        ]  # fmt: skip
        return _run(cells, types, constant.size)[self.numbers]

    def jacobian(self, columns: Columns, eliminated: Array | None) -> Array:
        reach, given = Reach(columns, self.types), () if eliminated is None else (eliminated,)
        moved = reach.moved(self._from_first()[1:], self.q, *given)
        motions = {name: _stacked(moved[name], width) for name, width in MOTIONS.values()}
        forces = {name: np.full((reach.forces[name], width), None) for name, (_, width) in MOTIONS.items()}
        size = len(self.stops) * columns.size
        cells = self._cells({"entries": np.zeros((size, 1))}, motions | forces)
        types = []
        for segment_type, rows in reach.rows.items():
            formula = partial(_wrenches, segment_type, self._is_alone(segment_type), self.strained)
            gives = [cells.block(force, numbers[:, 0], numbers.shape[1]) for force, numbers in rows.items()]
            types.append(self._row_type(cells, formula, self.types[segment_type], gives))
        for force, count, (number, motion, entry) in reach.effects:
            takes = cells.block(force, number), cells.block(MOTIONS[force][0], motion, count)
            types.append(RowType(_entries, takes, (cells.block("entries", entry, count),), added=(True,)))
        return _run(cells, types, size).reshape(len(self.stops), columns.size)[self.numbers]

    def _cells(self, results: dict[str, Array], more: dict[str, Array]) -> _Cells:
        """The results, what the rows of segments take, and more.

        poses     (frames, 12) R row by row, then p from the origin of the first body, of every body of a table
        moved     where moving points are in their bodies
        active    whether conditional points are on their paths
        touching  the spans on surfaces
        """
        poses = self._from_first()
        placed = {
            "poses": _stacked([joined([poses[k][0].reshape(9), poses[k][1]]) for k in self.placed], 12),
            "moved": _stacked([self.at[k].numbers for k in self.rows["moved"]], 3),
            "active": _stacked([self.at[k].flag for k in self.rows["active"]], 1),
            "touching": _stacked([joined([self.at[k].numbers, self.at[k].flag]) for k in self.rows["touching"]], 9),
        }
        return _Cells(results | placed | more)

    def _row_type(
        self, cells: _Cells, formula: Callable[[dict[str, list[Array]]], Array], members: list[Segment],
        gives: Sequence[Block], added: bool = False,
    ) -> RowType:  # fmt: skip
        """The segments of a type: the poses of their bodies in, and what else positions their stops."""
        takes: list[tuple[str, Array]] = []
        if not self._is_alone(members[0].type):
            takes += [("poses", k) for k in np.searchsorted(self.placed, [self._met(s) for s in members]).T]
        for name, known in self.rows.items():
            at = {number: k for k, number in enumerate(known)}
            found = [[at[stop.number] for stop in segment.stops if stop.number in at] for segment in members]
            takes += [(name, k) for k in np.array(found, dtype=int).T]

        def element(*blocks: Array) -> Array:
            given: dict[str, list[Array]] = {name: [] for name, _ in takes}
            for (name, _), block in zip(takes, blocks, strict=False):
                given[name].append(block)
            return formula(given | {"fixed": list(blocks[-1].reshape(-1, 3))})

        numbers = _positions(members).reshape(len(members), -1)
        blocks = tuple(cells.block(name, rows) for name, rows in takes)
        return RowType(element, blocks, tuple(gives), numbers, (added,) * len(gives))

    def _from_first(self) -> list[tuple[Array, Array]]:
        """R and p of the ground and every body, p from the origin of the first body."""
        poses = self.system.poses(self.q)
        origin = poses[self.system.bodies[0].name][1]
        return [(R, p - origin) for R, p in (poses[name] for name in self.frames)]


def _run(cells: _Cells, types: Sequence[RowType], size: int) -> Array:
    """(size,) what the first cells hold after all rows of each type."""
    order = [Run(k, 0, len(row_type.gives[0].first)) for k, row_type in enumerate(types)]
    return table_loop(cells.all, types, order, size)


# ---- formulas of elements ------------------------------------------------------------------------------------


def _positions(members: Sequence[Segment]) -> Array:
    """(segments, n, 3) the fixed points of segments of a type."""
    return np.array([segment.positions for segment in members]).reshape(len(members), -1, 3)


def _stacked(rows: Sequence[Array], width: int) -> Array:
    """(n, width) rows one below the other."""
    return np.stack(rows) if rows else np.zeros((0, width))


def _laid(
    segment_type: SegmentType, alone: bool, given: dict[str, list[Array]]
) -> tuple[list[tuple[Array, ...]], list[Array | bool]]:
    """The stops of a segment, as `stops_length` takes them, and which are on the path.

    given  poses (bodies, 12), fixed and moved points (n, 3), and spans `touching` surfaces (n, 9), all in their bodies,
           and which conditional points are `active` (n,), 1 or 0. Without poses where all is `alone` in one body
    """
    numbered = {name: iter(range(len(rows))) for name, rows in given.items()}
    stops: list[tuple[Array, ...]] = []
    on: list[Array | bool] = []

    def taken(name: str) -> Array:
        return given[name][next(numbered[name])]

    def placed(body: int, x: Array) -> Array:
        if alone:
            return x
        pose = given["poses"][body - segment_type.met.start]
        return pose[9:] + matvec(pose[:9].reshape(3, 3), x)

    for sort, body, conditional in segment_type.stops:
        if sort == SURFACE:
            x = taken("touching")
            stops.append((placed(body, x[:3]), placed(body, x[3:6]), x[6], x[7]))
            on.append(x[8] > 0.5)
        else:
            stops.append((placed(body, taken("moved" if sort == MOVING else "fixed")),))
            on.append(taken("active")[0] > 0.5 if conditional else True)
    return stops, on


def _length(segment_type: SegmentType, alone: bool, given: dict[str, list[Array]]) -> Array:
    """(1,) the length of a segment."""
    return segment_type.counted(stops_length(*_laid(segment_type, alone, given))).reshape(1)


def _wrenches(segment_type: SegmentType, alone: bool, strained: bool, given: dict[str, list[Array]]) -> Array:
    """The effect of dl/dx on bodies and on moving points, one after the other.

    pulls    (n, 6) on the bodies beside the ancestor
    strains  (bodies, 6) on each body that has stops, if `strained`
    pushes   (n, 3) on moving points in their bodies' axes
    """
    stops, on = _laid(segment_type, alone, given)
    points = [(i, x) for i, stop in enumerate(stops) for x in stop[:2]]

    def length(x: Array) -> Array:
        rows = iter(range(len(points)))
        moved = [(*(x[3 * k : 3 * k + 3] for _, k in zip(stop[:2], rows, strict=False)), *stop[2:]) for stop in stops]
        return segment_type.counted(stops_length(moved, on)).reshape(1)

    gradient = jacobian_at(length, joined([x for _, x in points]))
    forces = [(i, x, gradient[0, 3 * k : 3 * k + 3]) for k, (i, x) in enumerate(points)]
    on_bodies = [
        sum((joined([f, cross(x, f)]) for i, x, f in forces if segment_type.stops[i][1] == body), np.zeros(6))
        for body in range(1, segment_type.bodies + 1)
    ]
    on_points = [
        f if alone else vecmat(f, given["poses"][segment_type.stops[i][1] - segment_type.met.start][:9].reshape(3, 3))
        for i, _, f in forces
        if segment_type.stops[i][0] == MOVING
    ]
    strains = [
        sum((_strain(x, f) for i, x, f in forces if segment_type.stops[i][1] == body), np.zeros(6))
        for body in (segment_type.met if strained else ())
    ]
    return joined([*on_bodies, *strains, *on_points])


def _strain(x: Array, f: Array) -> Array:
    """(6,) what a force does at x as all around is strained by W (6,), as xx, yy, zz, xy, xz, yz."""
    return joined([f * x, f[[0, 0, 1]] * x[[1, 2, 2]] + f[[1, 2, 2]] * x[[0, 0, 1]]])


def _entries(force: Array, axes: Array) -> Array:
    """(n,) what a force (k,) does along axes (n k,)."""
    return np.sum(axes.reshape(-1, len(force)) * force, axis=-1)
