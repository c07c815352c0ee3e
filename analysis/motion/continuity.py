"""Angles that give the same pose: full turns of a hinge, and the two triples of three rotations about fixed axes.

An inverse kinematics may find any of them, each in its frame. `continuous` gives every frame the one that is nearest to
the frame before. Smoothing and inverse dynamics reject a motion that jumps from one to another.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from myoquat.core import Array, BoundedTable, frozen
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.angles import nearest_branch
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, vector

from .structure import PoseStructure
from .task_coordinates import velocity_of

Range = tuple[float, float]
FULL_TURN_RAD = 2 * np.pi
SAME_POSE = 1e-9  # difference of entries up to which two poses are equal
COMPARED_POSES = 3  # random poses at which two systems are compared
MAX_MEDIAN_STEP_RAD = 0.5  # median change per frame of a continuous motion
MAX_ROUND_OFF = 1e-6  # sine of half of what is no full turn
MAX_SYSTEMS = 16  # whose hinges are cached


@frozen
class Hinges:
    """Angles, by their indices in q, whose full turns change no pose: each by itself, or three of one joint.

    Three Euler angles may have a second triple (x1 + pi, c - x2, x3 + pi) for the same pose; `second_triple` is its
    constant c, or None.
    """

    columns: tuple[int, ...]
    second_triple: float | None = None

    def choices(self, x: Array) -> Array:
        """(1, t, k) angles x (t, k), or (2, t, 3) with the other triple of the same poses."""
        if self.second_triple is None:
            return x[None]
        return np.stack([x, vector([x[:, 0] + np.pi, self.second_triple - x[:, 1], x[:, 2] + np.pi])])


_HINGES: BoundedTable[tuple[Hinges, ...]] = BoundedTable(MAX_SYSTEMS)


def hinges_of(system: ArticulatedSystem) -> tuple[Hinges, ...]:
    """The hinges of all joints, found by comparing poses: triples, then all other angles."""
    return _HINGES.get(system.content_key, lambda: _hinges(system))


def _hinges(system: ArticulatedSystem) -> tuple[Hinges, ...]:
    q = system.random(COMPARED_POSES, np.random.default_rng(0))
    joints = [
        tuple(iq.start + k for k, unit in enumerate(body.joint.facts.coordinate_units) if unit == "rad")
        for body, iq in zip(system.bodies, system.q_slices, strict=True)
    ]
    moves = [Hinges((i,)) for angles in joints for i in angles]
    moves += [Hinges(three, c) for angles in joints for three in combinations(angles, 3) for c in (0.0, np.pi)]
    rows = np.repeat(q[None], len(moves) + 1, axis=0)
    for row, move in zip(rows[1:], moves, strict=True):
        row[:, move.columns] = move.choices(row[:, move.columns])[-1] + (move.second_triple is None) * FULL_TURN_RAD
    poses = _entries(system, np.concatenate(rows)).reshape(len(rows), -1)
    away = np.abs(poses[1:] - poses[0]).max(axis=-1, initial=0.0)
    same = [move for move, by in zip(moves, away, strict=True) if by < SAME_POSE]
    turning, triples = [move.columns[0] for move in same if move.second_triple is None], list[Hinges]()
    for move in same:
        if move.second_triple is not None and {*move.columns} <= {*turning}:
            triples.append(move)
            turning = [i for i in turning if i not in move.columns]
    return *triples, Hinges(tuple(turning))


def _entries(system: ArticulatedSystem, q: Array) -> Array:
    """(n, m) the entries of all poses."""
    parts = [part for R, p in system.poses(q).values() for part in (R.reshape(*R.shape[:-2], 9), p)]
    return joined([np.broadcast_to(x, (len(q), x.shape[-1])) for x in parts])


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
    triples, turning = list[Hinges](), list[int]()
    for hinges in hinges_of(system):
        if hinges.second_triple is None or taken & {*hinges.columns}:
            turning += [i for i in hinges.columns if i not in taken]
        else:
            triples.append(hinges)
    return *triples, Hinges(tuple(turning))


def named(hinges: Hinges, x: Array, ranges: Mapping[int, Range]) -> Array:
    """(t, k) angles of the same poses as x (t, k), without jumps.

    Of several choices, the one that is in the ranges of coordinates in the most frames is returned. Otherwise it is the
    choice with a principal first frame. Principal angles are in (-pi, pi]. The middle one of three is in
    [-pi/2, pi/2], or in [0, pi] where the first and the third axis are parallel.
    """
    x = unwrapped(hinges, x)
    low, high = np.array([ranges.get(i, (-np.inf, np.inf)) for i in hinges.columns]).reshape(-1, 2).T
    principally = np.cos if hinges.second_triple else np.sin
    first = (np.abs(x[0]) < np.pi).all() and (hinges.second_triple is None or principally(x[0, 1]) > 0)
    if first and ((low <= x) & (x <= high)).all():  # as most are, in a fifth of the time
        return x
    low, high = low[:, None], high[:, None]
    with np.errstate(invalid="ignore"):  # of ranges without ends
        middle = (low + high) / 2
    choices = np.ascontiguousarray(hinges.choices(x).mT)  # (choices, k, t)
    # by whole turns principal in the first frame, or in the range in the most frames
    principal = choices - FULL_TURN_RAD * np.ceil((choices[..., :1] - np.pi) / FULL_TURN_RAD)
    off = middle - principal.mean(axis=-1, keepdims=True)
    turns = np.round(np.where(np.isfinite(off), off, 0.0) / FULL_TURN_RAD)
    tries = np.stack([principal, *(principal + FULL_TURN_RAD * (turns + k) for k in (0, -1, 1))])
    inside = ((low <= tries) & (tries <= high)).sum(axis=-1)  # (tries, choices, k) frames
    count, k = inside.shape[1:]
    placed = tries[inside.argmax(axis=0), np.arange(count)[:, None], np.arange(k)].mT
    if hinges.second_triple is None:
        return placed[0]
    scores = zip(inside.max(axis=0).sum(axis=-1).tolist(), principally(choices[:, 1, 0]).tolist(), strict=True)
    return placed[max(enumerate(scores), key=lambda one: one[1])[0]]


def turned_to(hinges: Hinges, x: Array, near: Array) -> Array:
    """(t, k) of the angles of the same poses as x (t, k) those that are nearest to `near` (t, k) or (k,)."""
    choices = hinges.choices(x)
    choices = choices + FULL_TURN_RAD * np.round((near - choices) / FULL_TURN_RAD)
    best = np.argmin(((choices - near) ** 2).sum(axis=-1), axis=0)
    return choices[best, np.arange(len(x))]


def unwrapped(hinges: Hinges, x: Array) -> Array:
    """(t, k) angles of the same poses as x (t, k): in each frame those nearest to the frame before.

    The first frame is that of x. Only frames that jump change.
    """
    if np.abs(np.diff(x, axis=0)).max(initial=0.0) < np.pi / 4:  # all other choices are farther away
        return x
    choices = hinges.choices(x)
    return nearest_branch(choices[0], choices[-1])


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
    q = motion.q.copy()
    for hinges in hinges_of(motion.system):
        q[:, hinges.columns] = unwrapped(hinges, q[:, hinges.columns])
    changed = bool(np.abs(np.sin((q - motion.q) / 2)).max(initial=0.0) > MAX_ROUND_OFF)  # by more than full turns
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
    for hinges in hinges_of(motion.system) if len(motion.time) > 1 else ():
        x = motion.q[:, hinges.columns]
        steps, beside = np.diff(x, axis=0), np.zeros((len(x) - 1, len(hinges.columns)))
        if len(steps) > 1:  # the mean of the steps before and after each, or the one that there is
            beside = np.concatenate([steps[1:2], (steps[:-2] + steps[2:]) / 2, steps[-2:-1]])
        sudden, far = np.abs(steps - beside) > np.pi, np.abs(steps)
        if hinges.second_triple is not None:
            near = turned_to(hinges, x[1:], x[:-1])
            far[:] = far.max(axis=-1, keepdims=True)
            nearer = (far[:, 0] > np.pi / 2) & (2 * np.abs(near - x[:-1]).max(axis=-1) < far[:, 0])
            sudden[:] = (sudden.any(axis=-1) | nearer)[:, None] & (np.abs(steps) == far)  # that of the largest step
        if steady:
            sudden &= np.median(far, axis=0) < MAX_MEDIAN_STEP_RAD
        for row, k in np.argwhere(sudden)[:1]:
            name = motion.system.coordinate_names[hinges.columns[k]]
            raise ValueError(
                f"coordinate {name!r} jumps by {steps[row, k]:.3g} rad from frame {row} (time {motion.time[row]:g} s) "
                "to the next. It is another angle of nearly the same pose, which no sampling rate explains. Call "
                "continuous(motion) for angles without jumps"
            )
