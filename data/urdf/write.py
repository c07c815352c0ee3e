"""Writing URDF, with the extensions that `load_urdf` reads."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from lxml import etree

from myoquat.core import PATH, check_types
from myoquat.data.files import check_output, write_text
from myoquat.data.reports import UnwrittenParts, UnwrittenWarning
from myoquat.data.xml import Element, add_with, document_text
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    FixedJoint,
    ModelError,
    Shape,
    SphericalJoint,
    euler_from_quaternion,
    quaternion_from_matrix,
    rotation_matrix,
)
from myoquat.joints.errors import shortened
from myoquat.joints.functions import coefficients_of
from myoquat.joints.multibody.body import Vector
from myoquat.muscle import Model
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coupler

from .read import DYNAMICS, JOINTS, MOMENTS, SIZES, UNLIMITED

# ---- What a model holds of the joints of a URDF beyond its system, as attributes of the file ----------------------


Drive = dict[str, dict[str, Any]]  # the attributes of a joint's <limit> and <mimic>


def joint_name(body: Body) -> str:
    """The name in the file of the joint that carries a body."""
    return body.joint_name or f"{body.name}_joint"


def written_drives(model: Model, unwritten: UnwrittenParts) -> dict[str, Drive]:
    """What a file holds of the hinges and sliders of a model, by the names of their coordinates; the rest is noted."""
    joints = {body.names_of_coordinates[0]: joint_name(body) for body in model.system.bodies if body.joint.nq == 1}
    drives: dict[str, Drive] = {name: {"limit": {}, "mimic": {}} for name in joints}
    for coordinate in model.coordinates:
        if coordinate.range is None or coordinate.name not in joints or coordinate.prescribed or coordinate.clamped:
            unwritten.count("what is said of coordinates", coordinate.name)
        if coordinate.range is not None and coordinate.name in joints and not coordinate.locked:
            drives[coordinate.name]["limit"].update(zip(("lower", "upper"), coordinate.range, strict=True))
    for actuator in model.actuators:
        if type(actuator) is CoordinateActuator and actuator.coordinate in joints and _is_effort(actuator):
            drives[actuator.coordinate]["limit"]["effort"] = actuator.upper
        else:
            unwritten.count("actuators", actuator.name)
    for coupler in model.couplers:
        line = _line(coupler)
        if line is None or coupler.dependent not in joints or coupler.independent not in joints:
            unwritten.count("couplers", coupler.name)
        else:
            drives[coupler.dependent]["mimic"].update(joint=joints[coupler.independent], **line)
    unwritten.count_parts(
        {
            "muscles": model.muscles,
            "limits of coordinates that push back": model.limits,
            "passive forces": model.forces,
            "constraints": model.constraints,
            "markers": model.markers,
            "groups of muscles": model.groups,
            "inputs over time": model.inputs,
        }
    )
    if model.start_q is not None or model.start_u is not None:
        unwritten.count("starts", model.name)
    return drives


def _is_effort(actuator: CoordinateActuator) -> bool:
    """Whether the control is the force itself, bounded alike on both sides."""
    return actuator.optimal_force == 1.0 and actuator.lower == -actuator.upper


def _line(coupler: Coupler) -> dict[str, float] | None:
    """multiplier and offset of a coupler by a line; None for another function."""
    found = coefficients_of(coupler.function)
    if found is None or any(found[2:]):
        return None
    offset, multiplier = (*found, 0.0)[:2]
    return {"multiplier": coupler.scale * multiplier, "offset": coupler.scale * offset}


_NO_LIMITS = {"lower": -UNLIMITED} | dict.fromkeys(("upper", "effort", "velocity"), UNLIMITED)
_PLACED = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model's system, ranges, couplers and the bounds of its actuators on coordinates.

    A joint whose coordinates are all locked becomes a fixed joint at the model's start. One UnwrittenWarning reports
    the model's other parts, muscles included; `strict` makes it an error. Another one names ball joints, for which URDF
    has no type, so that other programs refuse the file.
    """
    path, unwritten = check_output(path, overwrite), UnwrittenParts()
    drives, system = written_drives(model, unwritten), _fixed_where_locked(model)
    text = _document(system, drives, unwritten)
    unwritten.report(path, strict)
    write_text(path, text)
    balls = [body.name for body in system.bodies if isinstance(body.joint, SphericalJoint)]
    if balls:
        words = "ball joints have the type 'spherical', which this package reads and other programs refuse"
        warnings.warn(f"{path}: {words} ({shortened(', '.join(balls))})", UnwrittenWarning, stacklevel=3)


def write_urdf(system: ArticulatedSystem, path: str | Path, overwrite: bool = False) -> None:
    """Write a system as a URDF file that `load_urdf` reads back.

    A single body that stands on the ground without offset, welded or floating, becomes the root link. Read the file
    with the base that it has. Otherwise the ground itself becomes the root link. Gravity and the velocity frame have no
    place in URDF. `Model.save` writes ranges too, and leaves out ellipsoids with a warning. A slider, for which URDF
    demands limits, gets limits of 1e9. Raises ModelError for joint types that URDF does not know
    (euler, universal, custom) and for ellipsoids, FileExistsError for an existing file unless `overwrite` is True.

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.data.urdf import write_urdf
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), joint_name="knee", mass=3.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_urdf(mq.ArticulatedSystem((shin,)), f"{folder}/leg.urdf")
    ...     print(mq.load_model(f"{folder}/leg.urdf").system.coordinate_names)
    ('knee',)
    """
    check_types(system=(system, ArticulatedSystem), path=(path, PATH))
    write_text(check_output(path, overwrite), _document(system, {}))


