"""Constraints, read and written by one table: couplers of one coordinate as couplers, the others as constraints."""

from dataclasses import replace
from math import comb
from typing import Any

from myoquat.data.reports import UnsupportedElements, UnwrittenParts
from myoquat.data.xml import Element, add, add_set, body_fixed, boolean, complain, last_name, numbers, objects, text
from myoquat.joints import ModelError, quaternion_from_euler
from myoquat.joints.constraints import (
    Constraint,
    CoordinateCoupler,
    Distance,
    PointLoop,
    PointOnLine,
    PolynomialCoupler,
    Weld,
)
from myoquat.joints.functions import AxisFunction, Constant, Linear, MultivariatePolynomial
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coupler

from .elements import COORDINATE, Format, Frame, Frames, Part, add_offset, by_tag, on_body, only_written
from .functions import FUNCTION, FUNCTIONS, POLYNOMIAL, add_function, read_polynomial

COUPLER, OF_COUPLER = "CoordinateCouplerConstraint", "coupled_coordinates_function"
ENDS = (("first", 1), ("second", 2))


# ---- couplers of several coordinates -----------------------------------------------------------------------


def _independent(element: Element) -> list[str]:
    return [last_name(word) for word in text(element, "independent_coordinate_names").split()]


def _read_polynomial(element: Any, _: Any) -> dict[str, Any]:
    """A function that is a polynomial of several coordinates."""
    names = tuple(_independent(element))
    function = next(element.iterfind(f"{OF_COUPLER}/*"), None)
    if function is None:
        complain(element, f"<{OF_COUPLER}> needs a function")
    line = function.tag == "LinearFunction"
    polynomial = read_polynomial(function, len(names)) if line or function.tag == POLYNOMIAL else None
    if polynomial is None:
        known = ", ".join([POLYNOMIAL, *FUNCTIONS])
        complain(function, f"<{function.tag}> of {len(names)} coordinates is not supported; known: {known}")
    return {"independent": names, "coefficients": polynomial.coefficients, "powers": polynomial.powers}


def _add_polynomial(entry: Element, constraint: PolynomialCoupler) -> None:
    """All terms up to the order of the greatest, those that are not given with coefficient 0."""
    if not constraint.independent:
        raise ModelError("OpenSim's couplers depend on a coordinate, and this one on none")
    order = max(map(sum, constraint.powers), default=0)
    count = len(constraint.independent)
    if order > 10 or count > 6:
        raise ModelError(f"a polynomial of order {order} of {count} coordinates is not supported")
    function = MultivariatePolynomial(count, order, (0.0,) * comb(count + order, order))
    terms = dict.fromkeys(function.powers, 0.0)
    for powers, coefficient in zip(constraint.powers, constraint.coefficients, strict=True):
        terms[powers] += coefficient
    add_function(add(entry, OF_COUPLER), replace(function, coefficients=tuple(terms.values())))
    add(entry, "independent_coordinate_names", " ".join(constraint.independent))


# ---- points and frames of two bodies -----------------------------------------------------------------------


def _read_linked(element: Element, frames: Frames) -> dict[str, Any]:
    """Two frames that are linked; older documents give their poses on the bodies."""
    if element.find("socket_body_1") is None:
        return _linked(*(frames.of(element, f"socket_frame{k}") for _, k in ENDS))
    bodies = [(frames.of(element, f"socket_body_{k}"), k) for _, k in ENDS]
    return _linked(*(body.offset(element, f"location_body_{k}", f"orientation_body_{k}") for body, k in bodies))


def _linked(*frames: Frame) -> dict[str, Any]:
    """Two bodies, and origin and XYZ angles of a frame on each."""
    values: dict[str, Any] = {}
    for (ours, _), frame in zip(ENDS, frames, strict=True):
        values |= {ours: frame.body, f"{ours}_point": frame.p}
        values[f"{ours}_angles"] = body_fixed(frame.orientation)
    return values


def _add_linked(entry: Element, pair: Any) -> None:
    frames = add(entry, "frames")
    for ours, k in ENDS:
        add(entry, f"socket_frame{k}", f"held_{k}")
        turned = quaternion_from_euler(getattr(pair, f"{ours}_angles"), "XYZ")
        add_offset(frames, f"held_{k}", getattr(pair, ours), getattr(pair, f"{ours}_point"), turned)


