"""Our functions of a coordinate as OpenSim's."""

from collections.abc import Callable
from typing import Any

from myoquat.data.osim.writing.elements import add
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction, Constant, Linear, Multiplier, PiecewiseLinear, Polynomial, SimmSpline

__all__ = ["add_function"]

Parts = dict[str, Any]

PLAIN: dict[type[AxisFunction], tuple[str, Callable[[Any], Parts]]] = {
    Constant: ("Constant", lambda f: {"value": f.constant}),
    Linear: ("LinearFunction", lambda f: {"coefficients": (f.factor, f.offset)}),
    SimmSpline: ("SimmSpline", lambda f: {"x": f.x, "y": f.y}),
    PiecewiseLinear: ("PiecewiseLinearFunction", lambda f: {"x": f.x, "y": f.y}),
    Polynomial: ("PolynomialFunction", lambda f: {"coefficients": f.coefficients[::-1]}),  # highest power first
}


def add_function(parent: Any, function: AxisFunction, element: str, name: str = "") -> None:
    """A function as a child; ModelError with the `element` that needs it for one that OpenSim does not know."""
    if isinstance(function, Multiplier):
        holder = add(parent, "MultiplierFunction", name=name)
        add_function(add(holder, "function"), function.function, element)
        add(holder, "scale", function.scale)
        return
    if type(function) not in PLAIN:
        raise ModelError(f"OpenSim has no function like {type(function).__name__}", element=element)
    tag, parts = PLAIN[type(function)]
    holder = add(parent, tag, name=name)
    for key, value in parts(function).items():
        add(holder, key, value)
