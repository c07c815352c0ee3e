"""OpenSim's joints as a tree: which way each is read, and the coordinates of each."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import combinations
from typing import Any

import numpy as np

from myoquat.core import frozen
from myoquat.data.motions.angular_speeds import rates_of_angles
from myoquat.data.xml import (
    add,
    add_set,
    boolean,
    complain,
    invalid_at,
    last_name,
    number,
    numbers,
    objects,
    span,
    text,
    triple,
)
from myoquat.joints import (
    Axis,
    Body,
    ConstantCurvatureJoint,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    Joint,
    ModelError,
    PrismaticJoint,
    RevoluteJoint,
    UniversalJoint,
    rotation_matrix_from_euler,
)
from myoquat.joints.constraints import Weld
from myoquat.joints.conversion.balls import turned_around
from myoquat.joints.functions import Constant, Linear, Multiplier, Polynomial
from myoquat.joints.multibody.body import check_inertia
from myoquat.joints.multibody.scaling import PART_INFIX
from myoquat.joints.types.base import unit_axis
from myoquat.muscle.coordinates import Coordinate

from .constraints import weld
from .elements import GROUND, ZERO, Format, Frame, Frames, ValueType, by_tag, format_of, same
from .functions import FUNCTIONS, POLYNOMIAL, function_in, read_function, read_polynomial
from .geometry import geometry_of

# --------------------------------------------------------------------------------------------------------------
#
# The tree in a graph of bodies and joints: which way each joint carries, and which joints close a loop.
#
# The same tree as in OpenSim, which leaves the choice to Simbody's MultibodyGraphMaker: breadth first from the
# ground, in the order of the joints. Behind a moving body without mass on to one that has mass, the heaviest first.


class Way(Enum):
    """What a joint does in the tree: it carries its child, its parent, or neither, since both are carried already."""

    FORWARD = "forward"
    BACKWARD = "backward"
    LOOP = "loop"


@frozen
class Edge:
    """A joint between two bodies, by their names; `moves` unless it is a weld."""

    parent: str
    child: str
    moves: bool


def spanning_tree(masses: Mapping[str, float], edges: Sequence[Edge]) -> tuple[tuple[Way, ...], tuple[str, ...]]:
    """The way of each joint, and the bodies that must be hung on the ground for the tree to hold all of them.

    masses: of all bodies but the ground [kg], by their names.
    """
    levels: dict[str, int] = {}  # of the bodies in the tree
    ways = [Way.LOOP] * len(edges)
    waiting: dict[int, list[str]] = defaultdict(list)  # bodies from which nothing has grown yet, by their levels
    joined: dict[str, list[int]] = defaultdict(list)  # the joints of each body
    for i, edge in enumerate(edges):
        joined[edge.parent].append(i)
        joined[edge.child].append(i)

    def is_open(i: int) -> bool:
        return (edges[i].parent in levels) != (edges[i].child in levels)

    def outer(i: int) -> str:
        return edges[i].child if edges[i].parent in levels else edges[i].parent

    def place(name: str, level: int) -> None:
        levels[name] = level
        waiting[level].append(name)

    def use(i: int) -> str:
        name, edge = outer(i), edges[i]
        ways[i], inner = (Way.FORWARD, edge.parent) if edge.child == name else (Way.BACKWARD, edge.child)
        place(name, levels[inner] + 1)
        return name

    def rank(i: int) -> tuple[bool, bool, float]:
        mass = masses[outer(i)]
        return mass > 0.0, edges[i].parent in levels, mass

    hung = []
    place(GROUND, 0)
    # Bodies in the order in which they are joined to the ground. First come those without a joint, then those that are
    # no child of another body, then the others. In each group the parents of most joints come first.
    parents, children = Counter(edge.parent for edge in edges), {edge.child for edge in edges}
    linked = {*children, *parents}
    bases = sorted(masses, key=lambda name: (name in linked, name in children, -parents[name]))
    for base in (GROUND, *bases):
        if base not in levels:
            hung.append(base)
            place(base, 1)
        while waiting:
            bodies = waiting.pop(min(waiting))
            for i in sorted({i for name in bodies for i in joined[name]}):
                if is_open(i):
                    end = use(i)
                    # behind a body without mass that moves, on up to one with mass
                    while edges[i].moves and masses[end] == 0.0 and (beyond := list(filter(is_open, joined[end]))):
                        end = use(max(beyond, key=rank))
    return tuple(ways), tuple(hung)


# ---- OpenSim's joints as ours, with their coordinates -------------------------------------------------------------
#
# Sockets, offset frames and coordinates are alike in all of them. The motion of the child frame in the parent frame is
# what tells them apart.


STARTS = ("default_value", "default_speed_value")
DEFAULT_RANGE = (-10.0, 10.0)  # the range of OpenSim's coordinates where a file gives none
COLLINEAR_SINE = 1e-6  # between two axes: OpenSim 4.6 takes 1e-5 and refuses 1e-7
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@frozen
class OsimJoint:
    """A joint type, the coordinates of the file in its order, and where they start."""

    joint: Joint
    coordinates: tuple[Coordinate, ...]
    defaults: tuple[float, ...]
    speeds: tuple[float, ...]


def _moves(names: tuple[str, ...], turns: Any, slides: Any) -> CustomJoint:
    """Turns and slides along axes, each by a coordinate of its own."""
    return CustomJoint(names, tuple(Axis(*turn) for turn in turns), tuple(Axis(*slide) for slide in slides))


def _ribs(element: Any, _: Any) -> Joint:
    """The first part of a shoulder blade's joint, in a frame turned about z (`scapular_bodies`)."""
    x, y, z = triple(element, "thoracic_ellipsoid_radii_x_y_z")
    return EllipsoidJoint((y, x, z))


