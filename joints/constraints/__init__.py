"""Constraints on the motion of a system: one file per type, with the verbs of `myoquat.joints.constraints.base`."""

from myoquat.joints.constraints.base import Constraint, Holonomic, NonHolonomic, PositionFormula, VelocityFormula
from myoquat.joints.constraints.coordinates import CoordinateCoupler, Locked, PolynomialCoupler, Prescribed
from myoquat.joints.constraints.loops import Distance, OnSurface, ParallelAxes, PointLoop, PointOnLine, Rolling, Weld

__all__ = [
    "Constraint",
    "CoordinateCoupler",
    "Distance",
    "Holonomic",
    "Locked",
    "NonHolonomic",
    "OnSurface",
    "ParallelAxes",
    "PointLoop",
    "PointOnLine",
    "PolynomialCoupler",
    "PositionFormula",
    "Prescribed",
    "Rolling",
    "VelocityFormula",
    "Weld",
]
