"""Path lengths and the spatial Jacobian by kinds of stretches: code that does not grow with the number of muscles.

A stretch of a path runs from a point that is always on it to the next such point, over conditional points and surfaces
in between. Its kind is what it runs over: which of its points are conditional or moving, where there are surfaces, and
which of them share a body. A kind is traced and differentiated once, and its code runs over a table of all stretches
of that kind: poses of bodies in, the length out, or from the forces f = dl/dx at its points x the wrenches
(f, m) = sum (f, x x f) on each of its bodies. A velocity u_j between a body and the lowest common ancestor of the
stretch's bodies then changes the length by

    dl/du_j = f . v_j + m . omega_j,

omega_j being the angular velocity of the body at u_j = 1 and v_j the velocity of its point at the origin, in axes of
the world. The origin is that of the first body, near to which the model is, wherever in the world. Velocities above the
common ancestor do not change the length. What paths touch is sought by solvers (`myoquat.muscle.wrapping`), before the
tables; a span on a surface stays where it is on its body, since the path is the shortest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels import Program
from myoquat.kernels.arrays import as_array
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.typing import Array
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, contacts, stops_length
from myoquat.muscle.points import ConditionalPoint, DrivenPoint, PathPoint

__all__ = ["FEWEST", "jacobian_program", "length_program", "tables_pay"]

# Muscles from which tables pay. J of gait2392's 92 and of Rajagopal2016's 80 takes as long per pose as muscle by muscle
# and 2/3 as long to build; of a shoulder's 33 it takes 1/20 longer per pose and 9/10 as long to build.
FEWEST = 50

FIXED, MOVING, SURFACE = range(3)


def tables_pay(model: Model) -> bool:
    """Whether the model has muscles enough for tables to pay."""
    return len(model.muscles) >= FEWEST


def length_program(model: Model) -> Program:
    """The program q (nq,) -> "lengths" (m,)."""
    return _Writer(model).lengths()


def jacobian_program(model: Model) -> Program:
    """The program q (nq,) -> "velocity" (m, nu), J with dl/dt = J u."""
    return _Writer(model).jacobian()


class _Stop(NamedTuple):
    """A point of a path, or its span on a surface.

    frame; sort; the number of a conditional point's switch, -1 without; the number of a moving point or of a span; and
    the position of a fixed point.
    """

    frame: int
    sort: int
    switch: int = -1
    number: int = -1
    position: tuple[float, ...] = ()


class _Kind(NamedTuple):
    """What the code of a stretch depends on: of each stop its sort, the number of its body and whether it has a switch;
    and the numbers of the bodies below their common ancestor. A stretch in one body is seen from there."""

    stops: tuple[tuple[int, int, bool], ...]
    bodies: int
    pulled: tuple[int, ...]

    @property
    def alone(self) -> bool:
        """Whether all of it is in one body."""
        return self.bodies == 1

    @property
    def constant(self) -> bool:
        """Whether its length never changes."""
        return self.alone and all(sort == FIXED and not switch for sort, _, switch in self.stops)


@dataclass(frozen=True)
class _Stretch:
    """Stops of a muscle, by its number, and the frames of its bodies, the common ancestor first if it is among them."""

    muscle: int
    stops: tuple[_Stop, ...]
    frames: tuple[int, ...]
    kind: _Kind

    def numbers(self, sort: int) -> list[int]:
        """Of its moving points, or of its spans."""
        return [stop.number for stop in self.stops if stop.sort == sort]

    @property
    def switches(self) -> list[int]:
        """Of its conditional points."""
        return [stop.switch for stop in self.stops if stop.switch >= 0]

    @property
    def positions(self) -> list[tuple[float, ...]]:
        """Of its fixed points."""
        return [stop.position for stop in self.stops if stop.sort == FIXED]


class _Paths:
    """The stretches of a model's paths, and the points and spans on surfaces that their stops number."""

    def __init__(self, model: Model) -> None:
        self.model, system = model, model.system
        self.moving: list[PathPoint] = []
        self.conditional: list[PathPoint] = []
        self.spans = 0
        self.frames = {name: k for k, name in enumerate((system.ground, *system.body_names))}
        self.parents = [0, *(self.frames[body.parent] for body in system.bodies)]
        self.ancestor, self.kind = cache(self._ancestor), cache(self._kind)
        self.stretches = [s for k, muscle in enumerate(self.model.muscles) for s in self._cut(k, muscle)]

    def chain(self, frame: int, base: int) -> list[int]:
        """The frames from one on down to what hangs on `base`, which carries it."""
        found = []
        while frame != base:
            found.append(frame)
            frame = self.parents[frame]
        return found

    def _ancestor(self, frames: tuple[int, ...]) -> int:
        """The frame farthest from the ground that carries all of these."""
        chains = [[*self.chain(frame, 0), 0] for frame in frames]
        return next(frame for frame in chains[0] if all(frame in chain for chain in chains))

    def _cut(self, number: int, muscle: Muscle) -> Iterator[_Stretch]:
        """The stretches of a path."""
        since: list[_Stop] = []
        for stop in self._stops(muscle):
            since.append(stop)
            if len(since) > 1 and stop.sort != SURFACE and stop.switch < 0:
                yield self._stretch(number, tuple(since))
                since = [stop]

    def _stops(self, muscle: Muscle) -> Iterator[_Stop]:
        """The stops of a path, in order."""
        for i, point in enumerate(muscle.path):
            for wrap in muscle.wraps:
                if i and wrap.acts(i):
                    yield _Stop(self.frames[wrap.body], SURFACE, number=self.spans)
                    self.spans += 1
            switch = number = -1
            if isinstance(point, ConditionalPoint):
                switch = len(self.conditional)
                self.conditional.append(point)
            if isinstance(point, DrivenPoint):
                number = len(self.moving)
                self.moving.append(point)
            yield _Stop(self.frames[point.body], FIXED if number < 0 else MOVING, switch, number, point.position)

    def _stretch(self, muscle: int, stops: tuple[_Stop, ...]) -> _Stretch:
        return _Stretch(muscle, stops, *self.kind(tuple((stop.sort, stop.frame, stop.switch >= 0) for stop in stops)))

    def _kind(self, stops: tuple[tuple[int, int, bool], ...]) -> tuple[tuple[int, ...], _Kind]:
        """The frames of a stretch and its kind, from sort, frame and whether there is a switch of each stop."""
        met = tuple(dict.fromkeys(frame for _, frame, _ in stops))
        base = self.ancestor(met)
        frames = (base, *(frame for frame in met if frame != base)) if base in met else met
        seen = tuple((sort, frames.index(frame), switch) for sort, frame, switch in stops)
        return frames, _Kind(seen, len(frames), tuple(range(base in met, len(frames))))


