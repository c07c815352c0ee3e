"""Angles that give the same pose: full turns of a hinge, and the two triples of three rotations about fixed axes.

An inverse kinematics may find any of them, each in its frame. `continuous` gives every frame the one that is nearest to
the frame before. Smoothing and inverse dynamics reject a motion that jumps from one to another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from myoquat.core import Array, BoundedTable, frozen
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.angles import nearest_branch
from myoquat.joints.multibody.system import ArticulatedSystem

from .structure import PoseStructure
from .task_coordinates import velocity_of

Range = tuple[float, float]
FULL_TURN_RAD = 2 * np.pi
SAME_POSE = 1e-9  # difference of entries up to which two poses are equal
COMPARED_POSES = 3  # random poses at which two systems are compared
MAX_MEDIAN_STEP_RAD = 0.5  # median change per frame of a continuous motion
MAX_SYSTEMS = 16  # whose hinges are cached


@frozen
class Hinges:
    """The angles of one joint: the indices in q of coordinates whose full turns change no pose.

    Three Euler angles may have a second triple (x1 + pi, c - x2, x3 + pi) for the same pose; `second_triple` is its
    constant c, or None.
    """

    columns: tuple[int, ...]
    second_triple: float | None = None

    def other(self, x: Array) -> Array:
        """(t, 3) the other triple of angles x (t, 3) of the same poses, or x itself if there is none."""
        if self.second_triple is None:
            return x
        return np.stack([x[:, 0] + np.pi, self.second_triple - x[:, 1], x[:, 2] + np.pi], axis=-1)


_HINGES: BoundedTable[tuple[Hinges, ...]] = BoundedTable(MAX_SYSTEMS)


def hinges_of(system: ArticulatedSystem) -> tuple[Hinges, ...]:
    """The hinges of every joint, found by comparing poses."""
    return _HINGES.get(system.content_key, lambda: _hinges(system))


def _hinges(system: ArticulatedSystem) -> tuple[Hinges, ...]:
    q = system.random(COMPARED_POSES, np.random.default_rng(0))
    joints = [
        tuple(iq.start + k for k, unit in enumerate(body.joint.facts.coordinate_units) if unit == "rad")
        for body, iq in zip(system.bodies, system.q_slices, strict=True)
    ]
    single = [Hinges((i,)) for angles in joints for i in angles]
    triples = [Hinges(t, c) for angles in joints for t in combinations(angles, 3) for c in (0.0, np.pi)]
    moves = [(h, q[:, h.columns] + FULL_TURN_RAD) for h in single] + [(h, h.other(q[:, h.columns])) for h in triples]
    same = {h for h, kept in zip([*single, *triples], _same_poses(system, q, moves), strict=True) if kept}
    found: list[Hinges] = []
    for triple in triples:
        turning = all(Hinges((i,)) in same for i in triple.columns)
        if triple in same and turning and not {i for h in found for i in h.columns} & {*triple.columns}:
            found.append(triple)
    taken = {i for h in found for i in h.columns}
    return (*found, *(h for h in single if h in same and h.columns[0] not in taken))


def _same_poses(system: ArticulatedSystem, q: Array, moves: list[tuple[Hinges, Array]]) -> list[bool]:
    """Whether all poses at q (n, nq) stay where they are, for each of several changes of a joint's angles."""
    rows = np.repeat(q[None], len(moves) + 1, axis=0)
    for row, (hinges, values) in zip(rows[1:], moves, strict=True):
        row[:, hinges.columns] = values
    poses = _entries(system, np.concatenate(rows)).reshape(len(rows), -1)
    away = np.abs(poses[1:] - poses[0]).max(axis=-1, initial=0.0)
    return [bool(x < SAME_POSE) for x in away]


def _entries(system: ArticulatedSystem, q: Array) -> Array:
    """(n, m) the entries of all poses."""
    parts = [part for R, p in system.poses(q).values() for part in (R.reshape(*R.shape[:-2], 9), p)]
    return np.concatenate([np.broadcast_to(x, (len(q), x.shape[-1])) for x in parts], axis=-1)


