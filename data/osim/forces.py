"""Forces on coordinates and bodies, read and written by tables: actuators, passive forces, contacts and limits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import mul, truediv
from pathlib import Path
from typing import Any, NoReturn

from myoquat.data.files import beside
from myoquat.data.motions.forces import LoadEntry, columns_of
from myoquat.data.reports import UnwrittenParts
from myoquat.data.storage import read_motion
from myoquat.data.xml import Element, add, body_fixed, boolean, complain, last_name, number, objects, text
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    CustomJoint,
    ModelError,
    PrismaticJoint,
    RevoluteJoint,
    UniversalJoint,
)
from myoquat.joints.functions import AxisFunction, Constant, NaturalSpline, PiecewiseLinear
from myoquat.muscle import CoordinateLimit, Model
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
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
    PointExpression,
    PointSpring,
    PrescribedForce,
    SmoothSphereHalfSpace,
)

from .constraints import LINKED
from .elements import (
    BODY,
    COORDINATE,
    GROUND,
    NAMED_BODY,
    OWN_BODY,
    OWN_NAMED_BODY,
    TEXTS,
    ZERO,
    Format,
    Frame,
    Frames,
    Part,
    ValueType,
    by_tag,
    on_body,
    only_written,
    path_of,
    same,
)
from .functions import THREE_FUNCTIONS, add_function, can_read as can_read_function, read_function

# ---- Actuators: forces that controls tell, beside muscles ---------------------------------------------------------


BOUNDS = {"lower": "min_control", "upper": "max_control"}
BOUND = ValueType(lambda e, tag, default, _: number(e, tag, infinite=True) if text(e, tag, "") else default)
SCALAR = same("optimal_force") | {ours: (theirs, BOUND) for ours, theirs in BOUNDS.items()}
AT_COORDINATE = same(coordinate=COORDINATE)
TWO_BODIES = {"first": ("bodyA", OWN_NAMED_BODY), "second": ("bodyB", OWN_NAMED_BODY)}
ACTUATORS = by_tag(
    Format("CoordinateActuator", CoordinateActuator, SCALAR | AT_COORDINATE),
    Format(
        "ActivationCoordinateActuator",
        ActivationCoordinateActuator,
        SCALAR | AT_COORDINATE | {"activation_time": "activation_time_constant", "activation": "default_activation"},
    ),
    Format("TorqueActuator", TorqueActuator, SCALAR | TWO_BODIES | {"axis": "axis", "in_world": "torque_is_global"}),
    Format(
        "PointActuator",
        PointActuator,
        SCALAR
        | same("point", "direction", body=OWN_NAMED_BODY)
        | {"point_in_world": "point_is_global", "direction_in_world": "force_is_global"},
    ),
    Format(
        "BodyActuator",
        BodyActuator,
        {
            "body": ("socket_body", OWN_BODY),
            "point": "point",
            "point_in_world": "point_is_global",
            "in_world": "spatial_force_is_global",
        },
    ),
    Format(
        "PointToPointActuator",
        PointToPointActuator,
        SCALAR | TWO_BODIES | {"first_point": "pointA", "second_point": "pointB", "in_world": "points_are_global"},
    ),
)


# ---- <ExternalForce>: columns of a table as functions of the time, as OpenSim makes them --------------------------


EXTERNAL = "ExternalForce"
ENDINGS = ("", ".sto", ".mot")


def data_of(element: Element, folder: Path) -> Path | None:
    """The file that <data_source_name> names, in the folder of the model, with or without its ending; None if there is
    none."""
    name = text(element, "data_source_name", "")
    files = [beside(folder, name + ending) for ending in ENDINGS] if name else []
    return next((file for file in files if file.is_file()), None)


def external_force(entry: LoadEntry, file: Path) -> PrescribedForce:
    """The force of an entry whose data a file holds. Without points it acts at the origin of the body.

    ModelError for an identifier that finds no three columns."""
    table = read_motion(file, gaps=True)
    times = table.index.to_numpy()
    parts: Any = (
        tuple(_through(times, column) for column in columns.T) for columns in columns_of(None, entry, table, file)
    )
    force, point, torque = parts
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


def _through(times: Any, values: Any) -> AxisFunction:
    """A spline through four rows and more, straight lines through fewer."""
    if len(set(values)) == 1:
        return Constant(values[0])
    return PiecewiseLinear(times, values) if len(times) < 4 else NaturalSpline(times, values)


# ---- Contact geometry and the forces between surfaces -------------------------------------------------------------


CONTACTS = ("HuntCrossleyForce", "SmoothSphereHalfSpaceForce")


class Contacts(Frames):
    """The frames of a model, and its contact geometry by name."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._geometry = {str(element.get("name")): element for element in objects(model, "ContactGeometrySet")}
        self.unused = list(self._geometry.values())  # the elements that nothing read so far has

    def geometry(self, owner: Element, name: str, used: bool = True) -> Element:
        """The contact geometry of a name, which is `used` by that; ModelError at its owner for one that does not
        exist."""
        if name not in self._geometry:
            complain(owner, f"there is no contact geometry {name!r}")
        element = self._geometry[name]
        if used and element in self.unused:
            self.unused.remove(element)
        return element

    def frame(self, element: Element) -> Frame:
        """Where a contact geometry is on its body."""
        return self.of(element, "socket_frame").offset(element, "location", "orientation")

    def surface(self, owner: Element, name: str) -> ContactSurface:
        """The surface of a name."""
        element = self.geometry(owner, name)
        return SURFACES[element.tag].read(element, self)

    def supports(self, force: Element) -> bool:
        """Whether there are formulas for all surfaces of a force; ModelError for a surface that does not exist."""
        names = [name for element in _materials(force) for name in _names(element, "geometry")]
        names += [last_name(text(force, f"socket_{key}")) for key in SIDES if force.tag == CONTACTS[1]]
        tags = [self.geometry(force, name, used=False).tag for name in names]
        solids = len(tags) - tags.count("ContactHalfSpace")
        return SURFACES.keys() >= set(tags) and not ("ContactEllipsoid" in tags and solids > 1)


