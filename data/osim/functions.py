"""Functions of a coordinate, read and written by one table, and polynomials of several."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from myoquat.core.records import dataclass
from myoquat.data.xml import Element, add, complain, invalid_at, number, numbers
from myoquat.joints import ModelError
from myoquat.joints.functions import (
    AxisFunction,
    Constant,
    Linear,
    Multiplier,
    MultivariatePolynomial,
    NaturalSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SimmSpline,
    Sine,
    SmoothStep,
)

__all__ = [
    "FUNCTIONS",
    "POLYNOMIAL",
    "add_function",
    "can_read",
    "function_in",
    "read_function",
    "read_polynomial",
]


@dataclass(frozen=True)
class FunctionFormat:
    """A type of function: its class, its reader, and the children of its element by their tags. A child that is a
    function itself has a parent element of its own."""

    function: type[AxisFunction]
    read: Callable[[Element], AxisFunction]
    parts: Callable[[Any], dict[str, Any]]


MIN_SPLINE_STEP = 1e-7  # between neighbouring x of a SimmSpline, in OpenSim's SimmSpline::calcCoefficients
STEP = {"transition_start_time": 0.99, "transition_end_time": 1.01, "start_value": 0.0, "end_value": 1.0}
SINE = {"amplitude": 1.0, "omega": 1.0, "phase": 0.0, "offset": 0.0}
FUNCTIONS: dict[str, FunctionFormat] = {
    "Constant": FunctionFormat(Constant, lambda e: Constant(number(e, "value", 0.0)), lambda f: {"value": f.constant}),
    "LinearFunction": FunctionFormat(
        Linear,
        lambda e: Linear(*numbers(e, "coefficients", 2, (1.0, 0.0))),
        lambda f: {"coefficients": (f.factor, f.offset)},
    ),
    "SimmSpline": FunctionFormat(
        SimmSpline, lambda e: SimmSpline(*_apart(numbers(e, "x"), numbers(e, "y"))), lambda f: {"x": f.x, "y": f.y}
    ),
    "PiecewiseLinearFunction": FunctionFormat(
        PiecewiseLinear, lambda e: PiecewiseLinear(numbers(e, "x"), numbers(e, "y")), lambda f: {"x": f.x, "y": f.y}
    ),
    "PiecewiseConstantFunction": FunctionFormat(
        PiecewiseConstant, lambda e: PiecewiseConstant(numbers(e, "x"), numbers(e, "y")), lambda f: {"x": f.x, "y": f.y}
    ),
    "GCVSpline": FunctionFormat(
        NaturalSpline,
        lambda e: NaturalSpline(numbers(e, "x"), numbers(e, "y"), 2 * int(number(e, "half_order")) - 1),
        lambda f: {"half_order": str((f.degree + 1) // 2), "error_variance": 0.0, "x": f.x, "y": f.y},
    ),
    "StepFunction": FunctionFormat(
        SmoothStep,
        lambda e: SmoothStep(*(number(e, key, default) for key, default in STEP.items())),
        lambda f: dict(zip(STEP, (f.start, f.end, f.first, f.last), strict=True)),
    ),
    "Sine": FunctionFormat(
        Sine,
        lambda e: Sine(*(number(e, key, default) for key, default in SINE.items())),
        lambda f: {key: getattr(f, key) for key in SINE},
    ),
    "PolynomialFunction": FunctionFormat(  # highest power first in a file
        Polynomial,
        lambda e: Polynomial(numbers(e, "coefficients", None, (1.0,))[::-1]),
        lambda f: {"coefficients": f.coefficients[::-1]},
    ),
    "MultiplierFunction": FunctionFormat(
        Multiplier,
        lambda e: Multiplier(function_in(e.find("function"), e), number(e, "scale", 1.0)),
        lambda f: {"function": f.function, "scale": f.scale},
    ),
}
POLYNOMIAL = "MultivariatePolynomialFunction"
TAGS = {format_.function: tag for tag, format_ in FUNCTIONS.items()}


def can_read(element: Element) -> bool:
    """Whether a function is of a known type and does not smooth its points."""
    inner = element.find("function")
    below = [] if inner is None else [child for child in inner if isinstance(child.tag, str)]
    return element.tag in FUNCTIONS and not _smooths(element) and all(map(can_read, below))


def _apart(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Points with repeated ones moved MIN_SPLINE_STEP apart, as in OpenSim: the spline is level there."""
    moved = list(x)
    for k in range(1, min(len(x), len(y))):
        if (x[k], y[k]) == (x[k - 1], y[k - 1]):
            moved[k] = moved[k - 1] + MIN_SPLINE_STEP
    return tuple(moved), y


