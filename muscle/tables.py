"""Path lengths and the spatial Jacobian by kinds of muscles: code that does not grow with their number.

A muscle without wrapping surfaces is of the kind of its points: how many they are, which of them are conditional or
moving and, for the Jacobian, which velocities move which points. A kind is traced and differentiated once, and its code
runs over a table of the muscles of that kind: poses of bodies in, the length l out, or from the wrenches
(f, m) = (dl/dx, x x dl/dx) of the points x

    dl/du_j = sum over points that u_j moves of  f . v_j + m . omega_j.

omega_j is the angular velocity of the body at u_j = 1 and v_j the velocity of its point at the origin, in axes of the
world. The origin is that of the first body, near to which the model is, wherever in the world. Motion is seen from the
lowest common ancestor of the path's bodies: velocities above it do not change the length. Muscles with wrapping
surfaces, whose contacts are sought by solvers, are evaluated one by one with the formulas of `myoquat.muscle.path`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import cross, matvec
from myoquat.kernels import Program
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.typing import Array
from myoquat.muscle import jacobians
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, lengths, straight_length
from myoquat.muscle.points import ConditionalPoint, DrivenPoint, PathPoint

__all__ = ["FEWEST", "jacobian_program", "length_program", "tables_pay"]

# Muscles without surfaces from which tables pay: with 92, J takes as long per pose and 3/5 as long to build; with 18,
# 15 % longer per pose and as long to build.
FEWEST = 50

FIXED, CONDITIONAL, MOVING = range(3)

Points: TypeAlias = tuple[int, ...]  # of each point of a path: FIXED, CONDITIONAL or MOVING


class _Kind(NamedTuple):
    """What the code of a muscle's row of the Jacobian depends on.

    points; moved, of each column, the points that the motion of bodies carries along; slides, of each velocity of a
    moving point in its body, (point, column).
    """

    points: Points
    moved: tuple[tuple[int, ...], ...]
    slides: tuple[tuple[int, int], ...]


def tables_pay(model: Model) -> bool:
    """Whether the model has muscles enough for tables to pay."""
    return sum(not muscle.wraps for muscle in model.muscles) >= FEWEST


def length_program(model: Model) -> Program:
    """The program q (nq,) -> "lengths" (m,)."""
    return _Writer(model).lengths()


def jacobian_program(model: Model) -> Program:
    """The program q (nq,) -> "velocity" (m, nu), J with dl/dt = J u."""
    return _Writer(model).jacobian()


@dataclass(frozen=True)
class _Row:
    """A muscle without surfaces: its number, its kind, and the velocity of each column and slide of it."""

    muscle: int
    path: tuple[PathPoint, ...]
    kind: _Kind
    columns: tuple[int, ...]

    def places(self, which: int) -> list[tuple[int, int]]:
        """(muscle, number) of its points of a sort."""
        return [(self.muscle, i) for i, sort in enumerate(self.kind.points) if sort == which]


class _Writer:
    """Writes the stages of the programs of a model."""

    def __init__(self, model: Model) -> None:
        self.model, self.system = model, model.system
        self.frames = {name: k for k, name in enumerate(_frames(self.system))}
        self.single = [k for k, muscle in enumerate(model.muscles) if muscle.wraps]
        self.rows = [self._row(k, muscle) for k, muscle in enumerate(model.muscles) if not muscle.wraps]
        self.moving = [place for row in self.rows for place in row.places(MOVING)]
        self.conditional = [place for row in self.rows for place in row.places(CONDITIONAL)]
        self.slides = [(row.path[i], row.columns[column]) for row in self.rows for i, column in row.kind.slides]

    def _row(self, number: int, muscle: Muscle) -> _Row:
        base = self.system.lowest_common_ancestor([point.body for point in muscle.path])
        moved: dict[int, list[int]] = {}
        slides = []
        for i, point in enumerate(muscle.path):
            for j in self._carrying(point.body, base):
                moved.setdefault(j, []).append(i)
            slides += [(i, j) for j in self._driving(point)]
        columns = tuple(sorted({*moved, *(j for _, j in slides)}))
        kind = _Kind(
            _sorts(muscle),
            tuple(tuple(moved.get(j, ())) for j in columns),
            tuple((i, columns.index(j)) for i, j in slides),
        )
        return _Row(number, muscle.path, kind, columns)

    def _carrying(self, body: str, base: str) -> list[int]:
        """The velocities that move a body while `base` is held fast."""
        columns: list[int] = []
        while body != base:
            i = self.frames[body] - 1
            s = self.system.u_slices[i]
            columns += range(s.start, s.stop)
            body = self.system.bodies[i].parent
        return columns

    def _driving(self, point: PathPoint) -> list[int]:
        """The velocities on which the coordinates of a moving point depend."""
        names = point.driving if isinstance(point, DrivenPoint) else ()
        joints = {self._joint_of(name) for name in names}
        return [j for i in sorted(joints) for j in range(self.system.u_slices[i].start, self.system.u_slices[i].stop)]

    def _joint_of(self, name: str) -> int:
        """The body whose joint has a coordinate, or an angle that a quaternion has replaced."""
        if name in self.system.angle_names:
            return self.system.angle_names[name][0]
        place = self.system.coordinate_names.index(name)
        return next(i for i, s in enumerate(self.system.q_slices) if s.start <= place < s.stop)

    # ---- the programs ----------------------------------------------------------------------------------------

    def lengths(self) -> Program:
        program = Program("lengths", {"q": self.system.nq})
        program.formula(lambda q: _poses(self.system, q), ["q"], {"poses": (len(self.frames), 12)})
        self._write_points(program)
        program.zeros({"lengths": len(self.model.muscles)})
        for points, rows in _grouped(self.rows, lambda row: row.kind.points).items():
            store = {"output0": ("lengths", [row.muscle for row in rows])}
            self._add_kind(program, partial(_length, points), rows, store)
        if self.single:
            muscles = tuple(self.model.muscles[k] for k in self.single)
            self._add_single(program, lambda q: lengths(self.system, muscles, q), "lengths", len(muscles))
        return program

    def jacobian(self) -> Program:
        system, nu, m = self.system, self.system.nu, len(self.model.muscles)
        program = Program("velocity", {"q": system.nq})
        buffers = {"poses": (len(self.frames), 12), "axes": (nu, 6)}
        program.formula(lambda q: _poses_and_axes(system, q), ["q"], buffers)
        self._write_points(program)
        if self.slides:
            program.formula(lambda q: _slides(system, self.slides, q), ["q"], {"slides": (len(self.slides), 3)})
        program.zeros({"velocity": (m, nu)})
        program.view("entries", "velocity", m * nu)
        for kind, rows in _grouped(self.rows, lambda row: row.kind).items():
            if kind.moved:
                self._add_rows(program, kind, rows)
        if self.single:
            muscles = tuple(self.model.muscles[k] for k in self.single)
            formula = lambda q: jacobians.velocity_of(system, muscles, q)  # noqa: E731
            self._add_single(program, formula, "velocity", (len(muscles), nu))
        return program

    # ---- the stages ------------------------------------------------------------------------------------------

    def _write_points(self, program: Program) -> None:
        """Buffers "moved", where moving points are in their bodies, and "active", whether conditional ones are."""
        system, muscles = self.system, self.model.muscles
        if self.moving:
            moving = [muscles[k].path[i] for k, i in self.moving]
            formula = lambda q: _stacked([point.local(system, q) for point in moving])  # noqa: E731
            program.formula(formula, ["q"], {"moved": (len(moving), 3)})
        if self.conditional:
            conditional = [muscles[k].path[i] for k, i in self.conditional]
            active = lambda q: _stacked([np.where(x.active(system, q), 1.0, 0.0) for x in conditional])  # noqa: E731
            program.formula(active, ["q"], {"active": len(conditional)})

    def _add_kind(
        self, program: Program, formula: Callable[..., Array], rows: Sequence[_Row], store: Any, **gather: Any
    ) -> None:
        """The table of muscles of a kind: the poses of their points' bodies in, and what else places the points."""
        gather["poses"] = "poses", [[self.frames[point.body] for point in row.path] for row in rows]
        for name, which, places in (("moved", MOVING, self.moving), ("active", CONDITIONAL, self.conditional)):
            if which in rows[0].kind.points:
                gather[name] = name, [[places.index(place) for place in row.places(which)] for row in rows]
        local = [
            [point.position for point, sort in zip(row.path, row.kind.points, strict=True) if sort != MOVING]
            for row in rows
        ]
        parameters = {"local": np.array(local).reshape(len(rows), -1, 3)}
        program.table(formula, len(rows), gather=gather, parameters=parameters, store=store)

    def _add_rows(self, program: Program, kind: _Kind, rows: Sequence[_Row]) -> None:
        """The table of the rows of the Jacobian of muscles of a kind."""
        nu = self.system.nu
        links: dict[str, Any] = {"axes": ("axes", [row.columns for row in rows])}
        if kind.slides:
            first = {row.muscle: start for row, start in zip(self.rows, _starts(self.rows), strict=True)}
            numbers = [[first[row.muscle] + k for k in range(len(kind.slides))] for row in rows]
            links["slides"] = "slides", numbers
        store = {"output0": ("entries", [[row.muscle * nu + j for j in row.columns] for row in rows])}
        self._add_kind(program, partial(_row_of_jacobian, kind), rows, store, **links)

    def _add_single(self, program: Program, formula: Callable[[Array], Array], buffer: str, shape: Any) -> None:
        """The rows of muscles with surfaces, one by one."""
        program.formula(formula, ["q"], {"single": shape})
        count = len(self.single)
        links = {"value": ("single", range(count))}
        program.table(lambda value: value, count, gather=links, add={"output0": (buffer, self.single)})


