"""Functions of a coordinate, which move the axes of custom joints, or of the time: one file each, the same verbs."""

from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.formulas import (
    Constant,
    Linear,
    Multiplier,
    MultivariatePolynomial,
    Polynomial,
    Sine,
    coefficients_of,
    straight_line,
)
from myoquat.joints.functions.splines import NaturalSpline, PiecewiseConstant, PiecewiseLinear, SimmSpline, SmoothStep

__all__ = [
    "AxisFunction",
    "Constant",
    "Linear",
    "Multiplier",
    "MultivariatePolynomial",
    "NaturalSpline",
    "PiecewiseConstant",
    "PiecewiseLinear",
    "Polynomial",
    "SimmSpline",
    "Sine",
    "SmoothStep",
    "coefficients_of",
    "straight_line",
]