class _Writer:
    """Writes the stages of the programs of a model."""

    def __init__(self, model: Model) -> None:
        self.model, self.system, self.paths = model, model.system, _Paths(model)
        self.kinds: dict[_Kind, list[_Stretch]] = {}
        for stretch in self.paths.stretches:
            self.kinds.setdefault(stretch.kind, []).append(stretch)
        self.placed = sorted({frame for s in self.paths.stretches if not s.kind.alone for frame in s.frames})

    # ---- the programs ----------------------------------------------------------------------------------------

    def lengths(self) -> Program:
        program = Program("lengths", {"q": self.system.nq})
        self._lay(program, {"poses": (len(self.placed), 12)}, lambda q: {"poses": self._poses(q)})
        program.zeros({"lengths": len(self.model.muscles)})
        for kind, members in self.kinds.items():
            to = "lengths", [stretch.muscle for stretch in members]
            if kind.constant:
                lengths = stops_length([(x,) for x in _positions(members).swapaxes(0, 1)], [True] * len(kind.stops))
                program.table(_itself, len(members), parameters={"value": lengths}, add={"output0": to})
            else:
                self._add_kind(program, partial(_length, kind), members, add={"output0": to})
        return program

    def jacobian(self) -> Program:
        m, nu, reach = len(self.model.muscles), self.system.nu, _Reach(self.paths, self.kinds)
        columns = reach.columns
        program = Program("velocity", {"q": self.system.nq})
        buffers = {"poses": (len(self.placed), 12), "axes": (len(columns), 6), "slides": (len(reach.slides), 3)}

        def laid(q: Array) -> dict[str, Array]:
            return {"poses": self._poses(q), "axes": self._axes(columns, q), "slides": self._slides(reach.slides, q)}

        self._lay(program, buffers, laid)
        program.reserve({"pulls": (reach.pulls, 6), "pushes": (reach.pushes, 3)})
        program.zeros({"velocity": (m, nu)})
        program.view("entries", "velocity", m * nu)
        for kind, rows in reach.rows.items():
            store = {name: (name, numbers) for name, numbers in rows.items()}
            self._add_kind(program, partial(_wrenches, kind), self.kinds[kind], store=store)
        for pulls, moved, entries in reach.joints:
            gather = {"pull": ("pulls", pulls), "axes": ("axes", np.searchsorted(columns, moved))}
            program.table(_entries, len(pulls), gather=gather, add={"output0": ("entries", moved + entries)})
        if reach.slides:
            pushes, slides, entries = np.array(reach.slid).T
            gather = {"pull": ("pushes", pushes), "axes": ("slides", slides[:, None])}
            program.table(_entries, len(pushes), gather=gather, add={"output0": ("entries", entries[:, None])})
        return program

    # ---- the stages ------------------------------------------------------------------------------------------

    def _lay(self, program: Program, buffers: dict[str, Any], formula: Callable[[Array], dict[str, Array]]) -> None:
        """The buffers of a formula, those that have rows, and with them "moved", where moving points are in their
        bodies, "active", whether conditional ones are on their paths, and "touching", the spans on surfaces."""
        paths = self.paths
        sizes = {"moved": (len(paths.moving), 3), "active": (len(paths.conditional),), "touching": (paths.spans, 9)}
        wanted = {name: shape for name, shape in (buffers | sizes).items() if shape[0]}

        def laid(q: Array) -> dict[str, Array]:
            found = formula(q) | {
                "moved": _stacked([point.local(self.system, q) for point in paths.moving]),
                "active": _stacked([np.where(x.active(self.system, q), 1.0, 0.0) for x in paths.conditional]),
                "touching": _stacked(list(self._spans(q))),
            }
            return {name: found[name] for name in wanted}

        if wanted:
            program.formula(laid, ["q"], wanted)

    def _add_kind(self, program: Program, formula: Callable[..., Any], members: list[_Stretch], **links: Any) -> None:
        """The table of stretches of a kind: the poses of their bodies in, and what else places their stops."""
        kind, gather = members[0].kind, {}
        if not kind.alone:
            gather["poses"] = "poses", np.searchsorted(self.placed, [stretch.frames for stretch in members])
        numbers = {
            "moved": [stretch.numbers(MOVING) for stretch in members],
            "touching": [stretch.numbers(SURFACE) for stretch in members],
            "active": [stretch.switches for stretch in members],
        }
        gather |= {name: (name, np.array(rows)) for name, rows in numbers.items() if rows[0]}
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
        return [(R, p - origin) for R, p in (poses[name] for name in self.paths.frames)]

    def _axes(self, columns: Sequence[int], q: Array) -> Array:
        """(columns, 6) v_j at the origin of the first body and omega_j of velocities, in world axes."""
        rows: dict[int, Array] = {}
        system = self.system
        for (R, p), body, at, moved in zip(
            self._from_first(q)[1:], system.bodies, system.q_slices, system.u_slices, strict=True
        ):
            S_omega, S_v = body.joint.subspace(q[at])
            for k, j in enumerate(range(moved.start, moved.stop)):
                omega = matvec(R, S_omega[:, k])
                rows[j] = joined([matvec(R, S_v[:, k]) - cross(omega, p), omega])
        return _stacked([rows[j] for j in columns])

    def _slides(self, slides: Sequence[tuple[PathPoint, int]], q: Array) -> Array:
        """(k, 3) the velocities of moving points in their bodies' frames, each for u_j = 1 of one column j."""
        points = list({id(point): point for point, _ in slides}.values())
        places = {id(point): 3 * k for k, point in enumerate(points)}

        def local(motion: Array) -> Array:
            after = self.system.displaced(q, motion)
            return joined([np.zeros(0), *(point.local(self.system, after) for point in points)])

        rates = jacobian_at(local, np.zeros(self.system.nu), like=q)
        return _stacked([rates[places[id(point)] : places[id(point)] + 3, j] for point, j in slides])

    def _spans(self, q: Array) -> Iterator[Array]:
        """(9,) P, Q, arc and place of every span on a surface, and 1 where the path touches it."""
        for pieces in contacts(self.system, self.model.muscles, q):
            for piece in pieces:
                for c in piece.contacts:
                    numbers = [c.arc, c.place, np.where(c.on, 1.0, 0.0)]
                    yield joined([c.P, c.Q, *(as_array(x)[..., None] for x in numbers)])


