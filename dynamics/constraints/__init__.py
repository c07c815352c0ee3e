"""Constraints of a system: the types of `myoquat.joints.constraints`, and their use in the equations of motion."""

from myoquat.dynamics.constraints.assemble import AssemblyError, assemble
from myoquat.dynamics.constraints.equations import Constraints, constraints_of
from myoquat.dynamics.constraints.evaluate import ConstrainedMotion, ConstraintArrays
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

__all__ = [
    "AssemblyError", "ConstrainedMotion", "Constraint", "ConstraintArrays", "Constraints", "CoordinateCoupler",
    "Distance", "Holonomic", "Locked", "NonHolonomic", "OnSurface", "ParallelAxes", "PointLoop", "PointOnLine",
    "PolynomialCoupler", "PositionFormula", "Prescribed", "Rolling", "VelocityFormula", "Weld", "assemble",
    "constraints_of"
]  # fmt: skip
