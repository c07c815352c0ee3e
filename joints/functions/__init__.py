"""Functions of one coordinate that move the axes of custom joints: one file each, all with the same verbs."""

from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.coefficients import coefficients_of
from myoquat.joints.functions.multiplier import Multiplier
from myoquat.joints.functions.piecewise_linear import PiecewiseLinear
from myoquat.joints.functions.polynomial import Constant, Linear, Polynomial
from myoquat.joints.functions.simm_spline import SimmSpline

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