class _Reach:
    """Which velocities change which stretches.

    pulls, pushes  the wrenches on bodies and the forces on moving points, how many
    rows           of a kind, by the name of their buffer, the numbers (stretches, n) of these
    joints         of all joints with as many velocities n: of each pull that one carries, its number, the velocities
                   (k, n), and (k, 1) what leads from these to the entries of the Jacobian
    slides         the velocities j of moving points: (point, j)
    slid           the number of a push, that of its slide, and the entry
    """

    def __init__(self, paths: _Paths, kinds: dict[_Kind, list[_Stretch]]) -> None:
        self.paths, self.pulls, self.pushes = paths, 0, 0
        self.rows: dict[_Kind, dict[str, Array]] = {}
        self.slides: list[tuple[PathPoint, int]] = []
        self.slid: list[tuple[int, int, int]] = []
        self._carried: dict[int, list[tuple[int, int, int]]] = {}  # by n: pull, first velocity, first entry of the row
        self._slide: dict[tuple[int, int], int] = {}
        for kind, members in kinds.items():
            rows = {"pulls": [self._pull(stretch) for stretch in members],
                    "pushes": [self._push(stretch) for stretch in members]}  # fmt: skip
            kept = {name: np.array(numbers) for name, numbers in rows.items() if numbers[0]}
            if kept:
                self.rows[kind] = kept

    def _pull(self, stretch: _Stretch) -> list[int]:
        """The numbers of the wrenches on the bodies of a stretch."""
        system, first = self.paths.model.system, self.pulls
        base = self.paths.ancestor(stretch.frames)
        for k in stretch.kind.pulled:
            for frame in self.paths.chain(stretch.frames[k], base):
                s = system.u_slices[frame - 1]
                if s.stop > s.start:
                    row = self.pulls, s.start, stretch.muscle * system.nu
                    self._carried.setdefault(s.stop - s.start, []).append(row)
            self.pulls += 1
        return list(range(first, self.pulls))

    def _push(self, stretch: _Stretch) -> list[int]:
        """The numbers of the forces on the moving points of a stretch."""
        first = self.pushes
        for number in stretch.numbers(MOVING):
            for j in self._driving(self.paths.moving[number]):
                slide = self._slide.setdefault((number, j), len(self.slides))
                if slide == len(self.slides):
                    self.slides.append((self.paths.moving[number], j))
                self.slid.append((self.pushes, slide, stretch.muscle * self.paths.model.system.nu + j))
            self.pushes += 1
        return list(range(first, self.pushes))

    def _driving(self, point: PathPoint) -> list[int]:
        """The velocities on which the coordinates of a moving point depend."""
        names = point.driving if isinstance(point, DrivenPoint) else ()
        slices = self.paths.model.system.u_slices
        joints = {self._joint_of(name) for name in names}
        return [j for i in sorted(joints) for j in range(slices[i].start, slices[i].stop)]

    def _joint_of(self, name: str) -> int:
        """The body whose joint has a coordinate, or an angle that a quaternion has replaced."""
        system = self.paths.model.system
        if name in system.angle_names:
            return system.angle_names[name][0]
        place = system.coordinate_names.index(name)
        return next(i for i, s in enumerate(system.q_slices) if s.start <= place < s.stop)

    @cached_property
    def columns(self) -> list[int]:
        """The velocities that move bodies of a stretch."""
        return sorted({first + k for n, rows in self._carried.items() for _, first, _ in rows for k in range(n)})

    @property
    def joints(self) -> Iterator[tuple[Array, Array, Array]]:
        for n, rows in self._carried.items():
            pulls, first, entries = np.array(rows).T
            yield pulls, first[:, None] + np.arange(n), entries[:, None]