@lru_cache(maxsize=MAX_SYSTEMS)
def free_hinges(problem: PoseStructure, with_tasks: bool = False) -> tuple[Hinges, ...]:
    """The hinges whose full turns change nothing in a problem: no coordinate that is held, coupled, wanted, or in a
    constraint on coordinates."""
    system = problem.system
    names = [name for c in problem.couplers for name in (c.dependent, c.independent)]
    names += [] if with_tasks else problem.tasks
    taken = {system.coordinate_names.index(name) for name in names if name in system.coordinate_names}
    for constraint in (*problem.constraints, *(c for c, _ in problem.pulling)):
        named = constraint.named_coordinates  # on which it depends beyond the poses of bodies; None: on all
        taken |= {k for k, name in enumerate(system.coordinate_names) if named is None or name in named}
    rates = velocity_of(system)
    taken |= {system.coordinate_names.index(name) for name, k in rates.items() if k in problem.locked}
    found: list[Hinges] = []
    for hinges in hinges_of(system):
        left = [i for i in hinges.columns if i not in taken]
        found += [hinges] if len(left) == len(hinges.columns) else [Hinges((i,)) for i in left]
    return tuple(found)


def named(hinges: Hinges, x: Array, ranges: Sequence[Range | None]) -> Array:
    """(t, k) angles of the same poses as x (t, k), without jumps.

    Of several choices, the one that is in the ranges in the most frames is returned. Otherwise it is the choice with a
    principal first frame. Principal angles are in (-pi, pi]. The middle one of three is in [-pi/2, pi/2], or in [0, pi]
    where the first and the third axis are parallel.
    """
    smooth = unwrapped(hinges, x)
    choices = [smooth] if hinges.second_triple is None else [smooth, hinges.other(smooth)]
    placed = [np.stack([_placed(y[:, k], r) for k, r in enumerate(ranges)], axis=-1) for y in choices]
    if hinges.second_triple is None:
        return placed[0]
    middle = np.cos if hinges.second_triple else np.sin
    scores = [(sum(_inside(y[:, k], r) for k, r in enumerate(ranges)), float(middle(y[0, 1]))) for y in placed]
    return placed[scores.index(max(scores))]


def is_named(hinges: Hinges, x: Array, ranges: Sequence[Range | None]) -> bool:
    """Whether `named` would change nothing, as far as a look tells."""
    within = all(r is None or (x[:, k].min() >= r[0] and x[:, k].max() <= r[1]) for k, r in enumerate(ranges))
    principal = bool(np.all((x[0] > -np.pi) & (x[0] <= np.pi)))
    if hinges.second_triple is not None:
        principal &= bool((np.cos if hinges.second_triple else np.sin)(x[0, 1]) > 0)
    return within and principal and bool(np.abs(np.diff(x, axis=0)).max(initial=0.0) < np.pi / 2)


def _placed(y: Array, range_: Range | None) -> Array:
    """(t,) an angle by whole turns in its range in the most frames, principal in the first if that does not tell."""
    principal: Array = y - FULL_TURN_RAD * np.ceil((y[0] - np.pi) / FULL_TURN_RAD)
    if range_ is None:
        return principal
    tries: list[Array] = [principal]
    turns = np.round((sum(range_) / 2 - principal.mean()) / FULL_TURN_RAD)
    tries += [principal + FULL_TURN_RAD * (turns + k) for k in (0, -1, 1)]
    scores = [_inside(x, range_) for x in tries]
    return tries[scores.index(max(scores))]


def _inside(y: Array, range_: Range | None) -> int:
    """How many frames are in the range."""
    return 0 if range_ is None else int(((y >= range_[0]) & (y <= range_[1])).sum())


def turned_to(hinges: Hinges, x: Array, near: Array) -> Array:
    """(t, k) of the angles of the same poses as x (t, k) those that are nearest to `near` (t, k) or (k,)."""
    choices = np.stack([x, hinges.other(x)]) if hinges.second_triple is not None else x[None]
    choices = choices + FULL_TURN_RAD * np.round((near - choices) / FULL_TURN_RAD)
    best = np.argmin(((choices - near) ** 2).sum(axis=-1), axis=0)
    return choices[best, np.arange(len(x))]


