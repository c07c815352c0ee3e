"""Energies and power: formulas on a system, floats or symbols."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.inverse import damping_force, link_wrenches, rotor_inertia, spring_energy
from myoquat.joints import ArticulatedSystem
from myoquat.joints.motion import inertia_times, kinematics, world_poses
from myoquat.joints.vectors import dot, matvec
from myoquat.kernels import as_array

__all__ = ["kinetic", "potential", "work_rate"]


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
    motion = kinematics(system.tree, q)
    gravity = as_array(system.gravity)
    energy: Array = spring_energy(system, q)
    for body in system.bodies:
        frame = system.tree.frames[body.name]
        if frame.link < 0:  # welded to the ground
            energy = energy - body.mass * (frame.p + frame.R @ as_array(body.center_of_mass)) @ gravity
    for link, (R, p) in zip(system.tree.links, world_poses(system.tree, motion), strict=True):
        energy = energy - dot(matvec(R, link.moment) + link.mass * p, gravity)
    return energy


def work_rate(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(...) d(kinetic + potential)/dt [W]: of tau and f_ext, less what damping takes."""
    power: Array = np.sum((tau - damping_force(system, q, u)) * u, axis=-1)
    if f_ext is None:
        return power
    motion = kinematics(system.tree, q, u)
    wrenches = link_wrenches(system, system.tree, motion, f_ext)
    for (n, f), (omega, v) in zip(wrenches, motion.velocities, strict=True):
        power = power + dot(n, omega) + dot(f, v)
    return power