# ---- formulas of elements ------------------------------------------------------------------------------------


def _sorts(muscle: Muscle) -> Points:
    """Of each point of a path, what it is."""
    return tuple(
        MOVING if isinstance(point, DrivenPoint) else CONDITIONAL if isinstance(point, ConditionalPoint) else FIXED
        for point in muscle.path
    )


def _grouped(rows: Sequence[_Row], key: Callable[[_Row], Any]) -> dict[Any, list[_Row]]:
    """The rows by their kind, in order."""
    groups: dict[Any, list[_Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _starts(rows: Sequence[_Row]) -> list[int]:
    """The number of the first slide of each row."""
    counts = [len(row.kind.slides) for row in rows]
    return [sum(counts[:k]) for k in range(len(counts))]


def _poses(system: ArticulatedSystem, q: Array) -> Array:
    """(bodies + 1, 12) R row by row, then p from the origin of the first body, of the ground and every body."""
    poses = system.poses(q)
    origin = poses[system.bodies[0].name][1]
    flat = [np.concatenate([R.reshape(9), p - origin]) for R, p in (poses[name] for name in _frames(system))]
    return np.stack(flat)


def _frames(system: ArticulatedSystem) -> tuple[str, ...]:
    return (system.ground, *system.body_names)


def _poses_and_axes(system: ArticulatedSystem, q: Array) -> tuple[Array, Array]:
    """`_poses`, and (nu, 6) v_j at the origin of the first body and omega_j of every velocity, in world axes."""
    poses = _poses(system, q)
    rows = []
    for pose, body, s in zip(poses[1:], system.bodies, system.q_slices, strict=True):
        R, p = pose[:9].reshape(3, 3), pose[9:]
        S_omega, S_v = body.joint.subspace(q[s])
        for j in range(body.joint.nu):
            omega = matvec(R, S_omega[:, j])
            rows.append(np.concatenate([matvec(R, S_v[:, j]) - cross(omega, p), omega]))
    return poses, np.stack(rows)


def _stacked(rows: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*rows, subok=True))


def _points(sorts: Points, poses: Array, local: Array, moved: Array | None) -> list[Array]:
    """The points (3,) of a path by the poses (n, 12) of their bodies; `local` and `moved` hold them there, in order."""
    fixed, moving = iter(range(len(sorts))), iter(range(len(sorts)))
    points = []
    for k, sort in enumerate(sorts):
        x = local[next(fixed)] if sort != MOVING or moved is None else moved[next(moving)]
        points.append(poses[k, 9:] + matvec(poses[k, :9].reshape(3, 3), x))
    return points


def _switches(sorts: Points, active: Array | None) -> list[Array | bool]:
    """Whether each point is on the path; `active`, 1 or 0, tells it of the conditional ones in order."""
    number = iter(range(len(sorts)))
    return [active[next(number)] > 0.5 if sort == CONDITIONAL and active is not None else True for sort in sorts]


def _length(
    sorts: Points, *, poses: Array, local: Array, moved: Array | None = None, active: Array | None = None
) -> Array:
    """() the length of a path."""
    return straight_length(_points(sorts, poses, local, moved), _switches(sorts, active))


def _row_of_jacobian(
    kind: _Kind,
    *,
    axes: Array,
    poses: Array,
    local: Array,
    slides: Array | None = None,
    moved: Array | None = None,
    active: Array | None = None,
) -> Array:
    """(c,) dl/du_j for the columns of a muscle with the axes (c, 6)."""
    points = _points(kind.points, poses, local, moved)
    f = _gradients(points, _switches(kind.points, active))
    wrenches = [np.concatenate([f[i], cross(x, f[i])]) for i, x in enumerate(points)]
    sums = {some: sum(wrenches[i] for i in some) for some in kind.moved if some}
    entries = [np.sum(sums[some] * axes[c]) if some else np.zeros(()) for c, some in enumerate(kind.moved)]
    for k, (i, c) in enumerate(kind.slides):
        slide = np.zeros(3) if slides is None else slides[k]
        entries[c] = entries[c] + np.sum(f[i] * matvec(poses[i, :9].reshape(3, 3), slide))
    return _stacked(entries)


def _gradients(points: list[Array], on: list[Array | bool]) -> Array:
    """(n, 3) dl/dx of the points of a path."""
    n = len(points)

    def length(x: Array) -> Array:
        rows = x.reshape(n, 3)
        return straight_length([rows[i] for i in range(n)], on).reshape(1)

    result: Array = jacobian_at(length, np.concatenate(points)).reshape(n, 3)
    return result


def _slides(system: ArticulatedSystem, slides: Sequence[tuple[PathPoint, int]], q: Array) -> Array:
    """(k, 3) the velocities of moving points in their bodies' frames, each for u_j = 1 of one column j."""

    def places(motion: Array) -> Array:
        after = system.displaced(q, motion)
        return np.concatenate([point.local(system, after) for point, _ in slides])

    rates = jacobian_at(places, np.zeros(system.nu), like=q)
    return np.stack([rates[3 * k : 3 * k + 3, j] for k, (_, j) in enumerate(slides)])