def weld(first: Frame, second: Frame, name: str) -> Weld:
    """Two frames that a joint without coordinates holds together."""
    return Weld(**_linked(first, second), name=name)


def _check_axes(constraint: PointLoop) -> None:
    if constraint.axes != "xyz":
        raise ModelError(f"OpenSim holds points along all axes, not {constraint.axes!r}")


# ---- the table ---------------------------------------------------------------------------------------------


def _add_driving(entry: Element, tag: str, function: AxisFunction) -> None:
    """A Constant as a line: beside a Constant, OpenSim holds the independent coordinate and leaves the other free."""
    line = Linear(0.0, function.constant) if isinstance(function, Constant) else function
    add_function(add(entry, tag), line)


DRIVING = FUNCTION._replace(write=_add_driving)
DRIVEN = {"dependent": ("dependent_coordinate_name", COORDINATE), "scale": "scale_factor"}
DRIVEN_BY_ONE = {
    **DRIVEN,
    "independent": ("independent_coordinate_names", COORDINATE),
    "function": (OF_COUPLER, DRIVING),
}
POINTS = [on_body(f"socket_body_{k}", f"location_body_{k}", ours, f"{ours}_point") for ours, k in ENDS]
LINKED = Part(_read_linked, _add_linked)
OF_ONE = Format(COUPLER, Coupler, DRIVEN_BY_ONE)
OF_SEVERAL = Format(COUPLER, PolynomialCoupler, DRIVEN, Part(_read_polynomial, _add_polynomial))
CONSTRAINTS = by_tag(
    Format("PointConstraint", PointLoop, {}, *POINTS, only_written(_check_axes)),
    Format("WeldConstraint", Weld, {}, LINKED),
    Format("ConstantDistanceConstraint", Distance, {"distance": ("constant_distance", None)}, *POINTS),
    Format(
        "PointOnLineConstraint",
        PointOnLine,
        {},
        on_body("socket_line_body", "point_on_line", "first", "first_point"),
        on_body("socket_follower_body", "point_on_follower", "second", "second_point"),
        Part(
            lambda element, frames: {
                "axis": frames.of(element, "socket_line_body").R @ numbers(element, "line_direction_vec", 3)
            },
            lambda entry, constraint: add(entry, "line_direction_vec", constraint.axis),
        ),
    ),
)
WRITTEN = {f.record: f for f in (Format(COUPLER, CoordinateCoupler, DRIVEN_BY_ONE), OF_SEVERAL, *CONSTRAINTS.values())}


def read_constraints(
    model: Any, frames: Frames, unsupported: UnsupportedElements
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...]]:
    """Couplers of one coordinate, and the other constraints of a <Model>; what is not enforced or not known is noted.

    ModelError with its line for a constraint that cannot be."""
    couplers: list[Coupler] = []
    constraints: list[Constraint] = []
    for element in objects(model, "ConstraintSet"):
        if not boolean(element, "isEnforced", True):
            unsupported.count(element, "constraint, isEnforced is false")
        elif element.tag != COUPLER and element.tag not in CONSTRAINTS:
            unsupported.count(element, "constraint; the model moves without it")
        elif element.tag != COUPLER:
            constraints.append(CONSTRAINTS[element.tag].read(element, frames))
        elif len(_independent(element)) == 1 and element.find(f"{OF_COUPLER}/{POLYNOMIAL}") is None:
            couplers.append(OF_ONE.read(element))
        else:
            constraints.append(OF_SEVERAL.read(element))
    return tuple(couplers), tuple(constraints)


def add_constraints(parent: Element, model: Model, unwritten: UnwrittenParts) -> None:
    """The <ConstraintSet>. ModelError for a constraint that OpenSim does not have: the model would move otherwise."""
    holder = add_set(parent, "ConstraintSet")
    for coupler in model.couplers:
        OF_ONE.write(holder, coupler, f"coupler {coupler.name!r}")
    taken = {coupler.name for coupler in model.couplers}
    for i, constraint in enumerate(model.constraints):
        if type(constraint) not in WRITTEN:
            raise ModelError(
                "OpenSim has no constraint of this type that the file could hold", element=constraint.label
            )
        name = constraint.name or f"constraint_{i + 1}"
        if not constraint.name:
            unwritten.count("constraints without a name, given one", name)
        if name in taken:
            raise ModelError(f"the name {name!r} is taken twice", element=constraint.label)
        taken.add(name)
        WRITTEN[type(constraint)].write(holder, constraint, constraint.label, name)
