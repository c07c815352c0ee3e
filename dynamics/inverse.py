"""Inverse dynamics by the recursive Newton-Euler algorithm, and the forces that are parts of it.

Formulas on a system and arrays with leading batch axes, floats or symbols. Source: [RBDA] R. Featherstone, Rigid Body
Dynamics Algorithms, Springer 2008, table 5.1 (its spatial vectors written out as pairs).
"""

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.passive import passive_force, rotor_inertia
from myoquat.dynamics.wrenches import link_wrenches
from myoquat.joints.motion import (
    Motion,
    Pair,
    accelerations,
    assembled,
    gravity_accelerations,
    inertia_times,
    kinematics,
    to_parent,
)
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Tree
from myoquat.joints.vectors import cross, vecmat
from myoquat.kernels.symbolic.arrays import may_be_nonzero

__all__ = ["bias", "external", "generalized", "gravity_load", "inverse", "link_forces", "transmitted"]


def inverse(system: ArticulatedSystem, q: Array, u: Array, udot: Array | None, f_ext: Array | None = None) -> Array:
    """(..., nu) tau = M udot + b - J^T f_ext."""
    tree = system.tree
    motion = kinematics(tree, q, u)
    forces = link_forces(system, tree, motion, udot, f_ext)
    tau = generalized(system, motion, transmitted(tree, motion, forces)) + passive_force(system, q, u)
    rotors = rotor_inertia(system)
    return tau + rotors * udot if udot is not None and may_be_nonzero(rotors) else tau


def bias(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """(..., nu) b: gravity, Coriolis and centrifugal forces, damping and springs; M udot + b = tau."""
    return inverse(system, q, u, None)


def gravity_load(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu) the part of b that gravity makes."""
    tree = system.tree
    motion = kinematics(tree, q)
    upward = gravity_accelerations(tree, motion, system.gravity)
    forces = [(cross(link.moment, a), link.mass * a) for link, a in zip(tree.links, upward, strict=True)]
    return generalized(system, motion, transmitted(tree, motion, forces))


def link_forces(
    system: ArticulatedSystem, tree: Tree, motion: Motion, udot: Array | None, f_ext: Array | None = None
) -> list[Pair]:
    """(n, f) of every link: the force that its motion asks for beyond what f_ext gives; gravity as an acceleration."""
    found = []
    for i, a in enumerate(accelerations(tree, motion, udot, system.gravity)):
        n, f = inertia_times(tree.links[i], a)
        gyro = gyroscopic(inertia_times(tree.links[i], motion.velocities[i]), motion.velocities[i])
        found.append((n + gyro[0], f + gyro[1]))
    if f_ext is None:
        return found
    outside = link_wrenches(system, tree, motion, f_ext)
    return [(n - m, f - g) for (n, f), (m, g) in zip(found, outside, strict=True)]


def gyroscopic(momentum: Pair, velocity: Pair) -> Pair:
    """v x* I v: (omega x n + v x f, omega x f)."""
    (n, f), (omega, v) = momentum, velocity
    return cross(omega, n) + cross(v, f), cross(omega, f)


def transmitted(tree: Tree, motion: Motion, forces: list[Pair]) -> list[Pair]:
    """(n, f) that each joint passes on: the link's own force and those of all that it carries."""
    total = list(forces)
    for i in reversed(range(len(tree.links))):
        parent = tree.links[i].parent
        if parent != WORLD:
            n, f = to_parent(motion.transforms[i], total[i])
            total[parent] = total[parent][0] + n, total[parent][1] + f
    return total


def generalized(system: ArticulatedSystem, motion: Motion, forces: list[Pair]) -> Array:
    """(..., nu) S^T f of every joint."""
    parts = [
        vecmat(n, S_omega) + vecmat(f, S_v) for (S_omega, S_v), (n, f) in zip(motion.subspaces, forces, strict=True)
    ]
    return assembled(system, [np.asanyarray(part) for part in parts])


def external(system: ArticulatedSystem, q: Array, f_ext: Array) -> Array:
    """(..., nu) J^T f_ext."""
    tree = system.tree
    motion = kinematics(tree, q)
    return generalized(system, motion, transmitted(tree, motion, link_wrenches(system, tree, motion, f_ext)))
