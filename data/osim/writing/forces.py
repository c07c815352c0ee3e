"""Passive forces as OpenSim's; mirrors `myoquat.data.osim.reading.forces`."""

from collections.abc import Callable, Sequence
from typing import Any

from myoquat.data.elements import add, checked_name
from myoquat.data.osim.functions import add_function
from myoquat.data.osim.reading.forces import BUSHING, DAMPING, EXPRESSIONS, FUNCTIONS, PRESCRIBED, SPRING
from myoquat.data.osim.writing.constraints import add_placed
from myoquat.data.osim.writing.contact import write_hunt_crossley, write_smooth
from myoquat.data.osim.writing.joints import path_of
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.muscle.forces import (
    Bushing,
    BushingExpressions,
    BushingFunctions,
    CoordinateExpression,
    CoordinateSpring,
    HuntCrossley,
    PassiveForce,
    PointExpression,
    PointSpring,
    PrescribedForce,
    SmoothSphereHalfSpace,
)

__all__ = ["add_forces"]


def add_forces(parent: Element, forces: Sequence[PassiveForce]) -> None:
    """An element for every force; ModelError for one that OpenSim does not have: the model would move otherwise."""
    for force in forces:
        if type(force) not in WRITERS:
            raise ModelError("OpenSim has no force of this type", element=force.element)
        tag, write = WRITERS[type(force)]
        write(add(parent, tag, name=checked_name(force.name, force.element)), force)


def _coordinate_spring(entry: Element, force: CoordinateSpring) -> None:
    add(entry, "coordinate", force.coordinate)
    for ours, (tag, _) in SPRING.items():
        add(entry, tag, getattr(force, ours))


def _point_spring(entry: Element, force: PointSpring) -> None:
    for k, ours in ((1, "first"), (2, "second")):
        add(entry, f"socket_body{k}", path_of(getattr(force, ours)))
        add(entry, f"point{k}", getattr(force, f"{ours}_point"))
    add(entry, "stiffness", force.stiffness)
    add(entry, "rest_length", force.rest_length)


def _bushing(entry: Element, force: Bushing) -> None:
    add_placed(entry, force)
    for tag in BUSHING:
        add(entry, tag, getattr(force, tag))


def _coordinate_expression(entry: Element, force: CoordinateExpression) -> None:
    add(entry, "coordinate", force.coordinate)
    add(entry, "expression", force.expression)


def _point_expression(entry: Element, force: PointExpression) -> None:
    for k, ours in ((1, "first"), (2, "second")):
        add(entry, f"body{k}", getattr(force, ours))
        add(entry, f"point{k}", getattr(force, f"{ours}_point"))
    add(entry, "expression", force.expression)


def _bushing_expressions(entry: Element, force: BushingExpressions) -> None:
    add_placed(entry, force)
    for ours, tags in EXPRESSIONS.items():
        for tag, expression in zip(tags, getattr(force, ours), strict=True):
            add(entry, tag, expression)
    for tag in DAMPING:
        add(entry, tag, getattr(force, tag))


def _bushing_functions(entry: Element, force: BushingFunctions) -> None:
    add_placed(entry, force)
    for ours, tags in FUNCTIONS.items():
        for tag, function in zip(tags, getattr(force, ours), strict=True):
            add_function(add(entry, tag), function, force.element)
    for tag in DAMPING:
        add(entry, tag, getattr(force, tag))


def _prescribed(entry: Element, force: PrescribedForce) -> None:
    others = {frame for frame in (force.force_frame, force.point_frame) if frame is not None}
    if others:
        raise ModelError(
            f"OpenSim's files hold forces over time in the axes of their body or the ground, not of {sorted(others)}",
            element=force.element,
        )
    add(entry, "socket_frame", path_of(force.body))
    add(entry, "pointIsGlobal", force.point_in_world)
    add(entry, "forceIsGlobal", force.in_world)
    for ours, name in PRESCRIBED.items():
        holder = add(add(entry, "FunctionSet", name=name), "objects")
        for axis, function in zip("xyz", getattr(force, ours), strict=True):
            add_function(holder, function, force.element, name=axis)


WRITERS: dict[type[PassiveForce], tuple[str, Callable[[Element, Any], None]]] = {
    CoordinateSpring: ("SpringGeneralizedForce", _coordinate_spring),
    PointSpring: ("PointToPointSpring", _point_spring),
    Bushing: ("BushingForce", _bushing),
    CoordinateExpression: ("ExpressionBasedCoordinateForce", _coordinate_expression),
    PointExpression: ("ExpressionBasedPointToPointForce", _point_expression),
    BushingExpressions: ("ExpressionBasedBushingForce", _bushing_expressions),
    BushingFunctions: ("FunctionBasedBushingForce", _bushing_functions),
    PrescribedForce: ("PrescribedForce", _prescribed),
    HuntCrossley: ("HuntCrossleyForce", write_hunt_crossley),
    SmoothSphereHalfSpace: ("SmoothSphereHalfSpaceForce", write_smooth),
}
