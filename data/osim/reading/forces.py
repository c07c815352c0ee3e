"""Passive forces of a file beside those along paths and the springs of whole joints."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.external_loads import LoadEntry, load_entry
from myoquat.data.files import beside
from myoquat.data.motions.forces import columns_of
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.osim.functions import can_read as can_read_function
from myoquat.data.osim.functions import function_in, read_function
from myoquat.data.osim.reading.constraints import placed
from myoquat.data.storage import read_motion
from myoquat.data.xml import boolean, complain, last_name, number, numbers, objects, text, triple
from myoquat.joints.functions import AxisFunction, Constant, NaturalSpline, PiecewiseLinear
from myoquat.joints.multibody.body import Body
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.joints.types import CustomJoint, PrismaticJoint, RevoluteJoint, UniversalJoint
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    BodyActuator,
    CoordinateActuator,
    PointActuator,
    PointToPointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import (
    Bushing,
    BushingExpressions,
    BushingFunctions,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    ContactSurface,
    CoordinateExpression,
    CoordinateSpring,
    HuntCrossley,
    PassiveForce,
    PointExpression,
    PointSpring,
    PrescribedForce,
    SmoothSphereHalfSpace,
)
from myoquat.muscle.forces.coordinates import CoordinateLimit

__all__ = [
    "ACTUATORS",
    "BOUNDS",
    "BUSHING",
    "CONTACTS",
    "DAMPING",
    "DELAYED",
    "EXPRESSIONS",
    "EXTERNAL",
    "FORCES",
    "FUNCTIONS",
    "LIMITED",
    "MATERIAL",
    "PRESCRIBED",
    "SET",
    "SMOOTH",
    "SPRING",
    "ZERO",
    "Contacts",
    "can_read",
    "control_bound",
    "data_of",
    "external_force",
    "read_actuator",
    "read_external",
    "read_force",
    "read_limit",
    "unit_of",
    "with_springs",
]


# ---- Actuators of a file: forces that controls tell, beside muscles -----------------------------------------------


ZERO = (0.0, 0.0, 0.0)
DELAYED = {"activation_time": ("activation_time_constant", 0.01), "activation": ("default_activation", 0.5)}
BOUNDS = {"lower": ("min_control", -math.inf), "upper": ("max_control", math.inf)}


def read_actuator(element: Any, frames: Frames) -> Actuator:
    """An actuator of one of the types in `ACTUATORS`; ModelError with its line for what is missing."""
    return ACTUATORS[element.tag](element, frames)


def _common(element: Any) -> dict[str, Any]:
    """The arguments that all actuators of one control have."""
    bounds = {ours: control_bound(element, tag, default) for ours, (tag, default) in BOUNDS.items()}
    return {"name": str(element.get("name")), "optimal_force": number(element, "optimal_force", 1.0), **bounds}


def control_bound(element: Any, tag: str, default: float) -> float:
    """A bound of controls, which may be infinite."""
    word = text(element, tag, str(default)).lower()
    return math.copysign(math.inf, float(word)) if word.lstrip("+-") in ("inf", "infinity") else number(element, tag)


def _body(element: Any, tag: str, frames: Frames) -> Frame:
    """The body that an element names; ModelError for an offset frame, whose axes OpenSim would take."""
    frame = frames.of(element, tag)
    if not frame.is_body:
        complain(element, f"<{tag}> names an offset frame; an actuator of a body is supported")
    return frame


def _coordinate(element: Any, frames: Frames) -> Actuator:
    return CoordinateActuator(coordinate=last_name(text(element, "coordinate")), **_common(element))


def _delayed(element: Any, frames: Frames) -> Actuator:
    own: dict[str, Any] = {ours: number(element, tag, default) for ours, (tag, default) in DELAYED.items()}
    return ActivationCoordinateActuator(coordinate=last_name(text(element, "coordinate")), **own, **_common(element))


def _torque(element: Any, frames: Frames) -> Actuator:
    first, second = (_body(element, tag, frames).body for tag in ("bodyA", "bodyB"))
    axis, in_world = triple(element, "axis", (0.0, 0.0, 1.0)), boolean(element, "torque_is_global", True)
    return TorqueActuator(first=first, second=second, axis=axis, in_world=in_world, **_common(element))


def _point(element: Any, frames: Frames) -> Actuator:
    return PointActuator(
        body=_body(element, "body", frames).body,
        point=triple(element, "point", ZERO),
        direction=triple(element, "direction", (1.0, 0.0, 0.0)),
        point_in_world=boolean(element, "point_is_global"),
        direction_in_world=boolean(element, "force_is_global"),
        **_common(element),
    )


def _wrench(element: Any, frames: Frames) -> Actuator:
    return BodyActuator(
        str(element.get("name")),
        _body(element, "socket_body", frames).body,
        triple(element, "point", ZERO),
        boolean(element, "point_is_global"),
        boolean(element, "spatial_force_is_global", True),
    )


def _point_to_point(element: Any, frames: Frames) -> Actuator:
    return PointToPointActuator(
        first=_body(element, "bodyA", frames).body,
        second=_body(element, "bodyB", frames).body,
        first_point=triple(element, "pointA", ZERO),
        second_point=triple(element, "pointB", ZERO),
        in_world=boolean(element, "points_are_global"),
        **_common(element),
    )


ACTUATORS: dict[str, Callable[[Any, Frames], Actuator]] = {
    "CoordinateActuator": _coordinate,
    "ActivationCoordinateActuator": _delayed,
    "TorqueActuator": _torque,
    "PointActuator": _point,
    "BodyActuator": _wrench,
    "PointToPointActuator": _point_to_point,
}


# --------------------------------------------------------------------------------------------------------------
#
# <ExternalForce> among the forces of a model: columns of a table as functions of the time, as OpenSim makes them.


EXTERNAL = "ExternalForce"
ENDINGS = ("", ".sto", ".mot")
GROUND = "ground"


def data_of(element: Any, folder: Path) -> Path | None:
    """The file that <data_source_name> names, in the folder of the model, with or without its ending; None if there is
    none."""
    name = text(element, "data_source_name", "")
    files = [beside(folder, name + ending) for ending in ENDINGS] if name else []
    return next((file for file in files if file.is_file()), None)


def read_external(element: Any, file: Path) -> PrescribedForce:
    """The force whose data a file holds. Without points it acts at the origin of the body.

    ModelError with its line for an identifier that finds no three columns."""
    return external_force(load_entry(element), file)


def external_force(entry: LoadEntry, file: Path) -> PrescribedForce:
    """The force of an entry whose data a file holds. ModelError for an identifier that finds no three columns."""
    table = read_motion(file, gaps=True)
    times = tuple(map(float, table.index))
    force, point, torque = (_functions(times, columns) for columns in columns_of(None, entry, table, file))
    in_body = entry.point_frame == entry.body or not entry.point
    return PrescribedForce(
        entry.name,
        entry.body,
        force,
        point,
        torque,
        in_world=entry.force_frame != entry.body,
        point_in_world=not in_body,
        force_frame=None if entry.force_frame in (GROUND, entry.body) else entry.force_frame,
        point_frame=None if in_body or entry.point_frame == GROUND else entry.point_frame,
    )


def _functions(times: tuple[float, ...], columns: Array) -> Any:
    return tuple(_through(times, tuple(map(float, column))) for column in columns.T)


def _through(times: tuple[float, ...], values: tuple[float, ...]) -> AxisFunction:
    """A spline through four rows and more, straight lines through fewer."""
    if len(set(values)) == 1:
        return Constant(values[0])
    return PiecewiseLinear(times, values) if len(times) < 4 else NaturalSpline(times, values)


# ---- Contact surfaces and contact forces of a file ----------------------------------------------------------------


SET, PARAMETERS = "HuntCrossleyForce..ContactParametersSet", "HuntCrossleyForce..ContactParameters"
MATERIAL = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")
SMOOTH = dict.fromkeys(MATERIAL[1:], 0.0) | {
    "stiffness": 1.0,
    "transition_velocity": 0.01,
    "constant_contact_force": 1e-5,
    "hertz_smoothing": 300.0,
    "hunt_crossley_smoothing": 50.0,
}
KNOWN = ("ContactHalfSpace", "ContactSphere", "ContactEllipsoid")
CONTACTS = ("HuntCrossleyForce", "SmoothSphereHalfSpaceForce")


class Contacts:
    """The contact surfaces of a model, and the forces between them."""

    def __init__(self, model: Any, frames: Frames) -> None:
        self._elements = {str(element.get("name")): element for element in objects(model, "ContactGeometrySet")}
        self._frames = frames
        self._used: set[str] = set()

    @cached_property
    def unused(self) -> list[Any]:
        """The elements of surfaces that none of the forces read so far has."""
        return [element for name, element in self._elements.items() if name not in self._used]

    def supports(self, force: Any) -> bool:
        """Whether there are formulas for all surfaces of a force; ModelError for a surface that does not exist."""
        tags = [self._element(force, name).tag for name in self._names(force)]
        return all(tag in KNOWN for tag in tags) and not (
            "ContactEllipsoid" in tags and len(tags) - tags.count("ContactHalfSpace") > 1
        )

    def read(self, force: Any) -> PassiveForce:
        """A force of one of the types in `CONTACTS`; ModelError with its line for numbers that cannot be."""
        self._used.update(self._names(force))
        name = str(force.get("name"))
        if force.tag == "HuntCrossleyForce":
            materials = tuple(self._material(force, element) for element in _materials(force))
            return HuntCrossley(name, materials, number(force, "transition_velocity", 0.01))
        sphere, half_space = (self._surface(force, surface) for surface in self._names(force))
        if not isinstance(sphere, ContactSphere) or not isinstance(half_space, ContactHalfSpace):
            complain(force, "<socket_sphere> must name a ContactSphere, <socket_half_space> a ContactHalfSpace")
        values: dict[str, Any] = {key: number(force, key, default) for key, default in SMOOTH.items()}
        return SmoothSphereHalfSpace(name, sphere, half_space, **values)

    def placed(self, owner: Any, socket: str) -> tuple[Any, Frame]:
        """The element of the geometry that a socket names, which is used by that, and its frame on its body."""
        name = last_name(text(owner, socket))
        self._used.add(name)
        element = self._element(owner, name)
        return element, self._frame(element)

    def _frame(self, element: Any) -> Frame:
        base = self._frames.of(element, "socket_frame")
        turned = quaternion_from_euler(np.array(numbers(element, "orientation", 3, ZERO)), "XYZ")
        return Frame(
            base.body, base.R @ rotation_matrix(turned), np.array(base.point(triple(element, "location", ZERO)))
        )

    def _names(self, force: Any) -> list[str]:
        if force.tag == "HuntCrossleyForce":
            return [name for element in _materials(force) for name in _geometry(element)]
        return [last_name(text(force, f"socket_{key}")) for key in ("sphere", "half_space")]

    def _element(self, force: Any, name: str) -> Any:
        if name not in self._elements:
            complain(force, f"there is no contact geometry {name!r}")
        return self._elements[name]

    def _material(self, force: Any, element: Any) -> ContactMaterial:
        surfaces = tuple(self._surface(force, name) for name in _geometry(element))
        return ContactMaterial(surfaces, **{key: number(element, key, 0.0) for key in MATERIAL})

    def _surface(self, force: Any, name: str) -> ContactSurface:
        element = self._element(force, name)
        frame = self._frame(element)
        x, y, z = frame.position
        if element.tag == "ContactHalfSpace":
            a, b, c = (0.0 - float(part) for part in frame.R[:, 0])
            return ContactHalfSpace(name, frame.body, (x, y, z), (a, b, c))
        if element.tag == "ContactSphere":
            return ContactSphere(name, frame.body, (x, y, z), number(element, "radius", 0.0))
        Q0, Q1, Q2, Q3 = frame.orientation
        return ContactEllipsoid(name, frame.body, (x, y, z), (Q0, Q1, Q2, Q3), triple(element, "radii", ZERO))


def _materials(force: Any) -> list[Any]:
    """The elements of the materials of a <HuntCrossleyForce>."""
    found = [child for child in force if child.tag == SET]
    holder = found[0].find("objects") if found else None
    return [] if holder is None else [child for child in holder if child.tag == PARAMETERS]


def _geometry(element: Any) -> list[str]:
    return [last_name(word) for word in text(element, "geometry", "").split()]


# ---- Forces of a file on single coordinates: springs of joints, and limits ----------------------------------------


LIMITED = {  # ours: the file's, its default, and whether it grows or shrinks with the unit of the coordinate
    "lower": ("lower_limit", 0.0, 1),
    "upper": ("upper_limit", 0.0, 1),
    "lower_stiffness": ("lower_stiffness", 1.0, -1),
    "upper_stiffness": ("upper_stiffness", 1.0, -1),
    "transition": ("transition", 0.1, 1),
    "damping": ("damping", 0.001, -1),
}
OWN = (RevoluteJoint, PrismaticJoint, UniversalJoint, CustomJoint)  # whose springs act on the coordinates


def unit_of(bodies: Sequence[Body], coordinate: str) -> float | None:
    """What the unit of a coordinate in a limit's element, a degree for angles, is here; None without such a coordinate.

    OpenSim takes the unit from the axes of a custom joint, whatever the joint says here.
    """
    for body in bodies:
        if coordinate in body.names_of_coordinates:
            joint = replace(body.joint, units=()) if isinstance(body.joint, CustomJoint) else body.joint
            k = body.names_of_coordinates.index(coordinate)
            return math.radians(1.0) if joint.facts.coordinate_units[k] == "rad" else 1.0
    return None


def read_limit(element: Any, bodies: Sequence[Body]) -> CoordinateLimit:
    """A <CoordinateLimitForce>; ModelError with its line for a coordinate that is missing."""
    coordinate = last_name(text(element, "coordinate"))
    unit = unit_of(bodies, coordinate)
    if unit is None:
        complain(element, f"<coordinate> names {coordinate!r}, which is no coordinate of the model")
    values = {ours: number(element, tag, default) * unit**power for ours, (tag, default, power) in LIMITED.items()}
    return CoordinateLimit(str(element.get("name")), coordinate, **values)


@dataclass(frozen=True)
class _Spring:
    element: Any
    stiffness: float
    rest: float
    damping: float


def with_springs(bodies: Sequence[Body], elements: Sequence[Any]) -> tuple[tuple[Body, ...], list[Any]]:
    """The bodies with <SpringGeneralizedForce> elements as springs and dampers of their joints, and the others.

    A joint of ours has one stiffness and one damping. Where a file gives its coordinates different ones, or some none,
    or more than one spring, the springs are forces of their own. ModelError for a coordinate that is missing.
    """
    found: dict[str, list[_Spring]] = {}
    known = {name for body in bodies for name in body.names_of_coordinates}
    for element in elements:
        coordinate = last_name(text(element, "coordinate"))
        if coordinate not in known:
            complain(element, f"<coordinate> names {coordinate!r}, which is no coordinate of the model")
        values = (number(element, tag, 0.0) for tag in ("stiffness", "rest_length", "viscosity"))
        found.setdefault(coordinate, []).append(_Spring(element, *values))
    others: list[Any] = []
    sprung = tuple(_sprung(body, found, others) if found else body for body in bodies)
    return sprung, others


def _sprung(body: Body, found: dict[str, list[_Spring]], others: list[Any]) -> Body:
    springs = [spring for name in body.names_of_coordinates for spring in found.get(name, ())]
    if not springs:
        return body
    single = all(len(found.get(name, ())) == 1 for name in body.names_of_coordinates)
    alike = {(spring.stiffness, spring.damping) for spring in springs}
    if not single or len(alike) > 1 or not isinstance(body.joint, OWN):
        others += [spring.element for spring in springs]
        return body
    ((stiffness, damping),) = alike
    rests = tuple(spring.rest for spring in springs)
    mount = rests if stiffness and any(rests) else None
    return replace(body, stiffness=stiffness, damping=damping, spring_mount=mount)


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
    has_points = len(function_elements(element, PRESCRIBED["points"])) == 3  # else it acts at the body's origin
    return PrescribedForce(
        str(element.get("name")),
        frame.body,
        **{ours: _three(element, name) for ours, name in PRESCRIBED.items()},
        in_world=boolean(element, "forceIsGlobal", True),
        point_in_world=has_points and boolean(element, "pointIsGlobal"),
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
