"""Equality constraints of joints, as couplers."""

from numpy.polynomial import Polynomial as Powers

from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import complain
from myoquat.joints.functions import AxisFunction, Linear, Polynomial
from myoquat.muscle.coordinates import Coupler

__all__ = ["read_couplers"]

QUIET = ("class", "solref", "solimp")


def read_couplers(document: Document, skeleton: Skeleton) -> tuple[Coupler, ...]:
    """A coupler for every joint that follows another; other constraints and those that are off are noted.

    y - y0 = sum of a_i (x - x0)^i, x0 and y0 the joints' `ref`: as a polynomial of x.
    """
    found = []
    for element in document.sections("equality"):
        values = document.values(element)
        if element.tag != "joint":
            document.census.count(element, "constraint")
        elif not values.boolean("active", True):
            document.census.count(element, "active is false")
        elif not values.has("joint2"):
            document.census.count(element, "a joint that is held where it is")
        else:
            found.append(_coupler(values, skeleton))
            document.finish(values, *QUIET)
    return tuple(found)


def _coupler(values: Values, skeleton: Skeleton) -> Coupler:
    dependent, independent = values.text("joint1"), values.text("joint2")
    for name in (dependent, independent):
        if name not in skeleton.refs:
            complain(values.element, f"{name!r} is no hinge and no slide of the model")
    given = values.numbers("polycoef", 1, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
    function = _function(given, skeleton.refs[independent], skeleton.refs[dependent])
    return Coupler(values.text("name", f"{dependent}_follows_{independent}"), dependent, independent, function)


def _function(coefficients: tuple[float, ...], x0: float, y0: float) -> AxisFunction:
    whole = Powers(coefficients)
    if x0:
        whole = whole(Powers([-x0, 1.0]))
    found = [float(c) for c in (whole + y0).trim().coef]
    if len(found) > 2:
        return Polynomial(tuple(found))
    return Linear(found[1] if len(found) > 1 else 0.0, found[0])
