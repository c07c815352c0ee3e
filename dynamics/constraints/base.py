"""What every constraint can do.

A holonomic constraint says phi(q, t) = 0, a non-holonomic one psi(q, u, t) = 0. From that one formula everything else
follows by exact differentiation:

    rate      phidot = A u + phi_t, or psi itself
    Jacobian  A = d phidot / du (k, nu)
    bias      b with A udot = b: b = -d phidot / dt at udot = 0, along q(s) = q exp(s u), t + s

Derivatives nest, so rates and biases run on symbols and in kernels, not on floats directly.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from myoquat.joints import state
from myoquat.joints.errors import ModelError
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.records import Record

__all__ = ["Constraint", "Holonomic", "NonHolonomic"]


class Constraint(Record, ABC):
    """A frozen dataclass of numbers and names; kernels are kept by its content."""

    @abstractmethod
    def rate(self, system: ArticulatedSystem, q: Any, u: Any, t: Any) -> Any:
        """(..., k) phidot, or psi: zero on a motion that obeys."""

    def position(self, system: ArticulatedSystem, q: Any, t: Any) -> Any:
        """(..., k) phi, (..., 0) for a constraint on velocities alone."""
        return np.zeros((*q.shape[:-1], 0))

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the system lacks what the constraint names."""

    def jacobian(self, system: ArticulatedSystem, q: Any, t: Any) -> Any:
        """(..., k, nu) A."""
        zero = np.zeros(system.nu)
        return jacobian_at(lambda u: self.rate(system, q, u, t), zero, like=q)

    def bias(self, system: ArticulatedSystem, q: Any, u: Any, t: Any) -> Any:
        """(..., k) b with A udot = b."""

        def along(s: Any) -> Any:
            return self.rate(system, state.integrate(system.layout, q, s * u), u, t + s[..., 0])

        return -jacobian_at(along, np.zeros(1), like=q)[..., 0]


class Holonomic(Constraint):
    """A constraint on coordinates."""

    @abstractmethod
    def position(self, system: ArticulatedSystem, q: Any, t: Any) -> Any:
        """(..., k) phi."""

    def rate(self, system: ArticulatedSystem, q: Any, u: Any, t: Any) -> Any:
        def along(s: Any) -> Any:
            return self.position(system, state.displaced(system.layout, q, s * u), t + s[..., 0])

        return jacobian_at(along, np.zeros(1), like=q)[..., 0]

    def jacobian(self, system: ArticulatedSystem, q: Any, t: Any) -> Any:
        """(..., k, nu) A, by the rows of phi."""
        zero = np.zeros(system.nu)
        return jacobian_at(lambda m: self.position(system, state.displaced(system.layout, q, m), t), zero, like=q)


class NonHolonomic(Constraint):
    """A constraint on velocities that is no constraint on coordinates."""


def check_bodies(system: ArticulatedSystem, *names: str) -> None:
    """ModelError for a body that is not there."""
    known = (system.ground, *system.body_names)
    for name in names:
        if name not in known:
            raise ModelError(f"constraint: body {name!r} does not exist; known: {', '.join(known)}")


def check_coordinates(system: ArticulatedSystem, *names: str) -> None:
    """ModelError for a coordinate that is not there."""
    known = (*system.coordinate_names, *system.angle_names)
    for name in names:
        if name not in known:
            raise ModelError(f"constraint: coordinate {name!r} does not exist; known: {', '.join(known)}")


def point_of(system: ArticulatedSystem, q: Any, body: str, point: Any) -> Any:
    """(..., 3) a body's point in the world."""
    R, p = system.poses(q)[body]
    return p + matvec(R, np.asarray(point, dtype=float))