# ---- formulas of elements ------------------------------------------------------------------------------------


def _positions(members: Sequence[_Stretch]) -> Array:
    """(stretches, n, 3) the fixed points of stretches of a kind."""
    return np.array([stretch.positions for stretch in members]).reshape(len(members), -1, 3)


def _stacked(rows: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*rows, subok=True)) if rows else np.zeros((0, 3))


def _itself(*, value: Array) -> Array:
    return value


def _laid(kind: _Kind, given: dict[str, Array]) -> tuple[list[tuple[Array, ...]], list[Array | bool]]:
    """The stops of a stretch, as `stops_length` takes them, and which are on the path.

    given  poses (bodies, 12), fixed and moved points (n, 3), and spans `touching` surfaces (n, 9), all in their bodies,
           and which conditional points are `active` (n,), 1 or 0
    """
    places = {name: iter(range(len(rows))) for name, rows in given.items()}
    stops: list[tuple[Array, ...]] = []
    on: list[Array | bool] = []

    def taken(name: str) -> Array:
        row: Array = given[name][next(places[name])]
        return row

    def placed(body: int, x: Array) -> Array:
        if kind.alone:
            return x
        pose = given["poses"][body]
        there: Array = pose[9:] + matvec(pose[:9].reshape(3, 3), x)
        return there

    for sort, body, switch in kind.stops:
        if sort == SURFACE:
            x = taken("touching")
            stops.append((placed(body, x[:3]), placed(body, x[3:6]), x[6], x[7]))
            on.append(x[8] > 0.5)
        else:
            stops.append((placed(body, taken("moved" if sort == MOVING else "fixed")),))
            on.append(taken("active") > 0.5 if switch else True)
    return stops, on


