"""Passive forces of a file beside those along paths and the springs of whole joints."""

from collections.abc import Callable
from typing import Any

from myoquat.data.document import boolean, last_name, number, text, triple
from myoquat.data.osim.frames import Frames
from myoquat.data.osim.functions import can_read as can_read_function
from myoquat.data.osim.functions import function_in, read_function
from myoquat.data.osim.reading.constraints import placed
from myoquat.data.osim.reading.contact import CONTACTS, Contacts
from myoquat.data.xml import complain
from myoquat.joints.functions import AxisFunction, Constant
from myoquat.muscle.forces import (
    Bushing,
    BushingExpressions,
    BushingFunctions,
    CoordinateExpression,
    CoordinateSpring,
    PassiveForce,
    PointExpression,
    PointSpring,
    PrescribedForce,
)

__all__ = ["BUSHING", "DAMPING", "EXPRESSIONS", "FORCES", "FUNCTIONS", "PRESCRIBED", "SPRING", "can_read", "read_force"]

ZERO = (0.0, 0.0, 0.0)
BUSHING = ("rotational_stiffness", "translational_stiffness", "rotational_damping", "translational_damping")
PRESCRIBED = {"forces": "forceFunctions", "points": "pointFunctions", "torques": "torqueFunctions"}
DAMPING = ("rotational_damping", "translational_damping")
EXPRESSIONS = {
    "moments": ("Mx_expression", "My_expression", "Mz_expression"),
    "forces": ("Fx_expression", "Fy_expression", "Fz_expression"),
}
FUNCTIONS = {
    "moments": ("m_x_theta_x_function", "m_y_theta_y_function", "m_z_theta_z_function"),
    "forces": ("f_x_delta_x_function", "f_y_delta_y_function", "f_z_delta_z_function"),
}
SPRING = {"stiffness": ("stiffness", 0.0), "rest": ("rest_length", 0.0), "damping": ("viscosity", 0.0)}


def read_force(element: Any, frames: Frames, contacts: Contacts) -> PassiveForce:
    """A force of one of the types in `FORCES` and `CONTACTS`; ModelError with its line for numbers that cannot be."""
    try:
        return contacts.read(element) if element.tag in CONTACTS else FORCES[element.tag](element, frames)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))


def _coordinate_spring(element: Any, frames: Frames) -> PassiveForce:
    values = {ours: number(element, tag, default) for ours, (tag, default) in SPRING.items()}
    return CoordinateSpring(str(element.get("name")), last_name(text(element, "coordinate")), **values)


def _point_spring(element: Any, frames: Frames) -> PassiveForce:
    """OpenSim takes the points in the frames of the bodies, also where a socket names an offset frame."""
    first, second = (frames.of(element, f"socket_body{k}") for k in (1, 2))
    return PointSpring(
        str(element.get("name")),
        first.body,
        second.body,
        triple(element, "point1", ZERO),
        triple(element, "point2", ZERO),
        number(element, "stiffness", 1.0),
        number(element, "rest_length", 0.0),
    )


def _coordinate_expression(element: Any, frames: Frames) -> PassiveForce:
    coordinate = last_name(text(element, "coordinate"))
    return CoordinateExpression(str(element.get("name")), coordinate, text(element, "expression", "0"))


def _point_expression(element: Any, frames: Frames) -> PassiveForce:
    first, second = (frames.of(element, f"body{k}") for k in (1, 2))
    points = {f"{ours}_point": triple(element, f"point{k}", ZERO) for k, ours in ((1, "first"), (2, "second"))}
    expression = text(element, "expression", "0")
    return PointExpression(str(element.get("name")), first.body, second.body, **points, expression=expression)


def _bushing_expressions(element: Any, frames: Frames) -> PassiveForce:
    values: dict[str, Any] = {tag: triple(element, tag, ZERO) for tag in DAMPING}
    for ours, tags in EXPRESSIONS.items():
        values[ours] = tuple(text(element, tag, "0") for tag in tags)
    return BushingExpressions(str(element.get("name")), **placed(element, frames), **values)


def _bushing_functions(element: Any, frames: Frames) -> PassiveForce:
    values: dict[str, Any] = {tag: triple(element, tag, ZERO) for tag in DAMPING}
    for ours, tags in FUNCTIONS.items():
        values[ours] = tuple(_function(element, tag) for tag in tags)
    return BushingFunctions(str(element.get("name")), **placed(element, frames), **values)


def _prescribed(element: Any, frames: Frames) -> PassiveForce:
    frame = frames.of(element, "body" if element.find("socket_frame") is None else "socket_frame")
    if not frame.is_body:
        complain(element, "a prescribed force in an offset frame is not supported: give it in the body's")
    return PrescribedForce(
        str(element.get("name")),
        frame.body,
        **{ours: _three(element, name) for ours, name in PRESCRIBED.items()},
        in_world=boolean(element, "forceIsGlobal", True),
        point_in_world=boolean(element, "pointIsGlobal"),
    )


def _three(element: Any, name: str) -> Any:
    """The three functions of a set, zero where it has not three, as in OpenSim."""
    found = function_elements(element, name)
    return tuple(map(read_function, found)) if len(found) == 3 else (Constant(0.0),) * 3


def function_elements(element: Any, name: str) -> list[Any]:
    """The elements in the <FunctionSet> of this name."""
    sets = [child for child in element if child.tag == "FunctionSet" and child.get("name") == name]
    holder = sets[0].find("objects") if sets else None
    return [] if holder is None else [child for child in holder if isinstance(child.tag, str)]


def can_read(element: Any) -> bool:
    """Whether all functions of a <PrescribedForce> are known; True for other forces."""
    return all(can_read_function(f) for name in PRESCRIBED.values() for f in function_elements(element, name))


def _function(element: Any, tag: str) -> AxisFunction:
    """The function that a child holds, zero where it is missing."""
    holder = element.find(tag)
    return Constant(0.0) if holder is None else function_in(holder, element)


def _bushing(element: Any, frames: Frames) -> PassiveForce:
    values: dict[str, Any] = {tag: triple(element, tag, ZERO) for tag in BUSHING}
    return Bushing(str(element.get("name")), **placed(element, frames), **values)


FORCES: dict[str, Callable[[Any, Frames], PassiveForce]] = {
    "SpringGeneralizedForce": _coordinate_spring,
    "PointToPointSpring": _point_spring,
    "BushingForce": _bushing,
    "ExpressionBasedCoordinateForce": _coordinate_expression,
    "ExpressionBasedPointToPointForce": _point_expression,
    "ExpressionBasedBushingForce": _bushing_expressions,
    "FunctionBasedBushingForce": _bushing_functions,
    "PrescribedForce": _prescribed,
}
