from .base import AxisFunction as AxisFunction
from .formulas import (
    Constant as Constant,
    Linear as Linear,
    Multiplier as Multiplier,
    MultivariatePolynomial as MultivariatePolynomial,
    Polynomial as Polynomial,
    Sine as Sine,
    coefficients_of as coefficients_of,
    straight_line as straight_line,
)
from .splines import (
    NaturalSpline as NaturalSpline,
    PiecewiseConstant as PiecewiseConstant,
    PiecewiseLinear as PiecewiseLinear,
    SimmSpline as SimmSpline,
    SmoothStep as SmoothStep,
)