def _length(kind: _Kind, **given: Array) -> Array:
    """() the length of a stretch."""
    return stops_length(*_laid(kind, given))


def _wrenches(kind: _Kind, **given: Array) -> dict[str, Array]:
    """What a unit of -dl does to the bodies below the common ancestor, "pulls" (n, 6), and to moving points in their
    bodies' axes, "pushes" (n, 3)."""
    stops, on = _laid(kind, given)
    points = [(i, x) for i, stop in enumerate(stops) for x in stop[:2]]

    def length(x: Array) -> Array:
        rows = iter(range(len(points)))
        moved = [(*(x[3 * k : 3 * k + 3] for _, k in zip(stop[:2], rows, strict=False)), *stop[2:]) for stop in stops]
        return stops_length(moved, on).reshape(1)

    gradient = jacobian_at(length, joined([x for _, x in points]))
    forces = [(i, x, gradient[0, 3 * k : 3 * k + 3]) for k, (i, x) in enumerate(points)]
    on_bodies = [
        sum((joined([f, cross(x, f)]) for i, x, f in forces if kind.stops[i][1] == body), np.zeros(6))
        for body in kind.pulled
    ]
    on_points = [
        f if kind.alone else vecmat(f, given["poses"][kind.stops[i][1], :9].reshape(3, 3))
        for i, _, f in forces
        if kind.stops[i][0] == MOVING
    ]
    return {name: _stacked(rows) for name, rows in (("pulls", on_bodies), ("pushes", on_points)) if rows}


def _entries(*, pull: Array, axes: Array) -> Array:
    """(n,) what a force (k,) does along axes (n, k)."""
    result: Array = np.sum(axes * pull, axis=-1)
    return result