def _angles(normal: tuple[float, float, float]) -> tuple[float, float, float]:
    """Angles about x, y and z that turn -x, OpenSim's outward normal, to this one."""
    size = math.hypot(*normal)
    x, y, z = (0.0 - component / size for component in normal)
    return 0.0, math.atan2(0.0 - z, x), math.atan2(y, math.hypot(x, z))


PLACE = on_body("socket_frame", "location")
NORMAL = Part(
    lambda element, contacts: {"normal": 0.0 - contacts.frame(element).R[:, 0]},
    lambda entry, surface: add(entry, "orientation", _angles(surface.normal)),
)
ORIENTATION = Part(
    lambda element, contacts: {"orientation": contacts.frame(element).orientation},
    lambda entry, surface: add(entry, "orientation", body_fixed(surface.orientation)),
)
SURFACES = by_tag(
    Format("ContactHalfSpace", ContactHalfSpace, {}, PLACE, NORMAL),
    Format("ContactSphere", ContactSphere, same(radius=0.0), PLACE),
    Format("ContactEllipsoid", ContactEllipsoid, same(radii=ZERO), PLACE, ORIENTATION),
)


def _names(element: Element, tag: str) -> list[str]:
    return [last_name(word) for word in text(element, tag, "").split()]


def _surface_of(record: type[ContactSurface]) -> ValueType:
    """A surface of one type, which a socket names."""

    def read(element: Element, tag: str, _: Any, contacts: Contacts) -> ContactSurface:
        surface = contacts.surface(element, last_name(text(element, tag)))
        if not isinstance(surface, record):
            complain(element, f"<{tag}> must name a {record.__name__}")
        return surface

    return ValueType(read, lambda entry, tag, surface: add(entry, tag, f"/contactgeometryset/{surface.name}"))


