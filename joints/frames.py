"""Kinematics of frames and points: formulas on a system, floats or symbols.

`frame` is the name of a body or of the ground, `point` (..., 3) [m] a point in its axes. Vectors are in world axes;
six-vectors are (linear, angular).
"""

from typing import Any

import numpy as np

from joints._layout import joined
from joints.motion import Pair, accelerations, kinematics, world_poses
from joints.system import ArticulatedSystem
from joints.tree import WORLD, Frame, Tree
from joints.vectors import cross, row_cross, turn
from kernels.derivatives import jacobian_at

__all__ = ["acceleration", "jacobian", "jacobian_rate", "local", "pose"]


def branch(tree: Tree, link: int) -> Tree:
    """The links from the root to `link` only, numbered along the way."""
    path = tree.path(link)
    place = {WORLD: WORLD} | {i: k for k, i in enumerate(path)}
    return Tree(tuple(tree.links[i].hung_on(place[tree.links[i].parent]) for i in path), {})


def _reached(system: ArticulatedSystem, q: Any, frame: Frame) -> tuple[Tree, Any, list[Pair], Pair]:
    """The branch to a frame, its motion and world poses, and the frame's own world pose."""
    tree = branch(system.tree, frame.link)
    motion = kinematics(tree, q)
    poses = world_poses(tree, motion)
    if not poses:
        return tree, motion, poses, (frame.R, frame.p)
    R, p = poses[-1]
    return tree, motion, poses, (R @ frame.R, p + turn(R, frame.p))


def pose(system: ArticulatedSystem, q: Any, frame: str, point: Any) -> Pair:
    """(R (..., 3, 3), x (..., 3)): the frame's axes, and where the point is."""
    _, _, _, (R, p) = _reached(system, q, system.tree.frames[frame])
    return R, p + turn(R, point)


def jacobian(system: ArticulatedSystem, q: Any, frame: str, point: Any) -> Any:
    """(..., 6, nu) J: (velocity of the point, angular velocity of the frame) = J u."""
    tree, motion, poses, (R, p) = _reached(system, q, system.tree.frames[frame])
    x = p + turn(R, point)
    columns: dict[int, Any] = {}
    for link, (S_omega, S_v), (R_link, p_link) in zip(tree.links, motion.subspaces, poses, strict=True):
        angular = R_link @ S_omega
        linear = R_link @ S_v - row_cross(x - p_link, angular)
        columns[link.u.start] = np.concatenate(np.broadcast_arrays(linear, angular, subok=True), axis=-2)
    return _spread(system, columns, np.broadcast_shapes(q.shape[:-1], x.shape[:-1]))


def _spread(system: ArticulatedSystem, columns: dict[int, Any], batch: tuple[int, ...]) -> Any:
    """(..., 6, nu) from columns by their place in u, zero where there are none."""
    parts = []
    for s in system.u_slices:
        part = columns.get(s.start) if s.stop > s.start else None
        part = np.zeros((6, s.stop - s.start)) if part is None else part
        parts.append(np.broadcast_to(part, (*batch, *part.shape[-2:]), subok=True))
    return np.concatenate(parts, axis=-1) if parts else np.zeros((*batch, 6, 0))


def jacobian_rate(system: ArticulatedSystem, q: Any, u: Any, frame: str, point: Any, axes: str = "world") -> Any:
    """(..., 6, nu) dJ/dt along the motion u, in world axes or of the components in the frame's own."""

    def entries(t: Any) -> Any:
        q_moved = system.displaced(q, t * u)
        J = jacobian(system, q_moved, frame, point)
        if axes == "local":
            J = local(pose(system, q_moved, frame, point)[0], J)
        return J.reshape((*J.shape[:-2], 6 * system.nu))

    batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    rate = jacobian_at(entries, np.zeros((*batch, 1)))
    return rate.reshape((*rate.shape[:-2], 6, system.nu))


def acceleration(system: ArticulatedSystem, q: Any, u: Any, udot: Any, frame: str, point: Any) -> Any:
    """(..., 6) acceleration of the point and angular acceleration of the frame: J udot + Jdot u."""
    where = system.tree.frames[frame]
    if where.link == WORLD:
        return np.zeros((*q.shape[:-1], 6))
    tree = branch(system.tree, where.link)
    motion = kinematics(tree, q, u)
    R, _ = world_poses(tree, motion)[-1]
    a_omega, a_v = accelerations(tree, motion, udot, np.zeros(3))[-1]
    omega, v = motion.velocities[-1]
    arm = where.p + turn(where.R, point)
    linear = a_v + cross(a_omega, arm) + cross(omega, v + cross(omega, arm))
    return joined([turn(R, linear), turn(R, a_omega)])


def local(R: Any, rows: Any) -> Any:
    """(..., 6, n) rows (linear, angular) of world components turned into those of axes R (..., 3, 3)."""
    back = np.swapaxes(R, -1, -2)
    return np.concatenate([back @ rows[..., :3, :], back @ rows[..., 3:, :]], axis=-2)
