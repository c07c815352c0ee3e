"""OpenSim's functions of a coordinate as ours."""

from collections.abc import Callable
from typing import Any

from myoquat.data.osim.document import number, numbers
from myoquat.data.xml import complain
from myoquat.joints.functions import AxisFunction, Constant, Linear, Multiplier, PiecewiseLinear, Polynomial, SimmSpline

__all__ = ["FUNCTIONS", "function_in", "read_function"]


def _linear(element: Any) -> AxisFunction:
    slope, offset = numbers(element, "coefficients", 2)
    return Linear(slope, offset)


def _multiplier(element: Any) -> AxisFunction:
    return Multiplier(function_in(element.find("function"), element), number(element, "scale", 1.0))


FUNCTIONS: dict[str, Callable[[Any], AxisFunction]] = {
    "Constant": lambda element: Constant(number(element, "value")),
    "LinearFunction": _linear,
    "SimmSpline": lambda element: SimmSpline(numbers(element, "x"), numbers(element, "y")),
    "PiecewiseLinearFunction": lambda element: PiecewiseLinear(numbers(element, "x"), numbers(element, "y")),
    "PolynomialFunction": lambda element: Polynomial(numbers(element, "coefficients")[::-1]),  # highest power first
    "MultiplierFunction": _multiplier,
}


def read_function(element: Any) -> AxisFunction:
    """A function; ModelError with element and line for a kind that is not known or points that make none."""
    if element.tag not in FUNCTIONS:
        complain(element, f"the function <{element.tag}> is not supported; known: {', '.join(FUNCTIONS)}")
    try:
        return FUNCTIONS[element.tag](element)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))


def function_in(holder: Any, owner: Any) -> AxisFunction:
    """The function among the children of an element; ModelError if there is none."""
    found = [child for child in (holder if holder is not None else ()) if child.tag in FUNCTIONS]
    if not found:
        others = [child.tag for child in (holder if holder is not None else ()) if isinstance(child.tag, str)]
        complain(owner, f"<{owner.tag}> needs a function, one of {', '.join(FUNCTIONS)}; it holds {others}")
    return read_function(found[0])
