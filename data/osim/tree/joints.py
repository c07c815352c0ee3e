"""OpenSim's joints as ours, with their coordinates.

Sockets, offset frames and coordinates are alike in all of them. The motion of the child frame in the parent frame is
what tells them apart.
"""

import math
from collections.abc import Callable
from typing import Any

from lxml import etree

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, last_name, number, span, text, triple
from myoquat.data.osim.functions import FUNCTIONS, function_in, read_function
from myoquat.data.xml import complain
from myoquat.joints.conversion.balls import turned_around
from myoquat.joints.functions import AxisFunction, Constant, Linear, Multiplier
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import (
    ConstantCurvatureJoint,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    UniversalJoint,
)
from myoquat.joints.types.custom import Axis
from myoquat.muscle.coordinates import Coordinate

__all__ = [
    "DEFAULT_RANGE",
    "JOINTS",
    "STARTS",
    "OsimJoint",
    "add_coordinates",
    "complete_joint",
    "is_blank",
    "read_joint",
]

STARTS = ("default_value", "default_speed_value")
DEFAULT_RANGE = (-10.0, 10.0)  # the range of OpenSim's coordinates where a file gives none
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class OsimJoint:
    """A joint type, the coordinates of the file in its order, and where they start."""

    joint: Joint
    coordinates: tuple[Coordinate, ...]
    defaults: tuple[float, ...]
    speeds: tuple[float, ...]


def _moves(names: tuple[str, ...], turns: Any, slides: Any) -> CustomJoint:
    """Turns and slides along axes, each by a coordinate of its own."""
    return CustomJoint(names, tuple(Axis(*turn) for turn in turns), tuple(Axis(*slide) for slide in slides))


def _free(_: Any, names: tuple[str, ...]) -> Joint:
    return _moves(names, ((X, 0), (Y, 1), (Z, 2)), ((X, 3), (Y, 4), (Z, 5)))


def _planar(_: Any, names: tuple[str, ...]) -> Joint:
    return _moves(names, ((Z, 0),), ((X, 1), (Y, 2)))


JOINTS: dict[str, tuple[int | None, Callable[[Any, tuple[str, ...]], Joint]]] = {  # tag -> coordinates, joint
    "WeldJoint": (0, lambda element, names: FixedJoint()),
    "PinJoint": (1, lambda element, names: RevoluteJoint(Z)),
    "SliderJoint": (1, lambda element, names: PrismaticJoint(X)),
    "UniversalJoint": (2, lambda element, names: UniversalJoint(X, Y)),
    "GimbalJoint": (3, lambda element, names: EulerJoint("XYZ")),
    "BallJoint": (3, lambda element, names: EulerJoint("XYZ")),
    "PlanarJoint": (3, _planar),
    "FreeJoint": (6, _free),
    "EllipsoidJoint": (3, lambda element, names: EllipsoidJoint(triple(element, "radii_x_y_z"))),
    "ConstantCurvatureJoint": (3, lambda element, names: _rod(element)),
    "ScapulothoracicJoint": (4, lambda element, names: _ribs(element)),
    "CustomJoint": (None, lambda element, names: _custom(element, names)),
}


def _rod(element: Any) -> Joint:
    return ConstantCurvatureJoint(
        number(element, "length", 1.0), triple(element, "neutral_angle_x_z_y", (0.0, 0.0, 0.0))
    )


def _ribs(element: Any) -> Joint:
    """The first part of a shoulder blade's joint, in a frame turned about z (`myoquat.data.osim.tree.scapula`)."""
    x, y, z = triple(element, "thoracic_ellipsoid_radii_x_y_z")
    return EllipsoidJoint((y, x, z))


