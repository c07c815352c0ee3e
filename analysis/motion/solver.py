"""Poses of all frames: compiled steps, and where each frame starts from."""

import functools
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, BoundedTable, frozen, scipy
from myoquat.joints.evaluation import compiled
from myoquat.joints.quaternion import quaternion_from_rotation, quaternion_multiply
from myoquat.kernels import while_loop

from .continuity import Hinges, free_hinges, named, turned_to, unwrapped
from .fitted import FittedMotion
from .problem import PoseProblem

STEPS_PER_CALL, MAX_CALLS = 32, 7  # of a kernel; a frame that needs more does not converge
MAX_RESTARTS = 3  # along constraints, of poses that have not converged
CONVERGED_STEP = 1e-8  # [rad or m] movement of the last step of a converged frame
BATCH_STRIDE = 32  # frames between those that a batch solves one after the other
FAR_START_DAMPING, NEAR_START_DAMPING = 1e-3, 1e-7  # initial damping far from and near the solution
PROJECTION_TOLERANCE = 1e-12  # |phi| of the constraints above which a pose is projected onto them
MAX_COUNTED_VIOLATION = 1e-7  # |phi| of the constraints up to which the cost of a pose counts
MAX_CONVERGED_VIOLATION = 1e-10  # |phi| of the constraints of a converged frame
MIN_RELATIVE_GAIN = 1e-9  # decrease of the cost at which another pose is better
FAR_FRAME_CHANGE = 0.5  # [rad or m] change of a coordinate above which a frame is far from the one before
RANDOM_STARTS = 32  # of a first frame without a start, beside the orientations of its root
RANDOM_START_DEVIATION = 0.7  # [rad] standard deviation of the random starts
RETRY_COST_RATIO = 4.0  # cost over that of the neighbours, above which a frame is solved again from them
MAX_SOLVERS = 8  # that are kept


@functools.cache
def _cube() -> Array:
    """(24, 4) the rotations of a cube."""
    return quaternion_from_rotation(scipy.spatial.transform.Rotation.create_group("O"))


class Frames(NamedTuple):
    """Data of the frames (t, size of the problem's data), and what is missing of them: markers (t, n), sensors
    (t, s)."""

    data: Array
    lost: Array
    silent: Array


@frozen(eq=False)
class _Solver:
    """The kernels of a problem.

    near    poses from nearby: what is tried need not be on the constraints
    far     poses from far
    assess  how good poses are
    """

    near: Callable[..., Array]
    far: Callable[..., Array]
    assess: Callable[..., tuple[Array, ...]]
    problem: PoseProblem

    @classmethod
    def of(cls, problem: PoseProblem) -> "_Solver":
        """The kernels, kept for the next frames of the same problem unless code of a user is part of it."""
        return SOLVERS.get(problem, lambda: cls._made(problem), lambda: problem.lasting)

    @classmethod
    def _made(cls, problem: PoseProblem) -> "_Solver":
        def steps(name: str, far: bool) -> Callable[..., Array]:
            def solved(z: Array, data: Array) -> Array:
                step = partial(problem.step, far=far)
                found = while_loop(lambda at: at.left > 0, step, problem.search(z), data, max_steps=STEPS_PER_CALL)
                return problem.packed(problem.finished(found, CONVERGED_STEP))

            return compiled((name, problem.key), solved, {"z": problem.search_size, "data": problem.size}, ["z_new"])

        def assessed(q: Array, data: Array) -> tuple[Array, ...]:
            return (problem.cost(q, data), *problem.errors(q, data), problem.violation(q, data))

        near = steps("pose_steps", False)
        assess: Any = compiled(("pose_errors", problem.key), assessed, {"q": problem.system.nq, "data": problem.size})
        return cls(near, near if problem.equations is None else steps("pose_steps_from_far", True), assess, problem)

    def onto(self, q: Array, data: Array) -> Array:
        """(..., nq) poses with bounds kept, couplers followed, and brought onto the constraints where that is possible
        nearby."""
        q = self.problem.allowed(q)
        if self.problem.equations is None:
            return q
        found = self.problem.bring(q, np.broadcast_to(self.problem.unpacked(data).time, q.shape[:-1]))
        finite = np.isfinite(found).all(axis=-1, keepdims=True)
        return np.where(finite, found, q)

    def __call__(self, q: Array, data: Array, damping: float = FAR_START_DAMPING) -> tuple[Array, Array]:
        """(poses (..., nq) from where they start, sizes (...) of the steps that they would take next)."""
        near = damping == NEAR_START_DAMPING
        found, size = self._run(self.near if near else self.far, q, data, damping)
        for again in range(MAX_RESTARTS if self.problem.constraints else 0):
            rows = ~(size <= CONVERGED_STEP)
            if not rows.any():
                break
            start = q[rows] if near and not again else self.onto(found[rows], data[rows])
            found[rows], size[rows] = self._run(self.far, start, data[rows], FAR_START_DAMPING)
        return found, size

    def _run(self, solve: Callable[..., Array], q: Array, data: Array, damping: float) -> tuple[Array, Array]:
        """(poses, sizes of their next steps)."""
        data = np.ascontiguousarray(data)
        z = solve(self.problem.start(q, damping), data)
        for call in range(1, MAX_CALLS + 1):
            at = self.problem.search(z)
            open_: Array = at.left > 0
            if call == MAX_CALLS or not open_.any():
                break
            z[open_] = solve(z[open_], data[open_])
        size = np.array(np.abs(at.v).max(axis=-1, initial=0.0))
        size[at.left > 0] = np.inf
        if self.problem.constraints:  # a step that is short because it is damped says nothing
            size[at.damping > FAR_START_DAMPING] = np.inf
        return at.q.copy(), size


