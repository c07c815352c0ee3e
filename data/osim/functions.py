"""Functions of a coordinate, read and written by one table, and polynomials of several."""

from dataclasses import replace
from typing import Any

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

from .elements import Format, Part, ValueType, by_tag, format_of, same, three_of

MIN_SPLINE_STEP = 1e-7  # between neighbouring x of a SimmSpline, in OpenSim's SimmSpline::calcCoefficients


def _read_line(element: Element, _: Any) -> dict[str, float]:
    return dict(zip(("factor", "offset"), numbers(element, "coefficients", 2, (1.0, 0.0)), strict=True))


def _add_degree(entry: Element, tag: str, degree: int) -> None:
    add(entry, tag, str((degree + 1) // 2))
    add(entry, "error_variance", 0.0)


def _move_apart(_: Element, points: dict[str, Any]) -> None:
    """Move repeated points MIN_SPLINE_STEP apart, as OpenSim does: the spline is level there."""
    x, y = (list(points[key]) for key in "xy")
    for k in range(1, min(len(x), len(y))):
        if (points["x"][k], y[k]) == (points["x"][k - 1], y[k - 1]):
            x[k] = x[k - 1] + MIN_SPLINE_STEP
    points["x"] = tuple(x)


def _function(element: Element, tag: str, *_: Any) -> AxisFunction:
    return function_in(element.find(tag), element)


def _add_function(entry: Element, tag: str, function: AxisFunction) -> None:
    add_function(add(entry, tag), function)


def _or_zero(element: Element, tag: str) -> AxisFunction:
    return Constant(0.0) if element.find(tag) is None else _function(element, tag)


FUNCTION, THREE_FUNCTIONS = ValueType(_function, _add_function), three_of(_or_zero, _add_function)
VALUES = ValueType(lambda element, tag, *_: numbers(element, tag))
POINTS = same(x=VALUES, y=VALUES)
HALF_ORDER = ValueType(lambda element, tag, *_: 2 * int(number(element, tag)) - 1, _add_degree)
DESCENDING = ValueType(  # highest power first
    lambda element, tag, *_: numbers(element, tag, None, (1.0,))[::-1],
    lambda entry, tag, coefficients: add(entry, tag, coefficients[::-1]),
)
STEP = {
    "start": ("transition_start_time", 0.99),
    "end": ("transition_end_time", 1.01),
    "first": "start_value",
    "last": "end_value",
}
FUNCTIONS = by_tag(
    Format("Constant", Constant, {"constant": "value"}),
    Format("LinearFunction", Linear, {}, Part(_read_line, lambda e, f: add(e, "coefficients", (f.factor, f.offset)))),
    Format("SimmSpline", SimmSpline, POINTS, finish=_move_apart),
    Format("PiecewiseLinearFunction", PiecewiseLinear, POINTS),
    Format("PiecewiseConstantFunction", PiecewiseConstant, POINTS),
    Format("GCVSpline", NaturalSpline, {"degree": ("half_order", HALF_ORDER), **POINTS}),
    Format("StepFunction", SmoothStep, STEP),
    Format("Sine", Sine, same("amplitude", "omega", "phase", "offset")),
    Format("PolynomialFunction", Polynomial, same(coefficients=DESCENDING)),
    Format("MultiplierFunction", Multiplier, same(function=FUNCTION) | same("scale")),
)
POLYNOMIAL = "MultivariatePolynomialFunction"


def can_read(element: Element) -> bool:
    """Whether a function is of a known type and does not smooth its points."""
    return element.tag in FUNCTIONS and not _smooths(element) and all(map(can_read, element.iterfind("function/*")))


def _smooths(element: Element) -> bool:
    return element.tag == "GCVSpline" and number(element, "error_variance", 0.0) != 0


def read_function(element: Element) -> AxisFunction:
    """A function; ModelError with element and line for an unknown type, or points that define no function."""
    if element.tag not in FUNCTIONS:
        complain(element, f"the function <{element.tag}> is not supported; known: {', '.join(FUNCTIONS)}")
    if _smooths(element):
        complain(element, "a <GCVSpline> that smooths its points is not supported: its <error_variance> must be 0")
    found: AxisFunction = FUNCTIONS[element.tag].read(element)
    return found


def read_polynomial(element: Element, dimension: int) -> MultivariatePolynomial | None:
    """A function of so many coordinates, None for one that is no polynomial of them."""
    with invalid_at(element):
        if element.tag == POLYNOMIAL and int(number(element, "dimension")) == dimension:
            return MultivariatePolynomial(dimension, int(number(element, "order")), numbers(element, "coefficients"))
        if element.tag == "MultiplierFunction":
            child, scale = next(element.iterfind("function/*"), None), number(element, "scale", 1.0)
            inner = None if child is None else read_polynomial(child, dimension)
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
    children = [] if holder is None else list(holder.iterchildren("*"))
    found = [child for child in children if child.tag in FUNCTIONS]
    if not found:
        others = [child.tag for child in children]
        complain(owner, f"<{owner.tag}> needs a function, one of {', '.join(FUNCTIONS)}; it holds {others}")
    return read_function(found[0])


def add_function(parent: Element, function: AxisFunction | MultivariatePolynomial, name: str = "") -> None:
    """A function as a child; ModelError for one that OpenSim does not know."""
    if isinstance(function, MultivariatePolynomial):
        own = add(parent, POLYNOMIAL, name=name)
        add(own, "coefficients", function.coefficients)
        add(own, "dimension", str(function.dimension))
        add(own, "order", str(function.order))
        return
    format_ = format_of(FUNCTIONS, function)
    if format_ is None:
        raise ModelError(f"OpenSim has no function like {type(function).__name__}")
    format_.fill(add(parent, format_.tag, name=name), function)