SIDES: dict[str, type[ContactSurface]] = {"sphere": ContactSphere, "half_space": ContactHalfSpace}
HELD = ValueType(  # surfaces by their names
    lambda element, tag, _, contacts: tuple(contacts.surface(element, name) for name in _names(element, tag)),
    lambda entry, tag, surfaces: add(entry, tag, " ".join(surface.name for surface in surfaces)),
)
FRICTION = same("dissipation", "static_friction", "dynamic_friction", "viscous_friction")
MATERIAL = Format(
    "HuntCrossleyForce..ContactParameters",
    ContactMaterial,
    {"surfaces": ("geometry", HELD)} | same(stiffness=0.0) | FRICTION,
)
MATERIALS = "HuntCrossleyForce..ContactParametersSet"


def _materials(force: Element) -> list[Element]:
    return [element for element in objects(force, MATERIALS) if element.tag == MATERIAL.tag]


def _add_materials(entry: Element, force: HuntCrossley) -> None:
    holder = add(add(entry, MATERIALS, name="contact_parameters"), "objects")
    for material in force.materials:
        MATERIAL.write(holder, material)


def _check_friction(force: SmoothSphereHalfSpace) -> None:
    if force.rounded_friction:
        raise ModelError("OpenSim's SmoothSphereHalfSpaceForce cannot have rounded_friction")


def surfaces_of(model: Model) -> dict[str, ContactSurface]:
    """The contact surfaces of a model by their names; ModelError for two of one name."""
    found: dict[str, ContactSurface] = {}
    for force in model.forces:
        surfaces: list[ContactSurface] = []
        if isinstance(force, SmoothSphereHalfSpace):
            surfaces = [force.sphere, force.half_space]
        elif isinstance(force, HuntCrossley):
            surfaces = [surface for material in force.materials for surface in material.surfaces]
        for surface in surfaces:
            if found.setdefault(surface.name, surface) != surface:
                raise ModelError(f"two surfaces have the name {surface.name!r}", element=force.element)
    return found


# ---- Passive forces ------------------------------------------------------------------------------------------------


def _functions_of(element: Element, name: str) -> list[Element]:
    """The elements in the <FunctionSet> of this name."""
    return [function for child in element if child.tag == "FunctionSet" and child.get("name") == name
            for function in child.findall("objects/*")]  # fmt: skip


def _read_set(element: Element, name: str, *_: Any) -> tuple[AxisFunction, ...]:
    """The three functions of a set, zero where it has not three, as in OpenSim."""
    elements = _functions_of(element, name)
    return tuple(map(read_function, elements)) if len(elements) == 3 else (Constant(0.0),) * 3


def _add_function_set(entry: Element, name: str, functions: Sequence[AxisFunction]) -> None:
    holder = add(add(entry, "FunctionSet", name=name), "objects")
    for axis, function in zip("xyz", functions, strict=True):
        add_function(holder, function, axis)


def _read_prescribed(element: Element, frames: Frames) -> dict[str, Any]:
    """The body, which older documents name otherwise, and the frame of the point: without one, the body's origin."""
    socket = "body" if element.find("socket_frame") is None else "socket_frame"
    has_point = len(_functions_of(element, "pointFunctions")) == 3
    return {
        "body": OWN_BODY.read(element, socket, None, frames),
        "point_in_world": has_point and boolean(element, "pointIsGlobal"),
    }


def _add_prescribed(entry: Element, force: PrescribedForce) -> None:
    others = {frame for frame in (force.force_frame, force.point_frame) if frame is not None}
    if others:
        raise ModelError(
            f"OpenSim's files hold forces over time in the axes of their body or the ground, not of {sorted(others)}"
        )
    add(entry, "socket_frame", path_of(force.body))
    add(entry, "pointIsGlobal", force.point_in_world)


def can_read(element: Element) -> bool:
    """Whether all functions of a <PrescribedForce> are known; True for other forces."""
    return all(can_read_function(f) for name, _ in SETS.values() for f in _functions_of(element, name))