EQUAL = {  # joints that are all alike
    "WeldJoint": FixedJoint(),
    "PinJoint": RevoluteJoint(Z),
    "SliderJoint": PrismaticJoint(X),
    "UniversalJoint": UniversalJoint(X, Y),
    "GimbalJoint": EulerJoint("XYZ"),
    "BallJoint": EulerJoint("XYZ"),
}
SHAPED = by_tag(
    Format("EllipsoidJoint", EllipsoidJoint, {"radii": ("radii_x_y_z", ValueType(lambda e, tag, *_: triple(e, tag)))}),
    Format(
        "ConstantCurvatureJoint",
        ConstantCurvatureJoint,
        same(length=1.0) | {"rest": ("neutral_angle_x_z_y", ZERO)},
    ),
)
JOINTS: dict[str, tuple[int | None, Callable[[Any, tuple[str, ...]], Joint]]] = {  # tag -> coordinates, joint
    **{tag: (joint.nq, lambda element, _: EQUAL[element.tag]) for tag, joint in EQUAL.items()},
    **dict.fromkeys(SHAPED, (3, lambda element, _: SHAPED[element.tag].read(element))),
    "PlanarJoint": (3, lambda _, names: _moves(names, ((Z, 0),), ((X, 1), (Y, 2)))),
    "FreeJoint": (6, lambda _, names: _moves(names, ((X, 0), (Y, 1), (Z, 2)), ((X, 3), (Y, 4), (Z, 5)))),
    "ScapulothoracicJoint": (4, _ribs),
    "CustomJoint": (None, lambda element, names: _custom(element, names)),
}


# Joints whose first three speeds are not the rates of the angles to OpenSim, but the angular velocity in the frame on
# the parent. Its forces on these coordinates act along it.
BY_ANGULAR_VELOCITY = ("BallJoint", "FreeJoint", "EllipsoidJoint", "ScapulothoracicJoint")
FORCES_ON_ANGLES = "forces about axes of the parent, as OpenSim applies those on angles of"


