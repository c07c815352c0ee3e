"""What every constraint can do.

A holonomic constraint says phi(q, t) = 0, a non-holonomic one psi(q, u, t) = 0. From that one formula everything else
follows by exact differentiation, unless a type has a shorter formula:

    rate      phidot = A u + phi_t, or psi itself
    Jacobian  A = d phidot / du (k, nu)
    bias      b with A udot = b: b = -d phidot / dt at udot = 0, along q(s) = q exp(s u), t + s

Derivatives nest, so rates and biases run on symbols and in kernels, not on floats directly.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field

import numpy as np

from myoquat.core import Array, ArrayLike, Record, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.multibody import state
from myoquat.joints.vectors import matvec
from myoquat.kernels import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at


@frozen
class Constraint(Record, ABC):
    """A frozen dataclass of numbers and names; kernels are kept by its content. `name` stands in messages and files.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Constraint, Distance
    >>> rope = Distance("bob", "ground", distance=2.0, name="rope")
    >>> isinstance(rope, Constraint), rope.name
    (True, 'rope')
    """

    name: str = field(default="", kw_only=True)

    @property
    def label(self) -> str:
        """The constraint in words: "weld 'toe'"."""
        type_name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()
        return f"{type_name} {self.name!r}" if self.name else type_name

    @property
    def named_coordinates(self) -> tuple[str, ...] | None:
        """The coordinates on which it depends beyond the poses of bodies; None if it may depend on all."""
        return None

    @property
    def driven(self) -> str | None:
        """The coordinate that the constraint gives as a function of others or of time, None if it gives none. The
        derivative of its row by this coordinate is never zero."""
        return None

    @abstractmethod
    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        """(..., k) phidot, or psi: zero on a motion that satisfies the constraint."""

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., k) phi, (..., 0) for a constraint on velocities alone."""
        return np.zeros((*q.shape[:-1], 0))

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the system lacks what the constraint names."""
        check_coordinates(system, *(self.named_coordinates or ()))

    def jacobian(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., k, nu) A."""
        zero = np.zeros(system.nu)
        return jacobian_at(lambda u: self.rate(system, q, u, t), zero, like=q)

    def position_jacobian(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., h, nu) derivative of phi along the velocities."""
        return jacobian_at(
            lambda motion: self.position(system, state.displaced(system, q, motion), t), np.zeros(system.nu), like=q
        )

    def bias(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        """(..., k) b with A udot = b."""
        return -state.rate_along(lambda s: self.rate(system, state.integrate(system, q, s * u), u, t + s[..., 0]), q)


class Holonomic(Constraint):
    """A constraint on coordinates.

    >>> from myoquat.dynamics.constraints import Distance, Holonomic, Rolling
    >>> issubclass(Distance, Holonomic), issubclass(Rolling, Holonomic)
    (True, False)
    """

    @abstractmethod
    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., k) phi."""

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        return state.rate_along(lambda s: self.position(system, state.displaced(system, q, s * u), t + s[..., 0]), q)

    def jacobian(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., k, nu) A, by the rows of phi."""
        return self.position_jacobian(system, q, t)


class NonHolonomic(Constraint):
    """A constraint on velocities that is no constraint on coordinates.

    >>> from myoquat.dynamics.constraints import NonHolonomic, Rolling, VelocityFormula
    >>> issubclass(Rolling, NonHolonomic), issubclass(VelocityFormula, NonHolonomic)
    (True, True)
    """


def check_bodies(system: ArticulatedSystem, *names: str, element: str = "constraint", what: str = "") -> None:
    """ModelError for a body that is not there."""
    known = (system.ground, *system.body_names)
    for name in names:
        if name not in known:
            raise ModelError(f"{what}body {name!r} does not exist; known: {', '.join(known)}", element=element)


def check_coordinates(system: ArticulatedSystem, *names: str, element: str = "constraint") -> None:
    """ModelError for a coordinate that is not there."""
    known = (*system.coordinate_names, *system.angle_names)
    for name in names:
        if name not in known:
            raise ModelError(f"coordinate {name!r} does not exist; known: {', '.join(known)}", element=element)


def point_of(system: ArticulatedSystem, q: Array, body: str, point: ArrayLike) -> Array:
    """(..., 3) a body's point in the world."""
    R, p = system.poses(q)[body]
    return p + matvec(R, as_array(point))


# ---- Constraints of one's own, written as NumPy formulas ----------------------------------------------------------


@frozen
class PositionFormula(Holonomic):
    """phi(system, q, t) -> (..., k), twice differentiable; its derivatives are taken exactly.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PositionFormula
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> circle = PositionFormula(lambda system, q, t: np.stack([q[0] * q[0] + q[1] * q[1] - 1.0]))
    >>> circle.position(mq.ArticulatedSystem(tuple(bodies)), np.array([0.6, 0.8]), 0.0).round(9)
    array([0.])
    """

    formula: Callable[[ArticulatedSystem, Array, Array], Array]

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        return self.formula(system, q, t)


@frozen
class VelocityFormula(NonHolonomic):
    """psi(system, q, u, t) -> (..., k), differentiable, linear in u.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import VelocityFormula
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> skate = VelocityFormula(lambda system, q, u, t: np.stack([u[1] - q[0] * u[0]]))
    >>> skate.rate(mq.ArticulatedSystem(tuple(bodies)), np.array([2.0, 0.0]), np.array([1.0, 2.0]), 0.0)
    array([0.])
    """

    formula: Callable[[ArticulatedSystem, Array, Array, Array], Array]

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        return self.formula(system, q, u, t)
