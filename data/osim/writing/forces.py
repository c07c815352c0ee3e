"""Passive forces as OpenSim's; mirrors `myoquat.data.osim.reading.forces`."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from myoquat.data.osim.functions import add_function
from myoquat.data.osim.reading.forces import (
    BOUNDS,
    BUSHING,
    DAMPING,
    DELAYED,
    EXPRESSIONS,
    FUNCTIONS,
    LIMITED,
    MATERIAL,
    PRESCRIBED,
    SET,
    SMOOTH,
    SPRING,
    unit_of,
)
from myoquat.data.osim.writing.bodies import add_placed, forward_joint, joint_name, path_of
from myoquat.data.osim.writing.paths import Obstacles
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, add_set, body_fixed, checked_name
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import EulerJoint, FloatingJoint, SphericalJoint
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    BodyActuator,
    CoordinateActuator,
    PointActuator,
    PointToPointActuator,
    ScalarActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import (
    Bushing,
    BushingExpressions,
    BushingFunctions,
    ContactEllipsoid,
    ContactHalfSpace,
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
from myoquat.muscle.model import Model

__all__ = ["add_actuators", "add_forces", "add_limits", "add_passive", "add_surfaces", "surfaces_of"]


# ---- Actuators as OpenSim's; mirrors `myoquat.data.osim.reading.forces` ----------------------------------------


def add_actuators(parent: Element, actuators: Sequence[Actuator]) -> None:
    """An element for every actuator; ModelError for one that OpenSim does not have."""
    for actuator in actuators:
        if type(actuator) not in ACTUATOR_WRITERS:
            raise ModelError("OpenSim has no actuator of this type", element=actuator.element)
        entry = add(parent, type(actuator).__name__, name=checked_name(actuator.name, actuator.element))
        if isinstance(actuator, ScalarActuator):
            for ours, (tag, _) in BOUNDS.items():
                value = getattr(actuator, ours)
                add(entry, tag, value if math.isfinite(value) else ("Inf" if value > 0 else "-Inf"))
            add(entry, "optimal_force", actuator.optimal_force)
        ACTUATOR_WRITERS[type(actuator)](entry, actuator)


def _coordinate(entry: Element, actuator: CoordinateActuator) -> None:
    add(entry, "coordinate", actuator.coordinate)


def _delayed(entry: Element, actuator: ActivationCoordinateActuator) -> None:
    _coordinate(entry, actuator)
    for ours, (tag, _) in DELAYED.items():
        add(entry, tag, getattr(actuator, ours))


def _torque(entry: Element, actuator: TorqueActuator) -> None:
    _add_bodies(entry, actuator)
    add(entry, "torque_is_global", actuator.in_world)
    add(entry, "axis", actuator.axis)


def _point(entry: Element, actuator: PointActuator) -> None:
    add(entry, "body", actuator.body)
    add(entry, "point", actuator.point)
    add(entry, "point_is_global", actuator.point_in_world)
    add(entry, "direction", actuator.direction)
    add(entry, "force_is_global", actuator.direction_in_world)


def _wrench(entry: Element, actuator: BodyActuator) -> None:
    add(entry, "socket_body", path_of(actuator.body))
    add(entry, "point", actuator.point)
    add(entry, "point_is_global", actuator.point_in_world)
    add(entry, "spatial_force_is_global", actuator.in_world)


def _point_to_point(entry: Element, actuator: PointToPointActuator) -> None:
    _add_bodies(entry, actuator)
    add(entry, "points_are_global", actuator.in_world)
    add(entry, "pointA", actuator.first_point)
    add(entry, "pointB", actuator.second_point)


def _add_bodies(entry: Element, actuator: Any) -> None:
    add(entry, "bodyA", actuator.first)
    add(entry, "bodyB", actuator.second)


ACTUATOR_WRITERS: dict[type[Actuator], Callable[[Element, Any], None]] = {
    CoordinateActuator: _coordinate,
    ActivationCoordinateActuator: _delayed,
    TorqueActuator: _torque,
    PointActuator: _point,
    BodyActuator: _wrench,
    PointToPointActuator: _point_to_point,
}


# ---- Contact surfaces and forces as OpenSim's; mirrors `myoquat.data.osim.reading.forces` ------------------------


def surfaces_of(model: Model) -> dict[str, ContactSurface]:
    """The contact surfaces of a model by their names; ModelError for two of one name."""
    found: dict[str, ContactSurface] = {}
    for force in model.forces:
        for surface in _surfaces(force):
            if found.setdefault(surface.name, surface) != surface:
                raise ModelError(f"two surfaces have the name {surface.name!r}", element=force.element)
    return found


def _surfaces(force: Any) -> tuple[ContactSurface, ...]:
    if isinstance(force, SmoothSphereHalfSpace):
        return force.sphere, force.half_space
    materials = force.materials if isinstance(force, HuntCrossley) else ()
    return tuple(surface for material in materials for surface in material.surfaces)


def add_surfaces(parent: Element, surfaces: Mapping[str, ContactSurface], obstacles: Obstacles) -> None:
    """The <ContactGeometrySet>, where there are surfaces of contact forces or obstacles of paths."""
    if not surfaces and not obstacles:
        return
    holder = add_set(parent, "ContactGeometrySet")
    obstacles.add_geometry(holder)
    for surface in surfaces.values():
        entry = add(holder, type(surface).__name__, name=checked_name(surface.name, f"surface {surface.name!r}"))
        add(entry, "socket_frame", path_of(surface.body))
        add(entry, "location", surface.position)
        for tag, value in SHAPES[type(surface)](surface).items():
            add(entry, tag, value)


def _turn(normal: tuple[float, float, float]) -> tuple[float, float, float]:
    """Angles about x, y and z that turn -x, OpenSim's outward normal, to this one."""
    size = math.hypot(*normal)
    x, y, z = (0.0 - component / size for component in normal)
    return 0.0, math.atan2(0.0 - z, x), math.atan2(y, math.hypot(x, z))


