"""Constraints of one's own, written as NumPy formulas."""

from collections.abc import Callable

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.constraints.base import Holonomic, NonHolonomic
from myoquat.joints.multibody.system import ArticulatedSystem

__all__ = ["PositionFormula", "VelocityFormula"]


@dataclass(frozen=True)
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
        result: Array = self.formula(system, q, t)
        return result


@dataclass(frozen=True)
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
        result: Array = self.formula(system, q, u, t)
        return result
