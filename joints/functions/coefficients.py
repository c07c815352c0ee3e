"""Which functions are polynomials, and which."""

from myoquat.core.arguments import check_types
from myoquat.joints.functions.base import AxisFunction

__all__ = ["coefficients_of", "straight_line"]


def coefficients_of(function: AxisFunction) -> tuple[float, ...] | None:
    """Coefficients of a polynomial, the constant first; None for a function that is none.

    >>> from myoquat.joints.functions import Linear, Multiplier, coefficients_of
    >>> coefficients_of(Multiplier(Linear(2.0, offset=1.0), scale=3.0))
    (3.0, 6.0)
    """
    check_types(function=(function, AxisFunction))
    return function.as_polynomial


def straight_line(function: AxisFunction) -> tuple[float, float] | None:
    """(factor, offset) of a function f(x) = factor x + offset, also of a SIMM spline through points of a line; None for
    another one.

    >>> from myoquat.joints.functions import SimmSpline, straight_line
    >>> straight_line(SimmSpline((0.0, 2.0), (1.0, 5.0)))
    (2.0, 1.0)
    """
    check_types(function=(function, AxisFunction))
    return function.as_line
