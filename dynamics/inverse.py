"""Inverse dynamics, the wrenches on links that joints carry, forces of springs and dampers in joints, and energies."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from myoquat.core import Array, Pair
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.motion import (
    Motion,
    accelerations,
    assembled,
    carried_sums,
    gravity_accelerations,
    inertia_times,
    kinematics,
    to_parent,
    world_poses,
)
from myoquat.joints.multibody.tree import WORLD, Tree
from myoquat.joints.vectors import cross, dot, joined, matvec, rows_of, vecmat
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero

# ---- External wrenches on bodies, brought to the links ------------------------------------------------------------
#
# A wrench of a body is a row (force [N], torque [N m]) at its origin in world axes.


def link_wrenches(system: ArticulatedSystem, tree: Tree, motion: Motion, f_ext: Array) -> list[Pair]:
    """(n, f) on every link, at its origin in its axes, of f_ext (..., bodies, 6): (force, torque) on each body at its
    origin in world axes. What acts on bodies welded to the ground, the ground takes."""
    total: list[Pair] = [(np.zeros(3), np.zeros(3)) for _ in tree.links]
    for link, origin, (n, f) in body_wrenches(system, tree, motion, f_ext):
        total[link] = total[link][0] + (n + cross(origin, f)), total[link][1] + f
    return total


def body_wrenches(
    system: ArticulatedSystem, tree: Tree, motion: Motion, f_ext: Array
) -> Iterator[tuple[int, Array, Pair]]:
    """The link and the origin of every body that moves, and (n, f) of f_ext at that origin, both in the link's axes."""
    poses = world_poses(tree, motion)
    for i, name in enumerate(system.body_names):
        link, _, origin = tree.frames[name]
        if link != WORLD:
            R, _ = poses[link]
            yield link, origin, (vecmat(f_ext[..., i, 3:], R), vecmat(f_ext[..., i, :3], R))


# ---- Springs, damping and rotor inertia of joints: forces and inertias that act on u directly ---------------------


def _by_joint(system: ArticulatedSystem, amount: str, value: Callable[[Body, slice, slice], Array | None]) -> Array:
    """(..., nu) an amount of every body times a value of its joint (body, slice of q, slice of u); zero where this is
    None, or the amount zero."""
    parts = []
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        factor = getattr(body, amount)
        found = value(body, iq, iu) if may_be_nonzero(factor) else None
        parts.append(np.zeros(body.joint.nu) if found is None else factor * found)
    return joined(parts) if parts else np.zeros(0)


def damping_force(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """(..., nu) c d(q, u), d the velocities that dampers of the joints act on."""
    return _by_joint(system, "damping", lambda body, iq, iu: body.joint.damped(q[..., iq], u[..., iu]))


def rotor_inertia(system: ArticulatedSystem) -> Array:
    """(nu,) what rotors add on the diagonal of the mass matrix."""
    return as_array([body.rotor_inertia for body in system.bodies for _ in range(body.joint.nu)])


def mount(body: Body) -> Array:
    """(nq,) where the spring of a body's joint is mounted."""
    return body.joint.neutral() if body.spring_mount is None else as_array(body.spring_mount)


def passive_force(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """(..., nu) damping, springs and rotors as parts of b: c d(q, u) + k d(q) + J drift(u)."""
    return damping_force(system, q, u) + spring_force(system, q) + rotor_force(system, u)


def rotor_force(system: ArticulatedSystem, u: Array) -> Array:
    """(..., nu) what rotors add to b: J drift(u), because the kinetic energy J |u|^2 / 2 of velocities in the axes of
    a body that turns belongs to velocities in the axes of its parent. It does no work."""
    return _by_joint(system, "rotor_inertia", lambda body, _, iu: body.joint.rotor_drift(u[..., iu]))


def spring_force(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu) k d(q), d the deviation from the mount: for a spherical joint the rotation vector from mount to q."""
    return _by_joint(system, "stiffness", lambda body, iq, _: body.joint.deviation(q[..., iq], mount(body)))


def spring_energy(system: ArticulatedSystem, q: Array) -> Array:
    """(...) sum of k |d|^2 / 2 [J]."""
    energy: Array = np.zeros(())
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if may_be_nonzero(body.stiffness):
            d = body.joint.deviation(q[..., iq], mount(body))
            energy = energy + body.stiffness / 2 * dot(d, d)
    return energy


# ---- Inverse dynamics by the recursive Newton-Euler algorithm, and the forces that are parts of it ----------------
#
# Formulas on a system and arrays with leading batch axes, floats or symbols. Source: [RBDA] R. Featherstone, Rigid Body
# Dynamics Algorithms, Springer 2008, table 5.1 (its spatial vectors written out as pairs).


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
    return carried_sums(tree, motion, forces, to_parent)


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


# ---- What passes through the joints -------------------------------------------------------------------------------


def joint_wrenches(system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None = None) -> Array:
    """(..., bodies, 6) (force, torque) that each body gets through its joint, at its origin in world axes."""
    tree = system.unmerged_tree
    motion = kinematics(tree, q, u)
    passing = transmitted(tree, motion, link_forces(system, tree, motion, udot, f_ext))
    rows: list[Any] = [None] * len(system.bodies)
    for link, (R, _), (n, f) in zip(tree.links, world_poses(tree, motion), passing, strict=True):
        rows[link.body] = joined([matvec(R, f), matvec(R, n)])
    return rows_of(rows)


# ---- Energies and power -------------------------------------------------------------------------------------------


def kinetic(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """(...) sum over bodies of v . I v / 2, and of the rotors [J]; equals u^T M u / 2."""
    motion = kinematics(system.tree, q, u)
    energy: Array = np.sum(rotor_inertia(system) / 2 * u * u, axis=-1)
    for link, (omega, v) in zip(system.tree.links, motion.velocities, strict=True):
        n, f = inertia_times(link, (omega, v))
        energy = energy + (dot(omega, n) + dot(v, f)) / 2
    return energy


def potential(system: ArticulatedSystem, q: Array) -> Array:
    """(...) energy of gravity, zero at the world's origin, and of the springs [J]."""
    poses, gravity = world_poses(system.tree, kinematics(system.tree, q)), as_array(system.gravity)
    energy: Array = spring_energy(system, q)
    for body in system.bodies:
        frame = system.tree.frames[body.name]
        if frame.link < 0:  # welded to the ground
            energy = energy - body.mass * (frame.p + frame.R @ as_array(body.center_of_mass)) @ gravity
    for link, (R, p) in zip(system.tree.links, poses, strict=True):
        energy = energy - dot(matvec(R, link.moment) + link.mass * p, gravity)
    return energy


def work_rate(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(...) d(kinetic + potential)/dt [W]: of tau and f_ext, less what damping takes."""
    force = tau - damping_force(system, q, u)
    return dot(force if f_ext is None else force + external(system, q, f_ext), u)
