"""Reading URDF.

Extensions:

- <capsule radius= length=>, also written height=, between the centres of its spheres
- the joint type 'spherical'
- on <dynamics>, rotor_inertia (also written 'rotor inertia', or as <rotor inertia=>) and stiffness
- on <dynamics>, spring_mount: nq numbers, a quaternion, scalar first, for a spherical joint

The ranges and efforts in a file, and joints that mimic others, belong to a model, read further below.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import PATH, check_types, free_name
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import Element, checked_numbers, complain, invalid_at, located, parse, with_plain_comments
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
    quaternion_from_euler,
    rotation_matrix,
)
from myoquat.joints.functions import Linear
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
    nearly = _is_nearly_possible(value, turned)
    return {"mass": value, "center_of_mass": center, "inertia": turned, "lenient_inertia": nearly}


def _is_nearly_possible(mass: float, inertia: tuple[float, ...]) -> bool:
    """Whether no body has this inertia, but Pinocchio takes it as it stands: its moments break the triangle inequality
    slightly, or there is no mass."""
    low, middle, high = principal_moments(inertia)
    excess, tolerance = high - middle - low, INERTIA_TOLERANCE * high
    definite, slight = low >= -tolerance, excess <= MAX_MOMENT_EXCESS * high
    return bool(definite and slight and (excess > tolerance or (mass == 0.0 and high > 0.0)))


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


def read_model(path: str | Path, strict: bool = False, **options: Any) -> Model:
    """The model in a URDF file, without muscles, with the `options` of `load_urdf`.

    Ranges of joints become those of `Model.coordinates`, and efforts become bounds of actuators with the joints' names.
    Joints that mimic others become couplers, which the start satisfies. One UnsupportedWarning reports friction, speed
    limits and elements of other tools, and one ImplausibleWarning inertias that no body can have; `strict` makes them
    errors.
    """
    path = Path(path)
    robot, unsupported, implausible = parse_urdf(path), UnsupportedElements(), ImplausibleValues()
    system = _system(robot, path, implausible, **options)
    names = set(system.coordinate_names)
    joints = {text_of(j, "name"): j for j in robot.findall("joint") if j.get("name", "").strip() in names}
    with located(path, robot):
        extras = read_joints(joints)
        tell_left_out(robot, unsupported)
        model = Model(system, name=system.name, file=path, **extras)
    implausible.report(path, strict)
    unsupported.report(path, strict)
    return _obeying(replace(model, left_out=tuple(unsupported.descriptions())))


def _obeying(model: Model) -> Model:
    """The model, with a start that its couplers allow where the neutral one is none."""
    q: Any = model.start
    driven = {coupler.dependent: coupler for coupler in model.couplers}
    drivers = {name: [coupler.independent] for name, coupler in driven.items()}
    order = TopologicalSorter(drivers).static_order()  # a joint may mimic one that mimics a third
    follow([driven[name] for name in order if name in driven], model.system, q)
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
            warnings.warn(message, stacklevel=2)
    return system


def _system(
    robot: Element, path: Path, implausible: ImplausibleValues, base: str = "fixed", **options: Any
) -> ArticulatedSystem:
    """The system in a file that has been parsed, with the options of an ArticulatedSystem."""
    if base not in BASES:
        raise ValueError(f"base is one of {', '.join(BASES)}, not {base!r}")
    with located(path, robot):
        bodies, ground = _bodies(robot, base, implausible)
        return ArticulatedSystem(tuple(bodies), ground=ground, name=robot.get("name", path.stem), **options)


def _bodies(robot: Element, base: str, implausible: ImplausibleValues) -> tuple[list[Body], str]:
    """Bodies of all links, and the name of the ground."""
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
                "with inertia and without mass" if body.mass == 0 else "whose inertia breaks the triangle inequality"
            )
            implausible.count(f"links {reason}", body.name)
    return bodies, ground


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