def _smooths(element: Element) -> bool:
    return element.tag == "GCVSpline" and number(element, "error_variance", 0.0) != 0


def read_function(element: Element) -> AxisFunction:
    """A function; ModelError with element and line for an unknown type, or points that define no function."""
    if element.tag not in FUNCTIONS:
        complain(element, f"the function <{element.tag}> is not supported; known: {', '.join(FUNCTIONS)}")
    if _smooths(element):
        complain(element, "a <GCVSpline> that smooths its points is not supported: its <error_variance> must be 0")
    with invalid_at(element):
        return FUNCTIONS[element.tag].read(element)


def read_polynomial(element: Element, dimension: int) -> MultivariatePolynomial | None:
    """A function of so many coordinates, None for one that is no polynomial of them."""
    with invalid_at(element):
        if element.tag == POLYNOMIAL and int(number(element, "dimension")) == dimension:
            return MultivariatePolynomial(dimension, int(number(element, "order")), numbers(element, "coefficients"))
        if element.tag == "MultiplierFunction":
            holder = element.find("function")
            children = [] if holder is None else [child for child in holder if isinstance(child.tag, str)]
            inner, scale = read_polynomial(children[0], dimension) if children else None, number(element, "scale", 1.0)
            return None if inner is None else replace(inner, coefficients=tuple(scale * c for c in inner.coefficients))
        if element.tag == "Constant":
            return MultivariatePolynomial(dimension, 0, (number(element, "value", 0.0),))
        if element.tag == "LinearFunction":  # that of the first coordinate first, the constant last
            return MultivariatePolynomial(dimension, 1, numbers(element, "coefficients", dimension + 1)[::-1])
        if element.tag == "PolynomialFunction" and dimension == 1:  # highest power first in a file
            found = numbers(element, "coefficients")[::-1]
            return MultivariatePolynomial(1, len(found) - 1, found)
    return None


def function_in(holder: Element | None, owner: Element) -> AxisFunction:
    """The function among the children of an element; ModelError if there is none."""
    children = [] if holder is None else list(holder)
    found = [child for child in children if child.tag in FUNCTIONS]
    if not found:
        others = [child.tag for child in children if isinstance(child.tag, str)]
        complain(owner, f"<{owner.tag}> needs a function, one of {', '.join(FUNCTIONS)}; it holds {others}")
    return read_function(found[0])


def add_function(
    parent: Element, function: AxisFunction | MultivariatePolynomial, element: str, name: str = ""
) -> None:
    """A function as a child; ModelError with the `element` that needs it for one that OpenSim does not know."""
    if isinstance(function, MultivariatePolynomial):
        own = add(parent, POLYNOMIAL, name=name)
        add(own, "coefficients", function.coefficients)
        add(own, "dimension", str(function.dimension))
        add(own, "order", str(function.order))
        return
    if type(function) not in TAGS:
        raise ModelError(f"OpenSim has no function like {type(function).__name__}", element=element)
    tag = TAGS[type(function)]
    own = add(parent, tag, name=name)
    for key, value in FUNCTIONS[tag].parts(function).items():
        if isinstance(value, AxisFunction):
            add_function(add(own, key), value, element)
        else:
            add(own, key, value)
