"""Which functions are polynomials, and which."""

from myoquat.joints.functions.base import AxisFunction
from myoquat.joints.functions.multiplier import Multiplier
from myoquat.joints.functions.polynomial import Constant, Linear, Polynomial

__all__ = ["coefficients_of"]


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