def forces_on_angles(model: Any) -> Iterator[tuple[str, str]]:
    """(force, type of the joint) of the forces of a <Model> that act on such angles."""
    joints = (joint for joint in model.iterfind("JointSet/objects/*") if joint.tag in BY_ANGULAR_VELOCITY)
    angles = {c.get("name"): joint.tag for joint in joints for c in joint.findall("coordinates/Coordinate")[:3]}
    for force in model.iterfind("ForceSet/objects/*"):
        if (tag := angles.get(last_name(text(force, "coordinate", "")))) is not None:
            yield str(force.get("name")), tag


def tag_of(joint: Joint) -> str:
    """OpenSim's type of a joint: one of its own where it has the same axes, a CustomJoint otherwise."""
    shaped = format_of(SHAPED, joint)
    if shaped is not None and getattr(joint, "sequence", "XYZ") == "XYZ":
        return shaped.tag
    return next((tag for tag, other in EQUAL.items() if other == joint), "CustomJoint")


def read_joint(element: Any, backward: bool = False) -> OsimJoint:
    """A joint, or `backward` what carries its parent on its child. ModelError with element and line for a type that is
    not known, or is not to be turned around, or a wrong number of coordinates."""
    if element.tag not in JOINTS:
        complain(element, f"<{element.tag}> is not supported; known: {', '.join(JOINTS)}")
    count, build = JOINTS[element.tag]
    found = element.findall("coordinates/Coordinate")
    if count is not None and len(found) != count:
        complain(element, f"<{element.tag}> needs {count} coordinates, not {len(found)}")
    angles = 3 if element.tag in BY_ANGULAR_VELOCITY else 0
    coordinates = tuple(_coordinate(c, k < angles) for k, c in enumerate(found))
    if backward and element.tag == "ScapulothoracicJoint":
        complain(element, "a <ScapulothoracicJoint> that carries its parent is not supported")
    names = tuple(c.name for c in coordinates)
    with invalid_at(element):
        joint = build(element, names)
        joint = turned_around(Body("child", "parent", joint, coordinate_names=names)) if backward else joint
    defaults, speeds = (  # an element without a number is zero to OpenSim
        tuple(0.0 if is_blank(c.find(tag)) else number(c, tag, 0.0) for c in found) for tag in STARTS
    )
    if element.tag in BY_ANGULAR_VELOCITY and any(speeds[:3]):
        x, y, *_ = np.array(defaults)
        speeds = (*rates_of_angles(x, y, np.array(speeds[:3])), *speeds[3:])
    return OsimJoint(joint, coordinates, defaults, speeds)


def is_blank(element: Any) -> bool:
    """Whether an element is there and says nothing."""
    return element is not None and not (element.text or "").strip()


def complete_joint(element: Any) -> None:
    """Give a joint whose file has no <coordinates> those that OpenSim gives it."""
    count, _ = JOINTS.get(element.tag, (0, None))
    if element.find("coordinates") is None:
        add_coordinates(element, count or 0)


def add_coordinates(joint: Any, count: int, prefix: str = "") -> None:
    """The coordinates that OpenSim gives a joint that has none: PREFIX_coord_0 and so on. There is no prefix where the
    file leaves out <coordinates>."""
    holder = add(joint, "coordinates")
    for i in range(count):
        add(holder, "Coordinate", name=f"{prefix}_coord_{i}")


def _coordinate(element: Any, angular: bool) -> Coordinate:
    name = element.get("name")
    if not name:
        complain(element, "a <Coordinate> needs a name")
    low_high = span(element, "range") if element.find("range") is not None else None
    if low_high == (-math.inf, math.inf):  # as OpenSim writes that there is none
        low_high = None
    function = function_in(element.find("prescribed_function"), element) if boolean(element, "prescribed") else None
    return Coordinate(name, low_high, boolean(element, "locked"), boolean(element, "clamped"), function, angular)