SET = ValueType(_read_set, _add_function_set)
SETS = {"forces": ("forceFunctions", SET), "points": ("pointFunctions", SET), "torques": ("torqueFunctions", SET)}
DAMPING = same("rotational_damping", "translational_damping")
POINTS = {"first_point": "point1", "second_point": "point2"}
SPRING = Format(
    "SpringGeneralizedForce",
    CoordinateSpring,
    {**AT_COORDINATE, "stiffness": "stiffness", "rest": "rest_length", "damping": "viscosity"},
)
FORCES = by_tag(
    SPRING,
    Format(  # whose points OpenSim takes in the frames of the bodies, also where a socket names an offset frame
        "PointToPointSpring",
        PointSpring,
        {
            "first": ("socket_body1", BODY),
            "second": ("socket_body2", BODY),
            **POINTS,
            **same("stiffness", "rest_length"),
        },
    ),
    Format("BushingForce", Bushing, same("rotational_stiffness", "translational_stiffness") | DAMPING, LINKED),
    Format("ExpressionBasedCoordinateForce", CoordinateExpression, AT_COORDINATE | same("expression")),
    Format(
        "ExpressionBasedPointToPointForce",
        PointExpression,
        {"first": ("body1", NAMED_BODY), "second": ("body2", NAMED_BODY), **POINTS, **same("expression")},
    ),
    Format(
        "ExpressionBasedBushingForce",
        BushingExpressions,
        {
            "moments": (("Mx_expression", "My_expression", "Mz_expression"), TEXTS),
            "forces": (("Fx_expression", "Fy_expression", "Fz_expression"), TEXTS),
            **DAMPING,
        },
        LINKED,
    ),
    Format(
        "FunctionBasedBushingForce",
        BushingFunctions,
        {
            "moments": (("m_x_theta_x_function", "m_y_theta_y_function", "m_z_theta_z_function"), THREE_FUNCTIONS),
            "forces": (("f_x_delta_x_function", "f_y_delta_y_function", "f_z_delta_z_function"), THREE_FUNCTIONS),
            **DAMPING,
        },
        LINKED,
    ),
    Format(
        "PrescribedForce",
        PrescribedForce,
        {**SETS, "in_world": "forceIsGlobal"},
        Part(_read_prescribed, _add_prescribed),
    ),
    Format(
        CONTACTS[0],
        HuntCrossley,
        same("transition_velocity"),
        Part(
            lambda force, contacts: {"materials": tuple(MATERIAL.read(e, contacts) for e in _materials(force))},
            _add_materials,
        ),
    ),
    Format(
        CONTACTS[1],
        SmoothSphereHalfSpace,
        {
            **{side: (f"socket_{side}", _surface_of(surface)) for side, surface in SIDES.items()},
            **FRICTION,
            **same("stiffness", "transition_velocity", "constant_contact_force"),
            **same("hertz_smoothing", "hunt_crossley_smoothing"),
        },
        only_written(_check_friction),
    ),
)


# ---- Springs and dampers of joints, and limits, as forces on single coordinates -----------------------------------


LIMIT = Format(
    "CoordinateLimitForce",
    CoordinateLimit,
    {
        **AT_COORDINATE,
        "lower": ("lower_limit", 0.0),
        "upper": ("upper_limit", 0.0),
        **same(lower_stiffness=1.0, upper_stiffness=1.0, transition=0.1, damping=0.001),
    },
)
POWERS = dict.fromkeys(("lower", "upper", "transition"), 1)  # of the unit of the coordinate
POWERS |= dict.fromkeys(("lower_stiffness", "upper_stiffness", "damping"), -1)
SPRUNG = (RevoluteJoint, PrismaticJoint, UniversalJoint, CustomJoint)  # whose springs act on the coordinates


def _unit_of(bodies: Sequence[Body], coordinate: str) -> float | None:
    """What the unit of a coordinate in a limit's element, a degree for angles, is here; None without such a coordinate.

    OpenSim takes the unit from the axes of a custom joint, whatever the joint says here.
    """
    for body in bodies:
        if coordinate in body.names_of_coordinates:
            joint: Any = body.joint
            joint = replace(joint, units=()) if joint.kind == "custom" else joint
            k = body.names_of_coordinates.index(coordinate)
            return math.radians(1.0) if joint.facts.coordinate_units[k] == "rad" else 1.0
    return None


