"""Constraints: one file per kind, all with the verbs of `myoquat.dynamics.constraints.base.Constraint`."""

from myoquat.dynamics.constraints.base import Constraint, Holonomic, NonHolonomic
from myoquat.dynamics.constraints.coordinates import CoordinateCoupler, Prescribed
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.dynamics.constraints.evaluate import ConstraintArrays
from myoquat.dynamics.constraints.formulas import PositionFormula, VelocityFormula
from myoquat.dynamics.constraints.loops import Distance, ParallelAxes, PointLoop, Weld
from myoquat.dynamics.constraints.rolling import Rolling

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