def _axes(joint: Any) -> dict[str, list[Any]]:
    """The elements of the turns and the slides of a <CustomJoint>, in order."""
    named = {axis.get("name"): axis for axis in reversed(joint.findall("SpatialTransform/TransformAxis"))}
    return {motion: [named[f"{motion}{i}"] for i in (1, 2, 3) if f"{motion}{i}" in named]
            for motion in ("rotation", "translation")}  # fmt: skip


def _custom(element: Any, names: tuple[str, ...]) -> Joint:
    found = ([_axis(axis, names) for axis in axes] for axes in _axes(element).values())
    # without those along which nothing ever happens
    rotations, translations = (
        tuple(a for a in axes if a.coordinate is not None or a.function != Constant(0.0)) for axes in found
    )
    return CustomJoint(names, rotations, translations)


def are_collinear(directions: Iterable[Sequence[float]]) -> bool:
    """Whether two unit directions are along one line. OpenSim's CustomJoint takes no such rotations or translations."""
    return any(np.linalg.norm(np.cross(a, b)) < COLLINEAR_SINE for a, b in combinations(directions, 2))


def collinear_motions(joint: Any) -> tuple[str, ...]:
    """Of "rotation" and "translation", those of a <CustomJoint> with axes along one line, resting ones included."""
    directions = {
        motion: [unit_axis(triple(axis, "axis", X)) for axis in axes] for motion, axes in _axes(joint).items()
    }
    return tuple(motion for motion, lines in directions.items() if are_collinear(lines))


def _axis(element: Any, names: tuple[str, ...]) -> Axis:
    direction = triple(element, "axis", X)
    used = [last_name(word) for word in text(element, "coordinates", "").split()]
    for name in used:
        if name not in names:
            complain(element, f"the axis depends on {name!r}, which is no coordinate of the joint ({', '.join(names)})")
    holder = element.find("function") if element.find("function") is not None else element
    found = [child for child in holder.iterchildren("*") if child.tag not in ("coordinates", "axis")]
    if len(used) > 1 or (used and found and any(child.tag == POLYNOMIAL for child in found[0].iter())):
        polynomial = read_polynomial(found[0], len(used)) if found else None
        if polynomial is None:
            complain(
                found[0] if found else element,
                f"an axis of {', '.join(used)} needs a function of {len(used)} coordinates: a <{POLYNOMIAL}>, a "
                "<LinearFunction>, a <Constant>, or a multiple of one",
            )
        if len(used) == 1:
            return Axis(direction, names.index(used[0]), Polynomial(polynomial.coefficients))
        return Axis(direction, tuple(map(names.index, used)), polynomial)
    unknown = [child for child in found if child.tag not in FUNCTIONS]
    if unknown:
        complain(unknown[0], f"the function <{unknown[0].tag}> is not supported; known: {', '.join(FUNCTIONS)}")
    follows = used and holder is not element  # without even an empty <function>, OpenSim keeps the axis where it is
    function = read_function(found[0]) if found else Linear() if follows else Constant(0.0)
    constant = function
    while isinstance(constant, Multiplier):
        constant = constant.function
    if not used and not isinstance(constant, Constant):
        complain(
            element,
            f"an axis without <coordinates> needs a <Constant>: <{found[0].tag}> has no argument; OpenSim takes the "
            "slope of a line for its value, or reads memory that is not the function's",
        )
    return Axis(direction, names.index(used[0]) if used else None, function)


# --------------------------------------------------------------------------------------------------------------
#
# OpenSim's ScapulothoracicJoint: the shoulder blade glides over the ellipsoid of the ribs and wings away from it.


TAG = "ScapulothoracicJoint"
UPRIGHT = rotation_matrix_from_euler([0.0, 0.0, math.pi / 2], "XYZ")


