"""Springs, damping and rotor inertia of joints: forces and inertias that act on u directly."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero

__all__ = ["damping_force", "passive_force", "rotor_inertia", "spring_energy", "spring_force"]


def damping_force(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """(..., nu) c d(q, u), d the velocities that dampers of the joints act on."""
    parts = []
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if may_be_nonzero(body.damping):
            parts.append(body.damping * body.joint.damped(q[..., iq], u[..., iu]))
        else:
            parts.append(np.zeros(body.joint.nu))
    return joined(parts) if parts else np.zeros(0)


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
    parts = []
    for body, iu in zip(system.bodies, system.u_slices, strict=True):
        drift = body.joint.rotor_drift(u[..., iu]) if may_be_nonzero(body.rotor_inertia) else None
        parts.append(np.zeros(body.joint.nu) if drift is None else body.rotor_inertia * drift)
    return joined(parts) if parts else np.zeros(0)


def spring_force(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu) k d(q), d the deviation from the mount: for a spherical joint the rotation vector from mount to q."""
    parts = []
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if may_be_nonzero(body.stiffness):
            parts.append(body.stiffness * body.joint.deviation(q[..., iq], mount(body)))
        else:
            parts.append(np.zeros(body.joint.nu))
    return joined(parts) if parts else np.zeros(0)


def spring_energy(system: ArticulatedSystem, q: Array) -> Array:
    """(...) sum of k |d|^2 / 2 [J]."""
    energy: Array = np.zeros(())
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if may_be_nonzero(body.stiffness):
            d = body.joint.deviation(q[..., iq], mount(body))
            energy = energy + body.stiffness / 2 * np.sum(d * d, axis=-1)
    return energy
