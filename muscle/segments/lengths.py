"""Path lengths, path by path, their Jacobians, and wrenches of unit tensions on what a joint carries.

Each Jacobian differentiates the length on its own. None is computed from another, so comparing them tests the maps
between them. All are formulas, on floats and symbols.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from myoquat.core import Array
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.vectors import cross, vector
from myoquat.kernels.tracing.context import memoize
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.path import MusclePath

from .stops import Chart, Contacts, PlacedStop, Stop, charts, contacts, moved_length, placed_paths, together


@memoize
def lengths(
    system: ArticulatedSystem,
    paths: tuple[MusclePath, ...],
    q: Array,
    motion: Array | None = None,
    touching: Contacts | None = None,
) -> Array:
    """(..., m) path lengths [m] at coordinates q (..., nq); the formula, on floats and symbols.

    With `motion` (..., nu), the lengths after the small motion u dt, exact to first order where |Q| = 1. `touching` are
    the contacts at the pose around which q varies, by default those at q. The path is the shortest, so that moving the
    contacts along does not change its length to first order. Callers that differentiate with respect to q therefore
    pass them, and they stay where they are on their surfaces.
    """
    poses = system.poses(q)
    after = q if motion is None else system.displaced(q, motion)
    different, placed, numbers = placed_paths(system, paths, q, after, touching)

    @cache
    def shifts(base: str) -> Poses:
        return {} if motion is None else system.shifts(q, motion, poses, base)

    found = []
    for stops, there in zip(different, placed, strict=True):
        # Motion is seen from the body on which the whole path hangs: joints below it cannot change the length.
        base = system.lowest_common_ancestor([stop.body for stop in stops])
        found.append(_measured(stops, there, poses, shifts(base)))
    columns = [found[number] for number in numbers]
    return vector(columns) if columns else np.zeros((*q.shape[:-1], 0))


def _measured(stops: Sequence[Stop], placed: Sequence[PlacedStop], poses: Poses, moved: Poses) -> Array:
    """(...) length of one path after small motions of bodies: that of its branches, each times its share."""
    starts = [0, *(k for k, stop in enumerate(stops) if stop.share == 0), len(stops)]
    branches = [slice(a, b) for a, b in pairwise(starts)]
    total: Array = np.zeros(())
    for branch in branches:
        length, share = moved_length(placed[branch], poses, moved), stops[branch][-1].share
        if len(branches) == 1 and share == 1.0:
            return length
        total = total + share * length
    return total


def carried_bodies(system: ArticulatedSystem, name: str) -> tuple[str, ...]:
    """The body, named by itself or by its joint, and those that it carries."""
    first = system.body_names[system.indices.body(name)]
    others = [body.name for body in system.bodies if body.name != first]
    return (first, *(other for other in others if system.lowest_common_ancestor([other, first]) == first))


def carried_wrenches(
    system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, carried: tuple[str, ...]
) -> Array:
    """(..., m, 6) wrench of a unit tension of every path on the bodies `carried`, which move as one.

    It is the force [N] and torque [N m] at the origin of the first body, in world axes. The formula is -dl/dx for a
    small motion x of them all. The paths are of points (`Model.paths_on_bones`).
    """
    poses = system.poses(q)
    different, placed, numbers = placed_paths(system, paths, q)
    origin = poses[carried[0]][1]

    def measured(x: Array) -> Array:
        turn, step = x[..., 3:], x[..., :3]
        moved = {name: (turn, step + cross(turn, poses[name][1] - origin)) for name in carried}
        found = [_measured(*path, poses, moved) for path in zip(different, placed, strict=True)]
        columns = [found[number] + 0.0 * step[..., 0] for number in numbers]
        return vector(columns)

    return -jacobian_at(measured, np.zeros(6), like=q)


@memoize
def velocity_jacobian(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array) -> Array:
    """(..., m, nu) J with dl/dt = J u: the derivative along a small motion from the pose q (..., nq)."""
    touching = contacts(system, paths, q)
    return jacobian_at(lambda motion: lengths(system, paths, q, motion, touching), np.zeros(system.nu), like=q)


def coordinate_jacobian(
    system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, eliminated: Array | None = None
) -> Array:
    """(..., m, nq) dl/dq for the system's own coordinates: J_Q for a quaternion, J_phi for Euler angles.

    (..., m, n) J*_Q = dl/dQ*, joint by joint, where `eliminated` (..., balls) is the dropped component of each
    quaternion, those of floating joints included.
    """
    whole = Chart(q, lambda x: x)
    chart = whole if eliminated is None else together(charts(system, q, "constrained", eliminated))
    touching = contacts(system, paths, q)
    return jacobian_at(lambda x: lengths(system, paths, chart.coordinates(x), touching=touching), chart.start)
