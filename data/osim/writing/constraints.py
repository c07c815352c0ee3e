"""Couplers and constraints as OpenSim's; mirrors `myoquat.data.osim.reading.constraints`."""

from collections.abc import Callable
from typing import Any

from myoquat.data.elements import add, add_set, checked_name
from myoquat.data.osim.functions import add_function
from myoquat.data.osim.reading.constraints import COUPLER, powers_of
from myoquat.data.osim.writing.joints import add_offset, path_of
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.constraints import (
    Constraint,
    CoordinateCoupler,
    Distance,
    PointLoop,
    PointOnLine,
    PolynomialCoupler,
    Weld,
)
from myoquat.joints.errors import ModelError
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.model import Model

__all__ = ["add_constraints", "add_placed"]


def add_constraints(parent: Element, model: Model, unwritten: UnwrittenParts) -> None:
    """The <ConstraintSet>. ModelError for a constraint that OpenSim does not have: the model would move otherwise."""
    holder = add_set(parent, "ConstraintSet")
    for coupler in model.couplers:
        _add_coupler(holder, coupler)
    taken = {coupler.name for coupler in model.couplers}
    for i, constraint in enumerate(model.constraints):
        if type(constraint) not in WRITERS:
            raise ModelError(
                "OpenSim has no constraint of this type that the file could hold", element=constraint.label
            )
        tag, write = WRITERS[type(constraint)]
        name = constraint.name or f"constraint_{i + 1}"
        if not constraint.name:
            unwritten.count("constraints without a name, given one", name)
        if name in taken:
            raise ModelError(f"the name {name!r} is taken twice", element=constraint.label)
        taken.add(name)
        write(add(holder, tag, name=checked_name(name, constraint.label)), constraint)


# ---- couplers ----------------------------------------------------------------------------------------------


def _add_coupler(holder: Element, coupler: Coupler) -> None:
    element = f"coupler {coupler.name!r}"
    entry = add(holder, COUPLER, name=checked_name(coupler.name, element))
    add_function(add(entry, "coupled_coordinates_function"), coupler.function, element)
    _add_names(entry, coupler.independent, coupler)


def _write_coupler(entry: Element, constraint: CoordinateCoupler) -> None:
    add_function(add(entry, "coupled_coordinates_function"), constraint.function, constraint.label)
    _add_names(entry, constraint.independent, constraint)


def _write_polynomial(entry: Element, constraint: PolynomialCoupler) -> None:
    """All terms up to the order of the greatest, those that are not given with coefficient 0."""
    order = max(map(sum, constraint.powers), default=0)
    terms = dict.fromkeys(powers_of(len(constraint.independent), order), 0.0)
    for powers, coefficient in zip(constraint.powers, constraint.coefficients, strict=True):
        terms[powers] += coefficient
    holder = add(entry, "coupled_coordinates_function")
    function = add(holder, "MultivariatePolynomialFunction")
    add(function, "dimension", str(len(constraint.independent)))
    add(function, "order", str(order))
    add(function, "coefficients", tuple(terms.values()))
    _add_names(entry, " ".join(constraint.independent), constraint)


def _add_names(entry: Element, independent: str, coupler: Any) -> None:
    add(entry, "independent_coordinate_names", independent)
    add(entry, "dependent_coordinate_name", coupler.dependent)
    add(entry, "scale_factor", coupler.scale)


# ---- bodies ------------------------------------------------------------------------------------------------


def _add_points(entry: Element, constraint: Any) -> None:
    for ours, k in (("first", 1), ("second", 2)):
        add(entry, f"socket_body_{k}", path_of(getattr(constraint, ours)))
        add(entry, f"location_body_{k}", getattr(constraint, f"{ours}_point"))


def _write_loop(entry: Element, constraint: PointLoop) -> None:
    if constraint.axes != "xyz":
        raise ModelError(f"OpenSim holds points along all axes, not {constraint.axes!r}", element=constraint.label)
    _add_points(entry, constraint)


def _write_distance(entry: Element, constraint: Distance) -> None:
    _add_points(entry, constraint)
    add(entry, "constant_distance", constraint.distance)


def add_placed(entry: Element, pair: Any) -> None:
    """The two frames that a constraint or a force links, and the sockets that name them."""
    frames = add(entry, "frames")
    for ours, k in (("first", 1), ("second", 2)):
        angles = getattr(pair, f"{ours}_angles")
        add(entry, f"socket_frame{k}", f"held_{k}")
        turned = quaternion_from_euler(angles, "XYZ")
        add_offset(frames, f"held_{k}", getattr(pair, ours), getattr(pair, f"{ours}_point"), turned)


def _write_on_line(entry: Element, constraint: PointOnLine) -> None:
    add(entry, "socket_line_body", path_of(constraint.first))
    add(entry, "socket_follower_body", path_of(constraint.second))
    add(entry, "line_direction_vec", constraint.axis)
    add(entry, "point_on_line", constraint.first_point)
    add(entry, "point_on_follower", constraint.second_point)


WRITERS: dict[type[Constraint], tuple[str, Callable[[Element, Any], None]]] = {
    CoordinateCoupler: (COUPLER, _write_coupler),
    PolynomialCoupler: (COUPLER, _write_polynomial),
    PointLoop: ("PointConstraint", _write_loop),
    Weld: ("WeldConstraint", add_placed),
    Distance: ("ConstantDistanceConstraint", _write_distance),
    PointOnLine: ("PointOnLineConstraint", _write_on_line),
}
