"""Constraints of one's own, written as NumPy formulas."""

from collections.abc import Callable
from dataclasses import dataclass

from myoquat.joints.constraints.base import Holonomic, NonHolonomic
from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array

__all__ = ["PositionFormula", "VelocityFormula"]


@dataclass(frozen=True)
class PositionFormula(Holonomic):
    """phi(system, q, t) -> (..., k), twice differentiable; its derivatives are taken exactly."""

    formula: Callable[[ArticulatedSystem, Array, Array], Array]

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        result: Array = self.formula(system, q, t)
        return result


@dataclass(frozen=True)
class VelocityFormula(NonHolonomic):
    """psi(system, q, u, t) -> (..., k), differentiable, linear in u."""

    formula: Callable[[ArticulatedSystem, Array, Array, Array], Array]

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        result: Array = self.formula(system, q, u, t)
        return result