def read_joint(element: Any, backward: bool = False) -> OsimJoint:
    """A joint, or `backward` what carries its parent on its child. ModelError with element and line for a type that is
    not known, or is not to be turned around, or a wrong number of coordinates."""
    if element.tag not in JOINTS:
        complain(element, f"<{element.tag}> is not supported; known: {', '.join(JOINTS)}")
    count, build = JOINTS[element.tag]
    found = element.findall("coordinates/Coordinate")
    if count is not None and len(found) != count:
        complain(element, f"<{element.tag}> needs {count} coordinates, not {len(found)}")
    coordinates = tuple(_coordinate(c) for c in found)
    if backward and element.tag == "ScapulothoracicJoint":
        complain(element, "a <ScapulothoracicJoint> that carries its parent is not supported")
    names = tuple(c.name for c in coordinates)
    try:
        joint = build(element, names)
        joint = turned_around(Body("child", "parent", joint, coordinate_names=names)) if backward else joint
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))
    defaults, speeds = (tuple(_start(c, tag) for c in found) for tag in STARTS)
    return OsimJoint(joint, coordinates, defaults, speeds)


def _start(coordinate: Any, tag: str) -> float:
    """Where a coordinate starts; an element without a number is zero to OpenSim."""
    return 0.0 if is_blank(coordinate.find(tag)) else number(coordinate, tag, 0.0)


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
    holder = etree.SubElement(joint, "coordinates")
    for i in range(count):
        etree.SubElement(holder, "Coordinate", name=f"{prefix}_coord_{i}")


def _coordinate(element: Any) -> Coordinate:
    name = element.get("name")
    if not name:
        complain(element, "a <Coordinate> needs a name")
    low_high = span(element, "range") if element.find("range") is not None else None
    if low_high == (-math.inf, math.inf):  # as OpenSim writes that there is none
        low_high = None
    function = function_in(element.find("prescribed_function"), element) if boolean(element, "prescribed") else None
    return Coordinate(name, low_high, boolean(element, "locked"), boolean(element, "clamped"), function)


def _custom(element: Any, names: tuple[str, ...]) -> Joint:
    axes = element.findall("SpatialTransform/TransformAxis")
    parts: dict[str, list[Axis]] = {"rotation": [], "translation": []}
    for motion, found in parts.items():
        for i in (1, 2, 3):
            axis = next((a for a in axes if a.get("name") == f"{motion}{i}"), None)
            if axis is not None:
                found.append(_axis(axis, names))
    rotations, translations = (tuple(filter(_moving, found)) for found in parts.values())
    return CustomJoint(names, rotations, translations)


def _moving(axis: Axis) -> bool:
    """False for an axis along which nothing ever happens."""
    return axis.coordinate is not None or axis.function != Constant(0.0)


def _axis(element: Any, names: tuple[str, ...]) -> Axis:
    direction = triple(element, "axis")
    used = [last_name(word) for word in text(element, "coordinates", "").split()]
    if len(used) > 1:
        complain(element, f"an axis that depends on more than one coordinate is not supported: {', '.join(used)}")
    if used and used[0] not in names:
        complain(element, f"the axis depends on {used[0]!r}, which is no coordinate of the joint ({', '.join(names)})")
    holder = element.find("function") if element.find("function") is not None else element
    found = [child for child in holder if isinstance(child.tag, str) and child.tag not in ("coordinates", "axis")]
    unknown = [child for child in found if child.tag not in FUNCTIONS]
    if unknown:
        complain(unknown[0], f"the function <{unknown[0].tag}> is not supported; known: {', '.join(FUNCTIONS)}")
    follows = used and holder is not element  # without even an empty <function>, OpenSim keeps the axis where it is
    function = read_function(found[0]) if found else Linear() if follows else Constant(0.0)
    if not used and not _is_constant(function):
        complain(
            element,
            f"an axis without <coordinates> needs a <Constant>: <{found[0].tag}> has no argument; OpenSim takes the "
            "slope of a line for its value, or reads memory that is not the function's",
        )
    return Axis(direction, names.index(used[0]) if used else None, function)


def _is_constant(function: AxisFunction) -> bool:
    while isinstance(function, Multiplier):
        function = function.function
    return isinstance(function, Constant)