def scapular_bodies(element: Any, read: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """A massless body on the ellipsoid (abduction, elevation, upward rotation), one more on a hinge (winging), and the
    body itself fixed to it.

    The ellipsoid's frame is the parent's, turned by a right angle about z, so that its radii are y, x, z. The hinge's
    axis lies in the plane that touches the ellipsoid, at an angle from that plane's y axis [A. Seth, R. Matias, A. P.
    Veloso, S. L. Delp, A biomechanical model of the scapulothoracic joint ..., PLoS ONE 11, 2016].
    """
    joint, names = str(element.get("name")), tuple(c.name for c in read.coordinates)
    angle = number(element, "scapula_winging_axis_direction", 0.0)
    origin = np.array([*numbers(element, "scapula_winging_axis_origin", 2, (0.0, 0.0)), 0.0])
    ribs = Frame(parent.body, parent.R @ UPRIGHT, parent.p)
    hinge = Frame(f"{joint}_glide", UPRIGHT.T, UPRIGHT.T @ origin)
    back = Frame(f"{joint}_wing", child.R.T, -origin - child.R.T @ child.p)
    axis = (-math.sin(angle), math.cos(angle), 0.0)
    return [
        Body(hinge.body, ribs.body, read.joint, ribs.p, ribs.orientation, joint_name=joint,
             coordinate_names=names[:3]),
        Body(back.body, hinge.body, RevoluteJoint(axis), hinge.p, hinge.orientation,
             joint_name=f"{joint}_winging", coordinate_names=names[3:]),
        Body(child.body, back.body, FixedJoint(), back.p, back.orientation, **mass),
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------------------------
#
# The joints of a file as the links of a tree: some are added where bodies have none, others close loops.


WELD, FREE = "WeldJoint", "FreeJoint"


@frozen
class Link:
    """A joint, the frames that it links, and its way in the tree."""

    element: Any
    parent: Frame
    child: Frame
    way: Way

    @property
    def ends(self) -> tuple[Frame, Frame]:
        """The frame that carries, and the one that is carried."""
        return (self.child, self.parent) if self.way is Way.BACKWARD else (self.parent, self.child)

    @property
    def cuts(self) -> bool:
        """True where it closes a loop and moves, for which its child is cut into parts."""
        return self.way is Way.LOOP and self.element.tag != WELD


def linked(model: Any, elements: dict[str, Any], frames: Frames) -> tuple[list[Link], tuple[str, ...]]:
    """The joints of a <Model> in their order, then <FreeJoint>s that are added, and the names of the bodies that float.

    These are connected with the ground by no joint of the file; the free joints are theirs.

    elements  all bodies but the ground, by name

    ModelError for a joint that connects a body with itself, or a loop that cannot be cut.
    """
    masses = {name: number(element, "mass", 0.0) for name, element in elements.items()}
    joints = objects(model, "JointSet")
    ends = [_ends(joint, frames) for joint in joints]
    edges = [
        Edge(parent.body, child.body, joint.tag != WELD) for joint, (parent, child) in zip(joints, ends, strict=True)
    ]
    ways, floating = spanning_tree(masses, edges)
    for name in floating:
        # a <FreeJoint> from the ground, named as OpenSim names it, on the body's line
        joints.append(joint := add(add_set(model, "JointSet"), FREE, name=f"free_{name}"))
        for end, path in (("parent", f"/{GROUND}"), ("child", f"/bodyset/{name}")):
            add(joint, f"socket_{end}_frame", path)
        add_coordinates(joint, 6, f"free_{name}")
        joint.sourceline = elements[name].sourceline
        ends.append(_ends(joints[-1], frames))
        ways = (*ways, Way.FORWARD)
    links = [Link(joint, *frame, way) for joint, frame, way in zip(joints, ends, ways, strict=True)]
    for link in links:
        if link.cuts and link.child.body == GROUND:
            problem = "the joint closes a loop at its child, the ground, which has no parts: make it the parent"
            complain(link.element, problem)
        if link.cuts and link.element.tag == FREE:
            complain(link.element, "the joint closes a loop, where a <FreeJoint> holds nothing: remove it")
    return links, floating


def _ends(joint: Any, frames: Frames) -> tuple[Frame, Frame]:
    """The frames of the parent and the child."""
    parent, child = (frames.of(joint, f"socket_{end}_frame") for end in ("parent", "child"))
    if parent.body == child.body:
        complain(joint, f"the joint links {child.body!r} with itself")
    return parent, child


# ---- Bodies: one of ours for every joint of the file, one more for a joint that is not at its body's origin ---------


def read_skeleton(
    model: Any, frames: Frames
) -> tuple[tuple[Body, ...], list[OsimJoint], tuple[Weld, ...], tuple[str, ...]]:
    """Bodies and joints of a <Model> in the order of the file's joints, welds that close loops, and the names of the
    bodies that no joint of the file connects with the ground. ModelError for a frame that is missing, or a loop that
    cannot be cut.

    A joint whose child hangs on another one already, or is the ground, carries its parent instead. A body that no joint
    links with the ground floats: it hangs there by a joint of six coordinates, as in OpenSim.

    A joint between two bodies that hang on others closes a loop. It then carries a part of its child, which is welded
    to the rest. The parts of a body are equal, in mass, center of mass and inertia. The further ones are called
    BODY_slave_0 and so on, as in OpenSim. A joint that is itself a weld becomes a constraint.
    """
    elements = {element.get("name"): element for element in model.findall("BodySet/objects/Body")}
    links, floating = linked(model, elements, frames)
    parts = Counter(link.child.body for link in links if link.cuts)
    bodies: list[Body] = []
    joints: list[OsimJoint] = []
    welds: list[Weld] = []
    cut = Counter[str]()
    for link in links:
        name = str(link.element.get("name"))
        if link.way is Way.LOOP and not link.cuts:
            welds.append(weld(link.parent, link.child, f"{name}_Loop"))
            continue
        joints.append(read_joint(link.element, link.way is Way.BACKWARD))
        inner, outer = link.ends
        mass = _mass(elements[outer.body], parts[outer.body] + 1)
        if link.cuts:
            part = f"{outer.body}{PART_INFIX}{cut[outer.body]}"
            cut[outer.body] += 1
            welds.append(Weld(outer.body, part, name=f"{part}_weld"))
            outer, mass["shapes"] = replace(outer, body=part), ()
        bodies += _bodies(link.element, joints[-1], inner, outer, mass)
    return tuple(bodies), joints, tuple(welds), floating


def _mass(element: Any, parts: int) -> dict[str, Any]:
    """What a body weighs and shows, or one of its `parts`, which are equal."""
    inertia = numbers(element, "inertia", 6, (0.0,) * 6)
    mass: dict[str, Any] = {
        "mass": number(element, "mass", 0.0) / parts,
        "center_of_mass": numbers(element, "mass_center", 3, ZERO),
        "inertia": (0.0,) * 6 if is_massless(element) else tuple(x / parts for x in inertia),
        "shapes": geometry_of(element),
    }
    try:
        check_inertia(Body("", "", FixedJoint(), **mass))
    except ModelError:  # no rigid body can have it, but OpenSim takes any
        mass["lenient_inertia"] = True
    return mass


def _bodies(joint_element: Any, joint: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """The body on its joint. Where the joint's child frame is not the body's own, the joint carries that frame, and the
    body is fixed to it. A joint of several parts has a body for each."""
    place: dict[str, Any] = {"position": parent.p, "orientation": parent.orientation}
    if joint_element.tag == TAG:
        return scapular_bodies(joint_element, joint, parent, child, mass)
    name, names = joint_element.get("name"), tuple(c.name for c in joint.coordinates) or None
    if child.is_body:
        return [Body(child.body, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place, **mass)]
    frame = f"{name}_frame"
    back = child.inverse
    return [
        Body(frame, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place),
        Body(child.body, frame, FixedJoint(), back.p, back.orientation, **mass),
    ]


def is_massless(element: Any) -> bool:
    """Whether a <Body> has no mass: OpenSim passes over its inertia then."""
    return number(element, "mass", 0.0) <= sys.float_info.epsilon
