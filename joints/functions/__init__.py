"""Functions of a coordinate, which move the axes of custom joints, or of the time: one file each, the same verbs."""

from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.coefficients import coefficients_of, straight_line
from myoquat.joints.functions.multiplier import Multiplier
from myoquat.joints.functions.multivariate import MultivariatePolynomial
from myoquat.joints.functions.natural_spline import NaturalSpline
from myoquat.joints.functions.piecewise_constant import PiecewiseConstant
from myoquat.joints.functions.piecewise_linear import PiecewiseLinear
from myoquat.joints.functions.polynomial import Constant, Linear, Polynomial
from myoquat.joints.functions.simm_spline import SimmSpline
from myoquat.joints.functions.sine import Sine
from myoquat.joints.functions.smooth_step import SmoothStep

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
