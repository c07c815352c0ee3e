"""URDF files: reading with the extensions of articulated-system simulators, and writing.

Extensions:

- <capsule radius= length=>, also written height=, between the centres of its spheres
- the joint type 'spherical'
- on <dynamics>, rotor_inertia (also written 'rotor inertia', or as <rotor inertia=>) and stiffness
- on <dynamics>, spring_mount: nq numbers, a quaternion, scalar first, for a spherical joint

The ranges and efforts in a file, and joints that mimic others, belong to a model, read further below.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core import PATH, check_types, free_name, warn_user
from myoquat.data.files import check_output, write_text
from myoquat.data.reports import ImplausibleValues, UnsupportedElements, UnwrittenParts
from myoquat.data.xml import (
    Element,
    add_with,
    checked_numbers,
    complain,
    document_text,
    invalid_at,
    located,
    parse,
    with_plain_comments,
)
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    FixedJoint,
    FloatingJoint,
    Joint,
    ModelError,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    Shape,
    SphericalJoint,
    euler_from_quaternion,
    quaternion_from_euler,
    quaternion_from_matrix,
    rotation_matrix,
)
from myoquat.joints.errors import shortened
from myoquat.joints.functions import Linear, coefficients_of
from myoquat.joints.multibody.body import INERTIA_TOLERANCE, Vector, check_body, check_mount, principal_moments
from myoquat.joints.multibody.tree import find_cycle
from myoquat.joints.vectors import congruent
from myoquat.muscle import Model
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, follow

# ---- Elements and attributes -----------------------------------------------------------------------------------------


# The source of the extensions spells the attribute 'rotor inertia', which is no XML: joined before parsing.
_SPACED = re.compile(r"(?<=[\s\"'])rotor[ \t]inertia(?=\s*=)")


def parse_urdf(path: Path) -> Element:
    """The root element of a URDF file; ModelError for one that is malformed or declares a document type."""
    return parse(path, lambda text: with_plain_comments(_SPACED.sub("rotor_inertia", text)))


def child(element: Element, tag: str) -> Element | None:
    """The only child of a tag, None if there is none; ModelError if there are several."""
    found = element.findall(tag)
    if len(found) > 1:
        complain(found[1], f"<{element.tag}> has more than one <{tag}>")
    return found[0] if found else None


def text_of(element: Element, attribute: str) -> str:
    """An attribute that must be there and not be empty."""
    value = element.get(attribute)
    if value is None or not value.strip():
        complain(element, f"<{element.tag}> needs the attribute {attribute!r}")
    return str(value).strip()


def numbers(
    element: Element | None, attribute: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """`count` finite numbers of an attribute, or the default where it is missing."""
    value = None if element is None else element.get(attribute)
    if value is None:
        if default is None:
            complain(element, f"<{'' if element is None else element.tag}> needs the attribute {attribute!r}")
        return default
    return checked_numbers(element, attribute, value, count, count)


def number(element: Element | None, attribute: str, default: float | None = None) -> float:
    """One finite number of an attribute, or the default where it is missing."""
    return numbers(element, attribute, 1, None if default is None else (default,))[0]


def not_negative(element: Element | None, attribute: str) -> float:
    """One finite number of an attribute, zero where it or the element is missing; ModelError below zero."""
    value = 0.0 if element is None else number(element, attribute, 0.0)
    if value < 0:
        complain(element, f"{attribute} must not be negative, not {value:g}")
    return value


# ---- Links of a URDF: inertias and shapes -------------------------------------------------------------------------


Pose = tuple[tuple[float, ...], Any]
ZERO, ONES = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
SIZES = {  # by shape: the attributes of its sizes, and how many numbers each has
    "box": {"size": 3},
    "mesh": {"scale": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}


def pose(element: Element) -> Pose:
    """(position, unit quaternion) of the <origin> in an element; rpy turns about the fixed axes x, y, z in turn."""
    origin = child(element, "origin")
    roll, pitch, yaw = numbers(origin, "rpy", 3, ZERO)
    Q = quaternion_from_euler([yaw, pitch, roll], "ZYX")
    return numbers(origin, "xyz", 3, ZERO), Q


def read_inertial(link: Element) -> dict[str, Any]:
    """The fields of a Body for the <inertial> of a link; without one, a body without mass."""
    element = child(link, "inertial")
    if element is None:
        return {}
    center, Q = pose(element)
    mass, inertia = child(element, "mass"), child(element, "inertia")
    if mass is None or inertia is None:
        complain(element, "<inertial> needs <mass> and <inertia>")
    value = number(mass, "value")
    if value < 0:
        complain(mass, f"mass must not be negative, not {value:g}")
    moments = [number(inertia, key, None if key[1] == key[2] else 0.0) for key in MOMENTS]
    turned: Any = congruent(rotation_matrix(Q), np.array(moments))
    # Pinocchio takes an inertia that no body has if its moments break the triangle inequality slightly, or there is no
    # mass
    low, middle, high = principal_moments(turned)
    excess, tolerance = high - middle - low, INERTIA_TOLERANCE * high
    definite, slight = low >= -tolerance, excess <= MAX_MOMENT_EXCESS * high
    nearly = bool(definite and slight and (excess > tolerance or (value == 0.0 and high > 0.0)))
    return {"mass": value, "center_of_mass": center, "inertia": turned, "lenient_inertia": nearly}


def materials(robot: Element) -> dict[str, Any]:
    """Colours (or None) of the materials declared at the top."""
    return {text_of(element, "name"): _color(element) for element in robot.findall("material")}


def _color(material: Element) -> Any:
    color = child(material, "color")
    return None if color is None else numbers(color, "rgba", 4)


def read_shape(element: Element, known: dict[str, Any]) -> Shape:
    """The shape of a <visual> or <collision>; known: the colours of materials."""
    geometry = child(element, "geometry")
    if geometry is None:
        complain(element, f"<{element.tag}> needs <geometry>")
    found = list(geometry.iterchildren("*"))
    if len(found) != 1:
        complain(geometry, f"<geometry> must hold one shape, not {len(found)}")
    (solid,) = found
    if solid.tag not in SIZES:
        complain(solid, f"unknown geometry <{solid.tag}>; known: {', '.join(SIZES)}")
    sizes: tuple[float, ...] = ()
    for key, count in SIZES[solid.tag].items():
        older = "height" if key == "length" and "height" in solid.attrib else key
        sizes += numbers(solid, older, count, ONES if key == "scale" else None)
    if solid.tag != "mesh" and min(sizes) < 0:
        complain(solid, f"the sizes of a <{solid.tag}> must not be negative, not {sizes}")
    position, orientation = pose(element)
    material = child(element, "material")
    name, own = ("", None) if material is None else (material.get("name", ""), _color(material))
    return Shape(
        solid.tag,
        sizes,
        position,  # type: ignore[arg-type]
        orientation,
        purpose=element.tag,
        file=text_of(solid, "filename") if solid.tag == "mesh" else "",
        name=element.get("name", ""),
        color=known.get(name) if own is None else own,
        material=name,
    )


# --------------------------------------------------------------------------------------------------------------
#
# What a URDF says of joints beyond the mechanics: ranges, efforts, joints that mimic others; and what is left out.


Joints = dict[str, Element]  # the elements of hinges and sliders, by their names, which are those of their coordinates
MAX_MOMENT_EXCESS = 0.25  # of the largest moment, over the sum of the others: rounded numbers and those of thin shells
UNLIMITED = 1e9  # from here on a limit is none: what is written where URDF demands a number and there is no limit
CHANGES = {
    "dynamics": "the joint moves without dry friction",
    "limit": "the joint may move faster",
    "safety_controller": "no controller holds the joint",
    "transmission": "actuators act on the joints themselves",
    "gazebo": "what it does in Gazebo is missing here",
}


def read_joints(joints: Joints) -> dict[str, Any]:
    """The fields of a Model for what the file says of hinges and sliders.

    coordinates  those that a <limit> gives a range; an end that it does not name is 0, as URDF has it
    actuators    a drive for every joint with an effort: its control is the force or torque [N, N m], the effort its
                 bound
    couplers     of joints that mimic others: multiplier times the other's coordinate, plus offset
    """
    coordinates, actuators, couplers = [], [], []
    for name, joint in joints.items():
        limit, mimic = child(joint, "limit"), child(joint, "mimic")
        endless = joint.get("type") == "continuous" or limit is None or limit.get("lower") is limit.get("upper") is None
        low, high = (-UNLIMITED, UNLIMITED) if endless else (number(limit, key, 0.0) for key in ("lower", "upper"))
        if low > high:
            complain(limit, f"lower is above upper: {low:g} > {high:g}")
        if low > -UNLIMITED or high < UNLIMITED:
            coordinates.append(Coordinate(name, (low, high)))
        effort = not_negative(limit, "effort")
        if 0 < effort < UNLIMITED:
            actuators.append(CoordinateActuator(name, name, lower=-effort, upper=effort))
        if mimic is not None:
            other = text_of(mimic, "joint")
            if other not in joints:
                complain(mimic, f"there is no hinge or slider {other!r} to mimic; known: {', '.join(joints)}")
            line = Linear(number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0))
            couplers.append(Coupler(f"{name}_mimics_{other}", name, other, line))
    return {"coordinates": tuple(coordinates), "actuators": tuple(actuators), "couplers": tuple(couplers)}


def tell_left_out(robot: Element, unsupported: UnsupportedElements) -> None:
    """Note what is not read: friction and greatest speeds of joints, and the elements of other tools."""
    for joint in robot.findall("joint"):
        for tag, key in (("dynamics", "friction"), ("limit", "velocity")):
            element = child(joint, tag)
            if 0 < not_negative(element, key) < UNLIMITED:
                unsupported.count(element, key)
        for element in joint.findall("safety_controller"):
            unsupported.count(element, "of a joint")
    for element in robot.iterchildren("*"):
        if element.tag.startswith("{"):
            unsupported.note(element.tag.rpartition("}")[2], "a macro: expand the file first", element.sourceline)
        elif element.tag not in ("link", "joint", "material"):  # colours of links
            unsupported.count(element, "of another tool")


BASES = ("fixed", "floating")
DYNAMICS = ("damping", "stiffness", "rotor_inertia")  # attributes of <dynamics>, and fields of a Body
GROUND = "world"  # name of the ground, with underscores added until no link has it
JOINTS: dict[str, Callable[..., Joint]] = {
    "revolute": RevoluteJoint,
    "continuous": RevoluteJoint,
    "prismatic": PrismaticJoint,
    "planar": PlanarJoint,
    "fixed": FixedJoint,
    "spherical": SphericalJoint,
    "floating": FloatingJoint,
}
WITHOUT_AXIS = ("fixed", "spherical", "floating")


def read_model(path: Path, unsupported: UnsupportedElements, implausible: ImplausibleValues, **options: Any) -> Model:
    """The model in a URDF file, without muscles, with the `options` of `load_urdf`.

    Ranges of joints become those of `Model.coordinates`, and efforts become bounds of actuators with the joints' names.
    Joints that mimic others become couplers, which the start satisfies. Friction, speed limits and elements of other
    tools are not read. Inertias that no body can have are noted.
    """
    robot = parse_urdf(path)
    system = _system(robot, path, implausible, **options)
    names = set(system.coordinate_names)
    joints = {text_of(j, "name"): j for j in robot.findall("joint") if j.get("name", "").strip() in names}
    with located(path, robot):
        extras = read_joints(joints)
        tell_left_out(robot, unsupported)
        model = Model(system, name=system.name, file=path, **extras)
    q: Any = model.start
    follow(model.couplers, system, q)
    return model if (q == model.start).all() else replace(model, start_q=q)


def load_urdf(
    path: str | Path,
    base: str = "fixed",
    *,
    joint_order: Sequence[str] | None = None,
    velocity_frame: str = "child",
    gravity: Vector = (0.0, 0.0, -9.81),
) -> ArticulatedSystem:
    """The articulated system in a URDF file: bodies named as links, the root first, then in the order of the joints.

    The coordinate of a hinge or a slider has the name of its joint. Ranges, efforts and joints that mimic others have
    no place in a system: `load_model` reads them into a model.

    base: "fixed" welds the root to the world, "floating" puts it on a floating joint. A root without mass is legal.
    joint_order, velocity_frame and gravity as for `ArticulatedSystem`. Raises ModelError with file, element and line
    for a file that is no URDF or describes no tree of rigid bodies. Raises ValueError for an unknown base, OSError if
    the file cannot be read.

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.data.urdf import load_urdf
    >>> fore = mq.Body("fore", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.4, inertia=(1, 1, 1, 0, 0, 0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mq.Model(mq.ArticulatedSystem((fore,))).save(f"{folder}/arm.urdf")
    ...     print(load_urdf(f"{folder}/arm.urdf").nq)
    1
    """
    check_types(path=(path, PATH))
    path = Path(path)
    robot = parse_urdf(path)
    implausible = ImplausibleValues()
    options: dict[str, Any] = {"joint_order": joint_order, "velocity_frame": velocity_frame, "gravity": gravity}
    system = _system(robot, path, implausible, base, **options)
    implausible.report(path, strict=False)
    for joint in robot.findall("joint"):
        if child(joint, "mimic") is not None:
            message = f"joint {joint.get('name')!r} mimics another, which a system cannot hold: `load_model` reads it"
            warn_user(message)
    return system


def _system(
    robot: Element, path: Path, implausible: ImplausibleValues, base: str = "fixed", **options: Any
) -> ArticulatedSystem:
    """The system in a file that has been parsed, with the options of an ArticulatedSystem."""
    if base not in BASES:
        raise ValueError(f"base is one of {', '.join(BASES)}, not {base!r}")
    with located(path, robot):
        if robot.tag != "robot":
            complain(robot, f"a URDF file begins with <robot>, not <{robot.tag}>")
        links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
        if not links:
            complain(robot, "there is no <link>")
        ends = {name: _ends(joint, links) for name, joint in joints.items()}  # of every joint: parent and child
        carrying: dict[str, str] = {}  # the joint that carries a link
        for name, (_, link) in ends.items():
            if link in carrying:
                problem = f"link {link!r} has two parents: joint {carrying[link]!r} carries it already"
                complain(joints[name], problem)
            carrying[link] = name
        roots = [name for name in links if name not in carrying]
        if len(roots) > 1:
            complain(links[roots[1]], f"a second root: neither it nor {roots[0]!r} is the child of a joint")
        if cycle := find_cycle({link: ends[name][0] for link, name in carrying.items()}):
            complain(joints[carrying[cycle[0]]], f"a cycle of joints through the links {', '.join(cycle)}")
        ground, colors = free_name(GROUND, links), materials(robot)
        base_joint: Joint = FixedJoint() if base == "fixed" else FloatingJoint()
        bodies = [_body(links[roots[0]], colors, ground, joint=base_joint)]
        for name, (parent, link) in ends.items():
            bodies.append(_body(links[link], colors, parent, **_mounting(joints[name])))
        for body in bodies:
            if body.lenient_inertia:
                reason = (
                    "with inertia and without mass"
                    if body.mass == 0
                    else "whose inertia breaks the triangle inequality"
                )
                implausible.count(f"links {reason}", body.name)
        return ArticulatedSystem(tuple(bodies), ground=ground, name=robot.get("name", path.stem), **options)


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in robot.findall(tag):
        name = text_of(element, "name")
        if name in found:
            complain(element, f"the name {name!r} is taken by the {tag} in line {found[name].sourceline}")
        found[name] = element
    return found


def _ends(joint: Element, links: dict[str, Element]) -> tuple[str, str]:
    """Names of the links that a joint joins: parent and child."""
    names = []
    for tag in ("parent", "child"):
        end = child(joint, tag)
        if end is None:
            complain(joint, f"<joint> needs <{tag} link=...>")
        names.append(text_of(end, "link"))
    for name in names:
        if name not in links:
            complain(joint, f"there is no link {name!r}; known: {', '.join(links)}")
    return names[0], names[1]


def _body(link: Element, colors: dict[str, Element], parent: str, **fields: Any) -> Body:
    shapes = tuple(read_shape(element, colors) for element in link.iterchildren("visual", "collision"))
    body = Body(text_of(link, "name"), parent, shapes=shapes, **read_inertial(link), **fields)
    try:
        check_body(body)  # the joint's own numbers have been checked at the joint
    except ModelError as error:
        element = child(link, "inertial")
        complain(link if element is None else element, error.message)
    return body


def _mounting(element: Element) -> dict[str, Any]:
    """The fields of a Body for the joint that carries it."""
    name, joint = text_of(element, "name"), _joint(element)
    position, orientation = pose(element)
    dynamics, rotor = child(element, "dynamics"), child(element, "rotor")
    mount = None
    if dynamics is not None and dynamics.get("spring_mount") is not None:
        mount = numbers(dynamics, "spring_mount", joint.nq)
        try:
            check_mount(mount, joint)
        except ModelError as error:
            complain(dynamics, error.message)
    return {
        "joint": joint,
        "position": position,
        "orientation": orientation,
        **{key: not_negative(dynamics, key) for key in DYNAMICS},
        **({} if rotor is None else {"rotor_inertia": not_negative(rotor, "inertia")}),
        "spring_mount": mount,
        "joint_name": name,
        "coordinate_names": (name,) if joint.nq == 1 else None,
    }


def _joint(element: Element) -> Joint:
    joint_type = text_of(element, "type")
    if joint_type not in JOINTS:
        complain(element, f"unknown joint type {joint_type!r}; known: {', '.join(JOINTS)}")
    if joint_type in WITHOUT_AXIS:
        return JOINTS[joint_type]()
    axis = child(element, "axis")
    with invalid_at(axis):
        return JOINTS[joint_type](numbers(axis, "xyz", 3, (1.0, 0.0, 0.0)))


# ---- Writing: what a model holds of joints beyond its system as attributes of the file, and all else ---------------


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
        if (  # an effort: the control is the force itself, bounded alike on both sides
            type(actuator) is CoordinateActuator
            and actuator.coordinate in joints
            and (actuator.optimal_force, actuator.lower) == (1.0, -actuator.upper)
        ):
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


def _line(coupler: Coupler) -> dict[str, float] | None:
    """multiplier and offset of a coupler by a line; None for another function."""
    found = coefficients_of(coupler.function)
    if found is None or any(found[2:]):
        return None
    offset, multiplier = (*found, 0.0)[:2]
    return {"multiplier": coupler.scale * multiplier, "offset": coupler.scale * offset}


_NO_LIMITS = {"lower": -UNLIMITED} | dict.fromkeys(("upper", "effort", "velocity"), UNLIMITED)
_PLACED = (ZERO, (1.0, 0.0, 0.0, 0.0))


def model_text(model: Model, unwritten: UnwrittenParts) -> str:
    """The text of a file of a model's system, ranges, couplers and the bounds of its actuators on coordinates.

    A joint whose coordinates are all locked becomes a fixed joint at the model's start. The model's other parts,
    muscles included, are noted. A warning of its own names ball joints, for which URDF has no type, so that other
    programs refuse the file.
    """
    drives, system = written_drives(model, unwritten), _fixed_where_locked(model)
    text = _document(system, drives, unwritten)
    balls = [body.name for body in system.bodies if isinstance(body.joint, SphericalJoint)]
    if balls:
        words = "ball joints have the type 'spherical', which this package reads and other programs refuse"
        unwritten.remarks.append(f"{words} ({shortened(', '.join(balls))})")
    return text


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
