"""Constraints of a system: the types of `myoquat.joints.constraints`, and their use in the equations of motion."""

from myoquat.joints.constraints import (
    Constraint,
    CoordinateCoupler,
    Distance,
    Holonomic,
    Locked,
    NonHolonomic,
    OnSurface,
    ParallelAxes,
    PointLoop,
    PointOnLine,
    PolynomialCoupler,
    PositionFormula,
    Prescribed,
    Rolling,
    VelocityFormula,
    Weld,
)

from .assemble import AssemblyError, assemble
from .equations import Constraints, constraints_of
from .evaluate import ConstrainedMotion, ConstraintArrays

__all__ = [
    "AssemblyError", "ConstrainedMotion", "Constraint", "ConstraintArrays", "Constraints", "CoordinateCoupler",
    "Distance", "Holonomic", "Locked", "NonHolonomic", "OnSurface", "ParallelAxes", "PointLoop", "PointOnLine",
    "PolynomialCoupler", "PositionFormula", "Prescribed", "Rolling", "VelocityFormula", "Weld", "assemble",
    "constraints_of"
]  # fmt: skip
