"""Which functions are polynomials, and which."""

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.multiplier import Multiplier
from myoquat.joints.functions.polynomial import Constant, Linear, Polynomial
from myoquat.joints.functions.simm_spline import SimmSpline

__all__ = ["coefficients_of", "straight_line"]

STRAIGHTNESS_TOLERANCE = 1e-12  # distance of a point from the line through the ends, relative to the largest value


def coefficients_of(function: AxisFunction) -> tuple[float, ...] | None:
    """Coefficients of a polynomial, the constant first; None for a function that is none.

    >>> from myoquat.joints.functions import Linear, Multiplier, coefficients_of
    >>> coefficients_of(Multiplier(Linear(2.0, offset=1.0), scale=3.0))
    (3.0, 6.0)
    """
    if isinstance(function, Multiplier):
        inner = coefficients_of(function.function)
        return None if inner is None else tuple(function.scale * c for c in inner)
    if isinstance(function, Polynomial):
        return function.coefficients
    if isinstance(function, Linear):
        return (function.offset, function.factor)
    return (function.constant,) if isinstance(function, Constant) else None


def straight_line(function: AxisFunction) -> tuple[float, float] | None:
    """(factor, offset) of a function f(x) = factor x + offset, also of a SIMM spline through points of a line; None for
    another one.

    >>> from myoquat.joints.functions import SimmSpline, straight_line
    >>> straight_line(SimmSpline((0.0, 2.0), (1.0, 5.0)))
    (2.0, 1.0)
    """
    check_types(function=(function, AxisFunction))
    if isinstance(function, Multiplier):
        inner = straight_line(function.function)
        return None if inner is None else (function.scale * inner[0], function.scale * inner[1])
    found = coefficients_of(function)
    if found is not None:
        return (found[1], found[0]) if len(found) == 2 else None
    if not isinstance(function, SimmSpline):
        return None
    x, y = np.array(function.x), np.array(function.y)
    factor = (y[-1] - y[0]) / (x[-1] - x[0])
    offset = y[0] - factor * x[0]
    off = np.abs(factor * x + offset - y).max()
    return (float(factor), float(offset)) if off <= STRAIGHTNESS_TOLERANCE * np.abs(y).max() else None
