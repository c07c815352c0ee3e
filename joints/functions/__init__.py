"""Functions of one coordinate that move the axes of custom joints: one file each, all with the same verbs."""

from joints.functions.base import AxisFunction
from joints.functions.coefficients import coefficients_of
from joints.functions.multiplier import Multiplier
from joints.functions.piecewise_linear import PiecewiseLinear
from joints.functions.polynomial import Constant, Linear, Polynomial
from joints.functions.simm_spline import SimmSpline

__all__ = [
    "AxisFunction",
    "Constant",
    "Linear",
    "Multiplier",
    "PiecewiseLinear",
    "Polynomial",
    "SimmSpline",
    "coefficients_of",
]
