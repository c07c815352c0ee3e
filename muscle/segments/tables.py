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
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints.crossovers import MinRows
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import cross, joined, matvec, vecmat
from myoquat.kernels import Program
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.path import MusclePath, different_paths

from .columns import MOTIONS, Columns, Reach, entries, itself
from .path_segments import Segment, SegmentType, cut
from .stops import MOVING, SURFACE, placed_paths, stops_length, stops_of

Paths = tuple[MusclePath, ...]


def tables_pay(paths: Paths) -> bool:
    """Whether there are paths enough for tables to pay."""
    return MinRows.PROGRAM.reached_by(len(paths))


def where_it_pays(
    make: Callable[..., Program], system: ArticulatedSystem, paths: Paths, *options: str
) -> Callable[[], Program] | None:
    """What makes a program of paths where they are enough for tables, else None."""
    return partial(make, system, paths, *options) if tables_pay(paths) else None


def length_program(system: ArticulatedSystem, paths: Paths) -> Program:
    """The program q (nq,) -> "lengths" (m,)."""
    return _Writer(system, paths).lengths()


def jacobian_program(system: ArticulatedSystem, paths: Paths, wrt: str = "velocity") -> Program:
    """The program q (nq,) -> `wrt` (m, n), as in `evaluate.path_jacobian`; exact where |Q| = 1.

    "velocity"     J with dl/dt = J u
    "coordinates"  dl/dq
    "constrained"  dl/dQ*, of q and "eliminated" (balls,)
    """
    columns = Columns(system, wrt)
    return _Writer(system, paths, strained=bool(columns.straining)).jacobian(columns)


class _Writer:
    """Writes the stages of the programs of some paths: of the different ones, whose results all equal ones have."""

    def __init__(self, system: ArticulatedSystem, paths: Paths, strained: bool = False) -> None:
        self.system, self.paths, self.strained = system, paths, strained
        firsts, self.numbers = different_paths(paths)
        self.stops = stops_of([paths[k] for k in firsts])
        self.segments = cut(system, self.stops)
        self.types: dict[SegmentType, list[Segment]] = {}
        for segment in self.segments:
            self.types.setdefault(segment.type, []).append(segment)
        self.frames = {name: k for k, name in enumerate((self.system.ground, *self.system.body_names))}
        self.placed = sorted({k for s in self.segments if not self._is_alone(s.type) for k in self._met(s)})
        stops = [stop for path in self.stops for stop in path]
        self.moving = [stop.number for stop in stops if stop.sort == MOVING]
        self.spans = [stop.number for stop in stops if stop.sort == SURFACE]
        self.switches = [stop.number for stop in stops if stop.sort != SURFACE and stop.conditional]

    def _is_alone(self, segment_type: SegmentType) -> bool:
        """Whether a segment is all in one body and seen from there: without strains, which need its pose."""
        return not segment_type.bodies and not self.strained

    def _met(self, segment: Segment) -> list[int]:
        """The frames of the bodies on which a segment has stops."""
        return [self.frames[name] for name in segment.met]

    # ---- the programs ----------------------------------------------------------------------------------------

    def lengths(self) -> Program:
        program = Program("lengths", {"q": self.system.nq})
        self._lay(program, {"poses": (len(self.placed), 12)}, lambda q: {"poses": self._poses(q)})
        program.zeros({self._sums("lengths"): len(self.stops)})
        for segment_type, members in self.types.items():
            to = self._sums("lengths"), [segment.path for segment in members]
            if segment_type.constant:
                points = [(x,) for x in _positions(members).swapaxes(0, 1)]
                lengths = segment_type.share * stops_length(points, [True] * len(points))
                program.table(itself, len(members), parameters={"value": lengths}, add={"output0": to})
            else:
                formula = partial(_length, segment_type, self._is_alone(segment_type))
                self._add_type(program, formula, members, add={"output0": to})
        return self._shared(program, "lengths")

    def jacobian(self, columns: Columns) -> Program:
        name, reach = columns.wrt, Reach(columns, self.types)
        program = Program(name, columns.inputs)
        self._lay(program, {"poses": (len(self.placed), 12), **reach.buffers}, partial(self._moves, reach))
        program.reserve({force: (reach.forces[force], width) for force, (_, width) in MOTIONS.items()})
        sums = self._sums(name)
        program.zeros({sums: (len(self.stops), columns.size)})
        program.view("entries", sums, len(self.stops) * columns.size)
        for segment_type, rows in reach.rows.items():
            formula = partial(_wrenches, segment_type, self._is_alone(segment_type), self.strained)
            store = {force: (force, numbers) for force, numbers in rows.items()}
            self._add_type(program, formula, self.types[segment_type], store=store)
        for gather, to in reach.tables:
            program.table(entries, len(to[1]), gather=gather, add={"output0": to})
        return self._shared(program, name, columns.size)

    def _sums(self, name: str) -> str:
        """The buffer to which the segments of the different paths add: the output itself where all are different."""
        return name if len(self.stops) == len(self.paths) else "sums"

    def _shared(self, program: Program, name: str, *width: int) -> Program:
        """The program with the output of every path, which is that of its equal among the different ones."""
        if self._sums(name) != name:
            rows = np.arange(len(self.paths))
            program.reserve({name: (len(rows), *width)})
            gather = {"value": (self._sums(name), self.numbers)}
            program.table(itself, len(rows), gather=gather, store={"output0": (name, rows)})
        return program

    def _moves(self, reach: Reach, q: Array, *eliminated: Array) -> dict[str, Array]:
        """The poses, and how the bodies, and points on them, move with the columns."""
        moved = reach.moved(self._from_first(q)[1:], q, *eliminated)
        return {"poses": self._poses(q)} | {name: _stacked(rows) for name, rows in moved.items()}

    # ---- the stages ------------------------------------------------------------------------------------------

    def _lay(self, program: Program, buffers: dict[str, Any], formula: Callable[..., dict[str, Array]]) -> None:
        """Add the buffers of a formula that have rows, and three more with them.

        moved     where moving points are in their bodies
        active    whether conditional points are on their paths
        touching  the spans on surfaces
        """
        sizes = {
            "moved": (len(self.moving), 3),
            "active": (len(self.switches),),
            "touching": (len(self.spans), 9),
        }
        wanted = {name: shape for name, shape in (buffers | sizes).items() if shape[0]}

        def laid(q: Array, *given: Array) -> dict[str, Array]:
            placed = [stop for path in placed_paths(self.system, self.paths, q)[1] for stop in path]
            found = formula(q, *given) | {
                "moved": _stacked([placed[k].numbers for k in self.moving]),
                "active": _stacked([placed[k].flag[..., 0] for k in self.switches]),
                "touching": _stacked([joined([placed[k].numbers, placed[k].flag]) for k in self.spans]),
            }
            return {name: found[name] for name in wanted}

        if wanted:
            program.formula(laid, list(program.inputs), wanted)

    def _add_type(self, program: Program, formula: Callable[..., Any], members: list[Segment], **links: Any) -> None:
        """The table of segments of a type: the poses of their bodies in, and what else positions their stops."""
        gather: dict[str, Any] = {}
        if not self._is_alone(members[0].type):
            gather["poses"] = "poses", np.searchsorted(self.placed, [self._met(segment) for segment in members])
        for name, numbers in (("moved", self.moving), ("touching", self.spans), ("active", self.switches)):
            rows = {number: k for k, number in enumerate(numbers)}
            found = [[rows[stop.number] for stop in segment.stops if stop.number in rows] for segment in members]
            if found[0]:
                gather[name] = name, np.array(found)
        program.table(formula, len(members), gather=gather, parameters={"fixed": _positions(members)}, **links)

    # ---- where everything is at a pose -----------------------------------------------------------------------

    def _poses(self, q: Array) -> Array:
        """(frames, 12) R row by row, then p from the origin of the first body, of every body of a table."""
        poses = self._from_first(q)
        return _stacked([joined([poses[k][0].reshape(9), poses[k][1]]) for k in self.placed])

    def _from_first(self, q: Array) -> list[tuple[Array, Array]]:
        """R and p of the ground and every body, p from the origin of the first body."""
        poses = self.system.poses(q)
        origin = poses[self.system.bodies[0].name][1]
        return [(R, p - origin) for R, p in (poses[name] for name in self.frames)]


