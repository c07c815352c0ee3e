"""Springs, damping and rotor inertia of joints: forces and inertias that act on u directly."""

from typing import Any

import numpy as np

from joints._layout import joined
from joints.body import Body
from joints.system import ArticulatedSystem

__all__ = ["damping", "passive_force", "rotor_inertia", "spring_energy", "spring_force"]


def damping(system: ArticulatedSystem) -> np.ndarray:
    """(nu,) damping of each velocity."""
    return _spread(system, "damping")


def rotor_inertia(system: ArticulatedSystem) -> np.ndarray:
    """(nu,) what rotors add on the diagonal of the mass matrix."""
    return _spread(system, "rotor_inertia")


def _spread(system: ArticulatedSystem, field: str) -> np.ndarray:
    """(nu,) a body's number at each velocity of its joint."""
    return np.array([getattr(body, field) for body in system.bodies for _ in range(body.joint.nu)], dtype=float)


def mount(body: Body) -> np.ndarray:
    """(nq,) where the spring of a body's joint is mounted."""
    return body.joint.neutral() if body.spring_mount is None else np.array(body.spring_mount)


def passive_force(system: ArticulatedSystem, q: Any, u: Any) -> Any:
    """(..., nu) damping and springs as parts of b: c u + k d(q)."""
    c = damping(system)
    force = c * u if c.any() else np.zeros(system.nu)
    return force + spring_force(system, q) if _sprung(system) else force


def spring_force(system: ArticulatedSystem, q: Any) -> Any:
    """(..., nu) k d(q), d the deviation from the mount: for a spherical joint the rotation vector from mount to q."""
    parts = []
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if body.stiffness:
            parts.append(body.stiffness * body.joint.deviation(q[..., iq], mount(body)))
        else:
            parts.append(np.zeros(body.joint.nu))
    return joined(parts) if parts else np.zeros(0)


def spring_energy(system: ArticulatedSystem, q: Any) -> Any:
    """(...) sum of k |d|^2 / 2 [J]."""
    energy: Any = np.zeros(())
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if body.stiffness:
            d = body.joint.deviation(q[..., iq], mount(body))
            energy = energy + body.stiffness / 2 * np.sum(d * d, axis=-1)
    return energy


def _sprung(system: ArticulatedSystem) -> bool:
    return any(body.stiffness for body in system.bodies)