def _no_coordinate(element: Element, coordinate: str) -> NoReturn:
    complain(element, f"<coordinate> names {coordinate!r}, which is no coordinate of the model")


def _converted(limit: CoordinateLimit, unit: float, by: Callable[[float, float], float]) -> CoordinateLimit:
    """A limit in another unit of its coordinate; by: multiplication from the file's to ours, else division."""
    numbers: dict[str, Any] = {key: by(getattr(limit, key), unit**power) for key, power in POWERS.items()}
    return replace(limit, **numbers)


def read_limit(element: Element, bodies: Sequence[Body]) -> CoordinateLimit:
    """A <CoordinateLimitForce>; ModelError with its line for a coordinate that is missing."""
    limit: CoordinateLimit = LIMIT.read(element)
    return _converted(limit, _unit_of(bodies, limit.coordinate) or _no_coordinate(element, limit.coordinate), mul)


def add_limits(parent: Element, system: ArticulatedSystem, limits: Sequence[CoordinateLimit]) -> None:
    """A <CoordinateLimitForce> for every limit; `system` has the coordinates that are written."""
    for limit in limits:
        unit = _unit_of(system.bodies, limit.coordinate) or 1.0
        LIMIT.write(parent, _converted(limit, unit, truediv), f"limit {limit.name!r}")


def with_springs(
    bodies: Sequence[Body], elements: Sequence[Element]
) -> tuple[tuple[Body, ...], list[CoordinateSpring]]:
    """The bodies with <SpringGeneralizedForce> elements as springs and dampers of their joints, and the others.

    A joint of ours has one stiffness and one damping. Where a file gives its coordinates different ones, or some none,
    or more than one spring, the springs are forces of their own. ModelError for a coordinate that is missing.
    """
    known: dict[str, list[CoordinateSpring]] = {name: [] for body in bodies for name in body.names_of_coordinates}
    for element in elements:
        spring = SPRING.read(element)
        if spring.coordinate not in known:
            _no_coordinate(element, spring.coordinate)
        known[spring.coordinate].append(spring)
    others: list[CoordinateSpring] = []
    return tuple(_sprung(body, [known[name] for name in body.names_of_coordinates], others) for body in bodies), others


def _sprung(body: Body, found: list[list[CoordinateSpring]], others: list[CoordinateSpring]) -> Body:
    springs = [spring for of_coordinate in found for spring in of_coordinate]
    if not springs:
        return body
    alike = {(spring.stiffness, spring.damping) for spring in springs}
    if any(len(of_coordinate) != 1 for of_coordinate in found) or len(alike) > 1 or not isinstance(body.joint, SPRUNG):
        others += springs
        return body
    ((stiffness, damping),) = alike
    rests = tuple(spring.rest for spring in springs)
    mount = rests if stiffness and any(rests) else None
    return replace(body, stiffness=stiffness, damping=damping, spring_mount=mount)


def add_passive(parent: Element, system: ArticulatedSystem, unwritten: UnwrittenParts) -> None:
    """A <SpringGeneralizedForce> for every coordinate with a spring or a damper; what cannot be one is noted."""
    for body in system.bodies:
        name = body.joint_name or body.name
        if body.rotor_inertia:
            unwritten.count("rotor inertias", name)
        if not (body.stiffness or body.damping):
            continue
        if body.joint.forward.by_sequence:  # they act on its rotation, not on coordinates
            unwritten.count("springs and dampers of ball joints", name)
            continue
        mount = body.joint.neutral() if body.spring_mount is None else body.spring_mount
        for coordinate, rest in zip(body.names_of_coordinates, mount, strict=True):
            spring = CoordinateSpring(f"{name}_{coordinate}_spring", coordinate, body.stiffness, rest, body.damping)
            SPRING.write(parent, spring, spring.element)