SOLVERS: BoundedTable[_Solver] = BoundedTable(MAX_SOLVERS)
Ranges = Mapping[int, tuple[float, float]]


def fit_frames(
    problem: PoseProblem, time: Array, frames: Frames, start: Array, method: str, ranges: Ranges | None
) -> FittedMotion:
    """The poses of all frames and what remains of the residuals.

    Of several sets of angles with the same pose, those are taken with which the most frames are in the ranges of
    coordinates, by their index in q. None: the first frame has those nearest to the start.
    """
    solver, data = _Solver.of(problem), frames.data
    empty: Array = np.all(np.concatenate([frames.lost, frames.silent], axis=-1), axis=-1)
    q, size = np.empty((len(time), problem.system.nq)), np.empty(len(time))
    if start.ndim == 2:
        q[:], size[:] = solver(solver.onto(start, data), data)
    elif len(time):
        first = int(np.argmin(frames.lost.sum(axis=-1) + frames.silent.sum(axis=-1)))
        anchor = solver.onto(start, data[first])
        q[first], size[first] = _first(solver, anchor, data[first], ranges)
        stride = 1 if method == "sequential" else BATCH_STRIDE
        _spread(solver, q, size, data, first, stride)
    q = normalized(problem, q)
    if start.ndim == 1:
        _mend(solver, q, size, data)
    _turn_to_tasks(solver, q, size, data)
    _name(problem, q, start, ranges)
    return _assessed(solver, time, frames, q, size <= CONVERGED_STEP, empty)


def _first(solver: _Solver, start: Array, data: Array, ranges: Ranges | None) -> tuple[Array, float]:
    """(nq,) the pose of one frame, and the size of its next step.

    The search starts from the start and from other orientations of the root. Where `ranges` are given, it also starts
    from poses scattered about the best of these, inside the ranges. Of equally good poses, the one nearest to the start
    is taken.
    """
    problem = solver.problem
    found, size, cost = _solved(solver, np.concatenate([start[None], _turned(problem, start)]), data)
    if ranges is not None:
        best = found[int(np.argmin(cost))]
        parts = _solved(solver, _scattered(problem, best, ranges, np.ones(len(problem.free))), data)
        if (parts[2] < cost.min() * (1 - 1e-6)).any():  # what the data do not determine stays
            known = problem.determined(best[None], data[None])
            parts = _solved(solver, _scattered(problem, best, ranges, known), data)
            found, size, cost = (np.concatenate(pair) for pair in zip((found, size, cost), parts, strict=True))
    scale = float(problem.unpacked(data).scale)
    equal = np.flatnonzero(cost <= cost.min() * (1 + 1e-6) + 1e-16 * scale)
    best = int(equal[np.argmin(_way(problem, start, found[equal]))])
    for columns in problem.system.quaternion_indices:  # of both signs, which are the same pose, that of the start
        if found[best, columns] @ start[columns] < 0:
            found[best, columns] *= -1
    return found[best], float(size[best])


