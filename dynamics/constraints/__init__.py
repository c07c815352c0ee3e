"""Constraints: one file per kind, all with the verbs of `dynamics.constraints.base.Constraint`."""

from dynamics.constraints.base import Constraint, Holonomic, NonHolonomic
from dynamics.constraints.coordinates import CoordinateCoupler, Prescribed
from dynamics.constraints.equations import Constraints
from dynamics.constraints.evaluate import ConstraintArrays
from dynamics.constraints.formulas import PositionFormula, VelocityFormula
from dynamics.constraints.loops import Distance, ParallelAxes, PointLoop, Weld
from dynamics.constraints.rolling import Rolling

__all__ = [
    "Constraint",
    "ConstraintArrays",
    "Constraints",
    "CoordinateCoupler",
    "Distance",
    "Holonomic",
    "NonHolonomic",
    "ParallelAxes",
    "PointLoop",
    "PositionFormula",
    "Prescribed",
    "Rolling",
    "VelocityFormula",
    "Weld",
]