def unwrapped(hinges: Hinges, x: Array) -> Array:
    """(t, k) angles of the same poses as x (t, k): in each frame those nearest to the frame before.

    The first frame is that of x. Only frames that jump change.
    """
    if hinges.second_triple is not None:
        return nearest_branch(x, hinges.other(x))
    turns = np.cumsum(np.round(np.diff(x, axis=0) / FULL_TURN_RAD), axis=0)
    found: Array = x.copy()
    found[1:] -= FULL_TURN_RAD * turns
    return found


def continuous(motion: MotionLike) -> Motion:
    """The motion with every frame's angles nearest to the frame before, among those that give the same pose. These are
    full turns of hinges, and both triples of three rotations of a joint about fixed axes. Velocities are taken along;
    those of a joint whose triple changes are refused, since `smooth` finds them again.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.motion import Motion, continuous
    >>> hinge = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint(), mass=1.0),))
    >>> continuous(Motion(hinge, [0.0, 0.1], [[3.1], [-3.1]])).q[:, 0].round(3).tolist()
    [3.1, 3.183]
    """
    motion = motion_of(motion)
    q, changed = motion.q.copy(), False
    for hinges in hinges_of(motion.system):
        columns = list(hinges.columns)
        x = unwrapped(hinges, q[:, columns])
        changed |= bool(
            np.abs(np.round((x - q[:, columns]) / FULL_TURN_RAD) * FULL_TURN_RAD - (x - q[:, columns])).max(initial=0.0)
            > 1e-6
        )
        q[:, columns] = x
    if changed and (motion.u is not None or motion.udot is not None):
        raise ValueError(
            "u and udot belong to the triples of angles that jump; leave them out: Motion(system, time, q)"
        )
    return replace(motion, q=q)


def check_jumps(motion: Motion, *, steady: bool = False) -> None:
    """ValueError where a coordinate jumps to another angle of nearly the same pose.

    No motion does so at any sampling rate. A coordinate jumps where its change differs from those before and after by
    more than half a turn. It also jumps where the other triple of angles of its joint is much nearer to the frame
    before. With `steady`, only motions in which most frames follow from each other raise the error.
    """
    for row, place, jump in _jumps(motion, steady):
        name = motion.system.coordinate_names[place]
        raise ValueError(
            f"coordinate {name!r} jumps by {jump:.3g} rad from frame {row} (time {motion.time[row]:g} s) to the next. "
            "It is another angle of nearly the same pose, which no sampling rate explains. Call continuous(motion) for "
            "angles without jumps"
        )


def _jumps(motion: Motion, steady: bool) -> Iterator[tuple[int, int, float]]:
    """(frame before, place in q, size [rad]) of the jumps, joint by joint."""
    if len(motion.time) < 2:
        return
    for hinges in hinges_of(motion.system):
        x = motion.q[:, hinges.columns]
        steps = np.diff(x, axis=0)
        if steady and not np.median(np.abs(steps).max(axis=-1)) < MAX_MEDIAN_STEP_RAD:
            continue
        sudden = np.abs(steps - _beside(steps)) > np.pi
        if hinges.second_triple is not None:
            other = turned_to(hinges, hinges.other(x[1:]), x[:-1])
            far = np.abs(steps).max(axis=-1)
            sudden[:, 1] |= (far > np.pi / 2) & (2 * np.abs(other - x[:-1]).max(axis=-1) < far)
        for row, k in np.argwhere(sudden):
            worst = k if hinges.second_triple is None else int(np.argmax(np.abs(steps[row])))
            yield int(row), hinges.columns[worst], float(steps[row, worst])


def _beside(steps: Array) -> Array:
    """(t, k) the mean of the steps before and after each, or the one that there is; zero for a single step."""
    if len(steps) < 2:
        return np.zeros_like(steps)
    inner = (steps[:-2] + steps[2:]) / 2
    return np.concatenate([steps[1:2], inner, steps[-2:-1]])
