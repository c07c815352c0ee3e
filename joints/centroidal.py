"""Centre of mass and momentum of the moving bodies: formulas on a system, floats or symbols. World axes."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.motion import Pair, inertia_times, kinematics, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.vectors import cross, joined, matvec, row_cross

__all__ = ["center", "center_jacobian", "momentum", "total_mass"]


def total_mass(system: ArticulatedSystem) -> float:
    """Mass of all moving bodies [kg]."""
    return sum(link.mass for link in system.tree.links)


def center(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 3) centre of mass [m]."""
    return _first_moments(system, world_poses(system.tree, kinematics(system.tree, q)))[1] / total_mass(system)


def _first_moments(system: ArticulatedSystem, poses: list[Pair]) -> tuple[list[tuple[float, Array]], Array]:
    """(mass, mass times position (..., 3)) of every link with all that it carries, and the sum of the roots'."""
    links = system.tree.links
    found = [(link.mass, matvec(R, link.moment) + link.mass * p) for link, (R, p) in zip(links, poses, strict=True)]
    whole: Array = np.zeros(3)
    for i in reversed(range(len(links))):
        mass, moment = found[i]
        parent = links[i].parent
        if parent == WORLD:
            whole = whole + moment
        else:
            found[parent] = found[parent][0] + mass, found[parent][1] + moment
    return found, whole


def center_jacobian(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 3, nu) J: velocity of the centre of mass = J u."""
    tree = system.tree
    motion = kinematics(tree, q)
    poses = world_poses(tree, motion)
    carried, _ = _first_moments(system, poses)
    columns: dict[int, Array] = {}
    for i, link in enumerate(tree.links):
        (R, p), (S_omega, S_v), (mass, moment) = poses[i], motion.subspaces[i], carried[i]
        own = mass * (R @ S_v) - row_cross(moment - mass * p, R @ S_omega)
        columns[link.u.start] = columns[link.u.start] + own if link.u.start in columns else own
    parts = [columns[s.start] for s in system.u_slices if s.stop > s.start]
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    whole = np.concatenate([np.broadcast_to(c, (*batch, *c.shape[-2:]), subok=True) for c in parts], axis=-1)
    return whole / total_mass(system)


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
