"""Kinematics of frames and points: formulas on a system, floats or symbols.

`frame` is the name of a body or of the ground, `point` (..., 3) [m] a point in its axes. Vectors are in world axes;
six-vectors are (linear, angular).
"""

from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.motion import Pair, accelerations, kinematics, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Frame, Tree
from myoquat.joints.vectors import cross, joined, joined_matrices, matvec, row_cross

__all__ = ["acceleration", "jacobian", "jacobian_rate", "local", "local_rate", "pose"]


def branch(tree: Tree, link: int) -> Tree:
    """The links from the root to `link` only, numbered along the way."""
    path = tree.path(link)
    place = {WORLD: WORLD} | {i: k for k, i in enumerate(path)}
    return Tree(tuple(tree.links[i].hung_on(place[tree.links[i].parent]) for i in path), {})


def _reached(system: ArticulatedSystem, q: Array, frame: Frame) -> tuple[Tree, Any, list[Pair], Pair]:
    """The branch to a frame, its motion and world poses, and the frame's own world pose."""
    tree = branch(system.tree, frame.link)
    motion = kinematics(tree, q)
    poses = world_poses(tree, motion)
    if not poses:
        return tree, motion, poses, (frame.R, frame.p)
    R, p = poses[-1]
    return tree, motion, poses, (R @ frame.R, p + matvec(R, frame.p))


def pose(system: ArticulatedSystem, q: Array, frame: str, point: Array) -> Pair:
    """(R (..., 3, 3), x (..., 3)): the frame's axes, and where the point is."""
    _, _, _, (R, p) = _reached(system, q, system.tree.frames[frame])
    return R, p + matvec(R, point)


def jacobian(system: ArticulatedSystem, q: Array, frame: str, point: Array) -> Array:
    """(..., 6, nu) J: (velocity of the point, angular velocity of the frame) = J u."""
    tree, motion, poses, (R, p) = _reached(system, q, system.tree.frames[frame])
    x = p + matvec(R, point)
    columns: dict[int, Array] = {}
    for link, (S_omega, S_v), (R_link, p_link) in zip(tree.links, motion.subspaces, poses, strict=True):
        angular = R_link @ S_omega
        linear = R_link @ S_v - row_cross(x - p_link, angular)
        columns[link.u.start] = joined_matrices([linear, angular], -2)
    return _spread(system, columns, np.broadcast_shapes(q.shape[:-1], x.shape[:-1]))


def _spread(system: ArticulatedSystem, columns: dict[int, Array], batch: tuple[int, ...]) -> Array:
    """(..., 6, nu) from columns by their place in u, zero where there are none."""
    parts = []
    for s in system.u_slices:
        part = columns.get(s.start) if s.stop > s.start else None
        part = np.zeros((6, s.stop - s.start)) if part is None else part
        parts.append(np.broadcast_to(part, (*batch, *part.shape[-2:]), subok=True))
    return np.concatenate(parts, axis=-1) if parts else np.zeros((*batch, 6, 0))


def jacobian_rate(system: ArticulatedSystem, q: Array, u: Array, frame: str, point: Array) -> Array:
    """(..., 6, nu) dJ/dt along the motion u: each joint's columns rotate with its link, and their arms change."""
    where = system.tree.frames[frame]
    batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], point.shape[:-1])
    if where.link == WORLD:
        return np.zeros((*batch, 6, system.nu))
    tree = branch(system.tree, where.link)
    motion = kinematics(tree, q, u)
    poses = world_poses(tree, motion)
    x, x_rate = _carried(poses[-1], motion.velocities[-1], where.p + matvec(where.R, point))
    columns: dict[int, Array] = {}
    for k, link in enumerate(tree.links):
        rates = link.joint.subspace_rate(q[..., link.q], u[..., link.u])
        p, p_rate = _carried(poses[k], motion.velocities[k], np.zeros(3))
        subspace_rates = _column_rates_in_world(poses[k][0], motion.velocities[k][0], motion.subspaces[k], rates)
        columns[link.u.start] = _column_rates(
            subspace_rates, poses[k][0] @ motion.subspaces[k][0], x - p, x_rate - p_rate
        )
    return _spread(system, columns, batch)


def _carried(pose: Pair, velocity: Pair, arm: Array) -> Pair:
    """World position of a point `arm` of a link, and its velocity."""
    (R, p), (omega, v) = pose, velocity
    return p + matvec(R, arm), matvec(R, v + cross(omega, arm))


def _column_rates_in_world(R: Array, omega: Array, S: Pair, S_rate: Pair) -> Pair:
    """d(R S_omega)/dt and d(R S_v)/dt = R ([omega x] S + Sdot)."""
    return R @ (row_cross(omega, S[0]) + S_rate[0]), R @ (row_cross(omega, S[1]) + S_rate[1])


def _column_rates(subspace_rates: Pair, angular: Array, arm: Array, arm_rate: Array) -> Array:
    """(..., 6, n) rate of (R S_v + R S_omega x arm, R S_omega)."""
    angular_rate, linear_rate = subspace_rates
    linear_rate = linear_rate - row_cross(arm, angular_rate) - row_cross(arm_rate, angular)
    return joined_matrices([linear_rate, angular_rate], -2)


def local_rate(R: Array, omega: Array, J: Array, J_rate: Array) -> Array:
    """(..., 6, n) rate of the components of J in axes R that rotate with omega (..., 3), in world components."""
    rotated = [row_cross(omega, J[..., :3, :]), row_cross(omega, J[..., 3:, :])]
    return local(R, J_rate - np.concatenate(rotated, axis=-2))


def acceleration(system: ArticulatedSystem, q: Array, u: Array, udot: Array, frame: str, point: Array) -> Array:
    """(..., 6) acceleration of the point and angular acceleration of the frame: J udot + Jdot u."""
    where = system.tree.frames[frame]
    if where.link == WORLD:
        return np.zeros((*q.shape[:-1], 6))
    tree = branch(system.tree, where.link)
    motion = kinematics(tree, q, u)
    R, _ = world_poses(tree, motion)[-1]
    a_omega, a_v = accelerations(tree, motion, udot, np.zeros(3))[-1]
    omega, v = motion.velocities[-1]
    arm = where.p + matvec(where.R, point)
    linear = a_v + cross(a_omega, arm) + cross(omega, v + cross(omega, arm))
    return joined([matvec(R, linear), matvec(R, a_omega)])


def local(R: Array, rows: Array) -> Array:
    """(..., 6, n) rows (linear, angular) of world components, expressed in axes R (..., 3, 3)."""
    back = np.swapaxes(R, -1, -2)
    return np.concatenate([back @ rows[..., :3, :], back @ rows[..., 3:, :]], axis=-2)