def _solved(solver: _Solver, tries: Array, data: Array) -> tuple[Array, Array, Array]:
    """Poses (n, nq) of one frame from n others, the sizes of their next steps, and their costs."""
    rows = np.broadcast_to(data, (len(tries), len(data)))
    found, size = solver(solver.onto(tries, rows), rows)
    found = normalized(solver.problem, found)
    return found, size, _cost(solver, found, rows)


def _scattered(problem: PoseProblem, q: Array, ranges: Ranges, moving: Array) -> Array:
    """(n, nq) poses about q, in their ranges; the velocities that move are 1 in `moving` (n,), others 0."""
    rng = np.random.default_rng(len(q))
    steps = rng.normal(size=(RANDOM_STARTS, len(problem.free))) * RANDOM_START_DEVIATION * moving
    found = problem.moved(np.broadcast_to(q, (RANDOM_STARTS, len(q))), steps)
    for i, (lower, upper) in ranges.items():
        inside = np.clip(found[:, i], lower, upper)
        moved = (found[:, i] != q[i]) & (upper - lower < 2 * np.pi)
        found[:, i] = np.where(moved, inside, found[:, i])
    return problem.allowed(found)


def _way(problem: PoseProblem, start: Array, q: Array) -> Array:
    """(n,) the distance of poses (n, nq) from the start, one for all or one for each. It is the greatest change of a
    coordinate, or angle of a ball joint."""
    way, indices = np.abs(q - start), problem.system.quaternion_indices
    if len(indices):
        together = np.abs(np.sum(q[:, indices] * start[..., indices], axis=-1, keepdims=True))
        way[:, indices] = 2 * np.arccos(np.minimum(together, 1.0))
    return way.max(axis=-1, initial=0.0)


def _turned(problem: PoseProblem, start: Array) -> Array:
    """(n, nq) the start with every body that hangs on the ground by a joint of three turns or more turned otherwise."""
    found = [np.empty((0, len(start)))]
    system = problem.system
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if body.parent != system.ground or set(range(iu.start, iu.stop)) & problem.locked:
            continue
        turns = [iq.start + i for i, unit in enumerate(body.joint.facts.coordinate_units) if unit == "rad"]
        if body.joint.facts.quaternion is not None:
            s: slice | list[int] = slice(iq.stop - 4, iq.stop)
            others = quaternion_multiply(_cube(), start[s])
        elif len(turns) == 3:
            s = turns
            others = start[turns] + np.array(list(product((0.0, np.pi / 2, np.pi, -np.pi / 2), repeat=3)))
        else:
            continue
        rows = np.tile(start, (len(others), 1))
        rows[:, s] = others
        found.append(rows)
    return np.concatenate(found)


def _spread(solver: _Solver, q: Array, size: Array, data: Array, first: int, stride: int) -> None:
    """Solve all frames from the first: every `stride`-th one after the other, then those between by halving steps."""
    for way in (1, -1):
        rows = np.arange(first, len(q) if way > 0 else -1, way * stride)
        for before, row in pairwise(rows):
            q[row], size[row] = solver(q[before], data[row], NEAR_START_DAMPING)
        step = stride // 2
        while step:
            rows = np.arange(first + way * step, len(q) if way > 0 else -1, way * 2 * step)
            if len(rows):
                q[rows], size[rows] = solver(q[rows - way * step], data[rows], NEAR_START_DAMPING)
            step //= 2