def _document(system: ArticulatedSystem, drives: Mapping[str, Drive], unwritten: UnwrittenParts | None = None) -> str:
    """The text of a file for a system, and for what is known of its joints beyond it, by the names of their
    coordinates. Shapes that URDF does not know are noted; ModelError for them without `unwritten`."""
    robot = etree.Element("robot", name=system.name or "system")
    base = _base(system)
    if base is None:
        ground = add_with(robot, "link", name=system.ground)
        _add_shapes(ground, system.shapes, unwritten)
    for body in system.bodies:
        link = add_with(robot, "link", name=body.name)
        if body.mass or any(body.inertia):
            inertial = add_with(link, "inertial")
            _add_origin(inertial, body.center_of_mass)
            add_with(inertial, "mass", value=body.mass)
            add_with(inertial, "inertia", **dict(zip(MOMENTS, body.inertia, strict=True)))
        _add_shapes(link, body.shapes, unwritten)
    for body in system.bodies:
        if body is not base:
            _add_joint(robot, body, drives)
    return document_text(robot)


def _fixed_where_locked(model: Model) -> ArticulatedSystem:
    """The system with fixed joints in place of those whose coordinates are all locked, as they stand at the start."""
    system, locked = model.system, {c.name for c in model.coordinates if c.locked}
    bodies = []
    for body, at in zip(system.bodies, system.q_slices, strict=True):
        if body.joint.nq and locked.issuperset(body.names_of_coordinates):
            R_frame = rotation_matrix(body.orientation)
            R, p = body.joint.transform(model.start[at])
            position, orientation = body.position + R_frame @ p, quaternion_from_matrix(R_frame @ R)
            placed: dict[str, Any] = {"position": position, "orientation": orientation}
            body = replace(
                body, joint=FixedJoint(), coordinate_names=None, damping=0.0, stiffness=0.0, rotor_inertia=0.0, **placed
            )
        bodies.append(body)
    return replace(system, bodies=tuple(bodies))


def _base(system: ArticulatedSystem) -> Body | None:
    """The body that can be the root link by itself."""
    standing = [body for body in system.bodies if body.parent == system.ground]
    if (
        len(standing) != 1
        or any(shape.kind in SIZES and shape.purpose != "hidden" for shape in system.shapes)
        or standing[0].joint.kind not in ("fixed", "floating")
        or standing[0].joint_name
    ):
        return None
    body = standing[0]
    passive = any(getattr(body, key) for key in DYNAMICS)
    return body if (body.position, body.orientation) == _PLACED and not passive else None


def _add_shapes(link: Element, shapes: Iterable[Shape], unwritten: UnwrittenParts | None) -> None:
    for shape in shapes:
        if unwritten is not None and (shape.kind not in SIZES or shape.purpose == "hidden"):
            unwritten.count("shapes of bodies", f"{link.get('name')}: {shape.kind}")
            continue
        element = add_with(link, shape.purpose, name=shape.name or None)
        _add_origin(element, shape.position, shape.orientation)
        geometry = add_with(element, "geometry")
        if shape.kind not in SIZES:
            raise ModelError(f"URDF knows no {shape.kind}; it knows {', '.join(sorted(SIZES))}", element=shape.name)
        sizes = iter(shape.sizes)
        own = {key: tuple(islice(sizes, count)) for key, count in SIZES[shape.kind].items()}
        add_with(geometry, shape.kind, filename=shape.file if shape.kind == "mesh" else None, **own)
        if shape.material or shape.color:
            material = add_with(element, "material", name=shape.material)
            if shape.color:
                add_with(material, "color", rgba=shape.color)


def _add_joint(robot: Element, body: Body, drives: Mapping[str, Drive]) -> None:
    joint_type = body.joint.kind
    if joint_type not in JOINTS:
        known = ", ".join(sorted(JOINTS.keys() - {"continuous"}))
        raise ModelError(f"URDF knows no {joint_type} joint; it knows {known}", element=f"body {body.name!r}")
    drive = drives.get(body.names_of_coordinates[0], {}) if body.joint.nq == 1 else {}
    limit, mimic = drive.get("limit", {}), drive.get("mimic")
    endless = joint_type == "revolute" and "lower" not in limit  # a hinge without a range
    joint = add_with(robot, "joint", name=joint_name(body), type="continuous" if endless else joint_type)
    _add_origin(joint, body.position, body.orientation)
    add_with(joint, "parent", link=body.parent)
    add_with(joint, "child", link=body.name)
    if hasattr(body.joint, "axis"):
        add_with(joint, "axis", xyz=body.joint.axis)
    if joint_type == "prismatic" or limit:  # other readers refuse a slider without limits, or half of them
        add_with(joint, "limit", **_NO_LIMITS | limit)
    if mimic:
        add_with(joint, "mimic", **mimic)
    facts = {key: getattr(body, key) for key in DYNAMICS if getattr(body, key)}
    if facts or body.spring_mount is not None:  # urdfdom refuses a <dynamics> without damping or friction
        add_with(joint, "dynamics", **{"damping": 0.0, **facts}, spring_mount=body.spring_mount)


def _add_origin(element: Element, position: Vector, orientation: Vector = _PLACED[1]) -> None:
    yaw, pitch, roll = euler_from_quaternion(orientation, "ZYX")
    add_with(element, "origin", xyz=position, rpy=(roll, pitch, yaw))