SHAPES: dict[type, Callable[[Any], dict[str, Any]]] = {
    ContactHalfSpace: lambda surface: {"orientation": _turn(surface.normal)},
    ContactSphere: lambda surface: {"radius": surface.radius},
    ContactEllipsoid: lambda surface: {"orientation": body_fixed(surface.orientation), "radii": surface.radii},
}  # tags beside those of every surface


def write_hunt_crossley(entry: Element, force: HuntCrossley) -> None:
    """The children of a <HuntCrossleyForce>."""
    holder = add(add(entry, SET, name="contact_parameters"), "objects")
    for material in force.materials:
        parameters = add(holder, "HuntCrossleyForce..ContactParameters")
        add(parameters, "geometry", " ".join(surface.name for surface in material.surfaces))
        for key in MATERIAL:
            add(parameters, key, getattr(material, key))
    add(entry, "transition_velocity", force.transition_velocity)


def write_smooth(entry: Element, force: SmoothSphereHalfSpace) -> None:
    """The children of a <SmoothSphereHalfSpaceForce>; ModelError for rounded friction, which OpenSim does not have."""
    if force.rounded_friction:
        raise ModelError("OpenSim's SmoothSphereHalfSpaceForce cannot have rounded_friction", element=force.element)
    add(entry, "socket_sphere", f"/contactgeometryset/{force.sphere.name}")
    add(entry, "socket_half_space", f"/contactgeometryset/{force.half_space.name}")
    for key in SMOOTH:
        add(entry, key, getattr(force, key))


# ---- Springs and dampers of joints, and limits, as OpenSim's forces on single coordinates -------------------------


BALLS = (SphericalJoint, EulerJoint, FloatingJoint)  # whose springs and dampers act on rotations, not on coordinates


def add_passive(parent: Element, system: ArticulatedSystem, unwritten: UnwrittenParts) -> None:
    """A <SpringGeneralizedForce> for every coordinate with a spring or a damper; what cannot be one is noted."""
    for body in system.bodies:
        if body.rotor_inertia:
            unwritten.count("rotor inertias", joint_name(body))
        if not (body.stiffness or body.damping):
            continue
        if isinstance(forward_joint(body.joint), BALLS):
            unwritten.count("springs and dampers of ball joints", joint_name(body))
        else:
            _add_springs(parent, body)


def _add_springs(parent: Element, body: Body) -> None:
    mount = body.joint.neutral() if body.spring_mount is None else body.spring_mount
    for name, rest in zip(body.names_of_coordinates, mount, strict=True):
        force = add(parent, "SpringGeneralizedForce", name=f"{joint_name(body)}_{name}_spring")
        add(force, "coordinate", name)
        add(force, "stiffness", body.stiffness)
        add(force, "rest_length", rest)
        add(force, "viscosity", body.damping)


def add_limits(parent: Element, system: ArticulatedSystem, limits: Sequence[CoordinateLimit]) -> None:
    """A <CoordinateLimitForce> for every limit; `system` has the coordinates that are written."""
    for limit in limits:
        force = add(parent, "CoordinateLimitForce", name=checked_name(limit.name, f"limit {limit.name!r}"))
        add(force, "coordinate", limit.coordinate)
        unit = unit_of(system.bodies, limit.coordinate) or 1.0
        for ours, (tag, _, power) in LIMITED.items():
            add(force, tag, getattr(limit, ours) / unit**power)


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