def _mend(solver: _Solver, q: Array, size: Array, data: Array) -> None:
    """Solve frames again that are much worse than a neighbour, or far from one that is better. They start from that
    neighbour, and the better solution is kept. This is repeated next to frames that have changed."""
    problem, fresh = solver.problem, np.ones(len(q), dtype=bool)
    scale = problem.unpacked(data).scale
    cost = _cost(solver, q, data)
    while fresh.any():
        changed: Array = np.zeros(len(q), dtype=bool)
        for way in (1, -1):
            before = np.roll(q, way, axis=0)
            others, far = np.roll(cost, way) + 1e-16 * scale, _way(problem, before, q) > FAR_FRAME_CHANGE
            bad = ~(cost <= RETRY_COST_RATIO * others) | (far & (cost > others))
            bad &= fresh | np.roll(fresh, way)
            bad[0 if way > 0 else -1] = False
            rows = np.flatnonzero(bad)
            if not len(rows):
                continue
            again, sizes = solver(before[rows], data[rows])
            again = normalized(problem, again)
            costs = _cost(solver, again, data[rows])
            better = costs < cost[rows] * (1 - MIN_RELATIVE_GAIN)
            kept = rows[better]
            q[kept], size[kept], cost[kept], changed[kept] = again[better], sizes[better], costs[better], True
        fresh = changed


def _turn_to_tasks(solver: _Solver, q: Array, size: Array, data: Array) -> None:
    """Solve frames again in which a hinge is more than half a turn away from what a task wants, from the turn nearest
    to that."""
    problem = solver.problem
    if not problem.tasks:
        return
    turning = free_hinges(problem, with_tasks=True)[-1].columns
    wanted, rows = problem.unpacked(data).values, np.zeros(len(q), dtype=bool)
    near = q.copy()
    for j, place in enumerate(problem.task_locations):
        if place.ball is None and place.floating is None and place.q in turning:
            near[:, place.q] = turned_to(Hinges((place.q,)), q[:, [place.q]], wanted[:, [j]])[:, 0]
    rows = np.any(near != problem.allowed(q), axis=-1) & np.all(problem.allowed(near) == near, axis=-1)
    if rows.any():
        q[rows], size[rows] = solver(near[rows], data[rows], NEAR_START_DAMPING)


def _name(problem: PoseProblem, q: Array, start: Array, ranges: Ranges | None) -> None:
    """Give every frame, of the angles of its pose, those that `fit_frames` asks for; bounds that are kept stay kept."""
    if not len(q):
        return
    bounds = {i: (lower, upper) for _, i, lower, upper in problem.bounds}
    for hinges in free_hinges(problem):
        columns = list(hinges.columns)
        x = q[:, columns]
        if start.ndim == 2:
            x = turned_to(hinges, x, start[:, columns])
        elif ranges is None:
            x = unwrapped(hinges, np.concatenate([turned_to(hinges, x[:1], start[columns]), x[1:]]))
        else:
            x = named(hinges, x, ranges)
        low, high = np.array([bounds.get(i, (-np.inf, np.inf)) for i in columns]).reshape(-1, 2).T
        kept = ((low <= x) & (x <= high)).all(axis=0)
        kept &= hinges.second_triple is None or kept.all()
        q[:, columns] = np.where(kept, x, q[:, columns])


def _cost(solver: _Solver, q: Array, data: Array) -> Array:
    """(t,) costs, infinite off the constraints."""
    cost, *_, off = solver.assess(q, np.ascontiguousarray(data))
    return np.where(np.isfinite(cost) & (off < MAX_COUNTED_VIOLATION), cost, np.inf)


def normalized(problem: PoseProblem, q: Array) -> Array:
    """Quaternions divided by their length, from which many steps have taken round-off."""
    q, columns = q.copy(), problem.system.quaternion_indices
    if not len(columns):
        return q
    Q = q[..., columns]
    q[..., columns] = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    return q


def _assessed(solver: _Solver, time: Array, frames: Frames, q: Array, converged: Array, empty: Array) -> FittedMotion:
    """The result, with the errors of every frame. Frames a little off the constraints are projected onto them.

    A converged frame off the constraints counts as not converged."""
    data = np.ascontiguousarray(frames.data)
    cost, markers, sensors, tasks, held = solver.assess(q, data)
    off = held > PROJECTION_TOLERANCE
    if off.any():
        q[off] = solver.onto(q[off], data[off])
        cost, markers, sensors, tasks, held = solver.assess(q, data)
    return FittedMotion(
        solver.problem.system,
        time,
        q,
        problem=solver.problem,
        data=frames.data,
        marker_error=np.where(frames.lost, np.nan, markers),
        sensor_error=np.where(frames.silent, np.nan, sensors),
        task_error=tasks,
        cost=cost,
        constraint_error=held,
        converged=converged & (held <= MAX_CONVERGED_VIOLATION) & ~empty,
        empty=empty,
    )