# ---- formulas of elements ------------------------------------------------------------------------------------


def _positions(members: Sequence[Segment]) -> Array:
    """(segments, n, 3) the fixed points of segments of a type."""
    return np.array([segment.positions for segment in members]).reshape(len(members), -1, 3)


def _stacked(rows: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*rows, subok=True)) if rows else np.zeros((0, 3))


def _laid(
    segment_type: SegmentType, alone: bool, given: dict[str, Array]
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
            on.append(taken("active") > 0.5 if conditional else True)
    return stops, on


def _length(segment_type: SegmentType, alone: bool, **given: Array) -> Array:
    """() the length of a segment."""
    return segment_type.counted(stops_length(*_laid(segment_type, alone, given)))


def _wrenches(segment_type: SegmentType, alone: bool, strained: bool, **given: Array) -> dict[str, Array]:
    """The effect of dl/dx on bodies and on moving points.

    pulls    (n, 6) on the bodies beside the ancestor
    pushes   (n, 3) on moving points in their bodies' axes
    strains  (bodies, 6) on each body that has stops, if `strained`
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
        f if alone else vecmat(f, given["poses"][segment_type.stops[i][1] - segment_type.met.start, :9].reshape(3, 3))
        for i, _, f in forces
        if segment_type.stops[i][0] == MOVING
    ]
    strains = [
        sum((_strain(x, f) for i, x, f in forces if segment_type.stops[i][1] == body), np.zeros(6))
        for body in (segment_type.met if strained else ())
    ]
    found = {"pulls": on_bodies, "pushes": on_points, "strains": strains}
    return {name: _stacked(rows) for name, rows in found.items() if rows}


def _strain(x: Array, f: Array) -> Array:
    """(6,) what a force does at x as all around is strained by W (6,), as xx, yy, zz, xy, xz, yz."""
    return joined([f * x, f[[0, 0, 1]] * x[[1, 2, 2]] + f[[1, 2, 2]] * x[[0, 0, 1]]])
