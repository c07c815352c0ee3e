"""Kinematics of frames and points, and the centre of mass: formulas on a system, floats or symbols.

`frame` is the name of a body or of the ground, `point` (..., 3) [m] a point in its axes. Vectors are in world axes;
six-vectors are (linear, angular).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, Pair
from myoquat.kernels import as_array, is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at

from .motion import Motion, accelerations, assembled, carried_sums, inertia_times, kinematics, world_poses
from .multibody.system import ArticulatedSystem
from .multibody.tree import WORLD, Frame, Tree
from .vectors import cross, joined, joined_matrices, matvec, row_cross, transpose


def branch(tree: Tree, link: int) -> Tree:
    """The links from the root to `link` only, numbered along the way."""
    path = tree.path(link)
    place = {WORLD: WORLD} | {i: k for k, i in enumerate(path)}
    return Tree(tuple(replace(tree.links[i], parent=place[tree.links[i].parent]) for i in path), {})


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


def in_axes(axes: str, R: Array, rows: Array) -> Array:
    """(..., 6, n) rows (linear, angular) of world components; with axes "local", in the axes R (..., 3, 3)."""
    if axes == "world":
        return rows
    back = transpose(R)
    return joined_matrices([back @ rows[..., :3, :], back @ rows[..., 3:, :]], -2)


def jacobian(system: ArticulatedSystem, q: Array, frame: str, point: Array, axes: str = "world") -> Array:
    """(..., 6, nu) J: (velocity of the point, angular velocity of the frame) = J u."""
    tree, motion, poses, (R, p) = _reached(system, q, system.tree.frames[frame])
    x = p + matvec(R, point)
    columns: dict[int, Array] = {}
    for link, (S_omega, S_v), (R_link, p_link) in zip(tree.links, motion.subspaces, poses, strict=True):
        angular = R_link @ S_omega
        linear = R_link @ S_v - row_cross(x - p_link, angular)
        columns[link.u.start] = joined_matrices([linear, angular], -2)
    sizes = [(s.start, s.stop - s.start) for s in system.u_slices]
    parts = [columns[start] if n and start in columns else np.zeros((6, n)) for start, n in sizes]
    batch = np.broadcast_shapes(q.shape[:-1], x.shape[:-1])
    return in_axes(axes, R, joined_matrices([*parts, np.zeros((*batch, 6, 0))]))


def jacobian_rate(
    system: ArticulatedSystem, q: Array, u: Array, frame: str, point: Array, axes: str = "world"
) -> Array:
    """(..., 6, nu) dJ/dt along the motion u, of the components in `axes`."""

    def entries(s: Array) -> Array:
        J = jacobian(system, system.displaced(q, s * u), frame, point, axes)
        return J.reshape((*J.shape[:-2], 6 * system.nu))

    like = next((x for x in (q, u, point) if is_symbolic(x)), q)
    rate = jacobian_at(entries, np.zeros(1), like)[..., 0]
    return rate.reshape((*rate.shape[:-1], 6, system.nu))


def acceleration(
    system: ArticulatedSystem, q: Array, u: Array, udot: Array, frame: str, point: Array, axes: str = "world"
) -> Array:
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
    rows = joined([matvec(R, linear), matvec(R, a_omega)])[..., None]
    return in_axes(axes, R @ where.R, rows)[..., 0]


# ---- Centre of mass and momentum of the moving bodies, in world axes ----------------------------------------------


def total_mass(system: ArticulatedSystem) -> float:
    """Mass of all moving bodies [kg]."""
    return sum(link.mass for link in system.tree.links)


def center(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 3) centre of mass [m]."""
    motion = kinematics(system.tree, q)
    moments = _first_moments(system, motion, world_poses(system.tree, motion))
    roots = [moment for link, (_, moment) in zip(system.tree.links, moments, strict=True) if link.parent == WORLD]
    return sum(roots, start=np.zeros(3)) / total_mass(system)


def _first_moments(system: ArticulatedSystem, motion: Motion, poses: list[Pair]) -> list[Pair]:
    """(mass, mass times position (..., 3)) of every link with all that it carries."""
    own = [(as_array(link.mass), matvec(R, link.moment) + link.mass * p)
           for link, (R, p) in zip(system.tree.links, poses, strict=True)]  # fmt: skip
    return carried_sums(system.tree, motion, own, lambda _, moment: moment)


def center_jacobian(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 3, nu) J: velocity of the centre of mass = J u."""
    tree = system.tree
    motion = kinematics(tree, q)
    poses = world_poses(tree, motion)
    carried = _first_moments(system, motion, poses)
    parts = [
        mass * (R @ S_v) - row_cross(moment - mass * p, R @ S_omega)
        for (R, p), (S_omega, S_v), (mass, moment) in zip(poses, motion.subspaces, carried, strict=True)
    ]
    return assembled(system, parts) / total_mass(system)


def momentum(system: ArticulatedSystem, q: Array, u: Array, about: Array) -> Array:
    """(..., 6) linear momentum [kg m/s] and angular momentum [kg m^2/s] about the point `about` (..., 3)."""
    tree = system.tree
    motion = kinematics(tree, q, u)
    linear: Array = np.zeros(3)
    angular: Array = np.zeros(3)
    for link, (R, p), velocity in zip(tree.links, world_poses(tree, motion), motion.velocities, strict=True):
        n, f = inertia_times(link, velocity)
        f = matvec(R, f)
        linear = linear + f
        angular = angular + matvec(R, n) + cross(p - about, f)
    return joined([linear, angular])
