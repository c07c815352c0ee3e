"""Links of a URDF: inertias and shapes."""

from typing import Any, NamedTuple

import numpy as np

from myoquat.data.urdf import xml
from myoquat.data.xml import Element
from myoquat.joints.multibody.body import Shape
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.joints.vectors import congruent

__all__ = ["Inertial", "materials", "pose", "read_inertial", "read_shapes"]

Pose = tuple[tuple[float, ...], tuple[float, ...]]
ZERO = (0.0, 0.0, 0.0)
_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "height")}


class Inertial(NamedTuple):
    """Mass, centre of mass and inertia about it, in the link's axes."""

    mass: float
    center: tuple[float, ...]
    inertia: tuple[float, ...]


def pose(element: Element) -> Pose:
    """(position, unit quaternion) of the <origin> in an element; rpy turns about the fixed axes x, y, z in turn."""
    origin = xml.child(element, "origin")
    roll, pitch, yaw = xml.numbers(origin, "rpy", 3, ZERO)
    Q = quaternion_from_euler(np.array([yaw, pitch, roll]), "ZYX")
    return xml.numbers(origin, "xyz", 3, ZERO), tuple(map(float, Q))


def read_inertial(link: Element) -> Inertial:
    """The <inertial> of a link; without one, a body without mass."""
    element = xml.child(link, "inertial")
    if element is None:
        return Inertial(0.0, ZERO, (0.0,) * 6)
    center, Q = pose(element)
    mass, inertia = xml.child(element, "mass"), xml.child(element, "inertia")
    if mass is None or inertia is None:
        xml.complain(element, "<inertial> needs <mass> and <inertia>")
    value = xml.number(mass, "value")
    if value < 0:
        xml.complain(mass, f"mass must not be negative, not {value:g}")
    moments = [xml.number(inertia, key, 0.0 if key in ("ixy", "ixz", "iyz") else None) for key in _MOMENTS]
    turned = congruent(np.asarray(rotation_matrix(np.array(Q))), np.array(moments))
    return Inertial(value, center, tuple(map(float, turned)))


def materials(robot: Element) -> dict[str, Any]:
    """Colours (or None) of the materials declared at the top."""
    return {xml.name_of(element): _color(element) for element in xml.children(robot, "material")}


def _color(material: Element) -> Any:
    color = xml.child(material, "color")
    return None if color is None else xml.numbers(color, "rgba", 4)


def read_shapes(link: Element, known: dict[str, Any]) -> tuple[Shape, ...]:
    """Visual and collision shapes of a link, in the file's order."""
    return tuple(_shape(element, known) for element in link.iterchildren("visual", "collision"))


def _shape(element: Element, known: dict[str, Any]) -> Shape:
    geometry = xml.child(element, "geometry")
    if geometry is None:
        xml.complain(element, f"<{element.tag}> needs <geometry>")
    found = [e for e in geometry if isinstance(e.tag, str)]
    if len(found) != 1:
        xml.complain(geometry, f"<geometry> must hold one shape, not {len(found)}")
    shape, sizes, file = _geometry(found[0])
    position, orientation = pose(element)
    material = xml.child(element, "material")
    name = "" if material is None else material.get("name", "")
    color = known.get(name) if material is None or _color(material) is None else _color(material)
    return Shape(
        shape,
        sizes,
        position,  # type: ignore[arg-type]
        orientation,  # type: ignore[arg-type]
        purpose=element.tag,
        file=file,
        name=element.get("name", ""),
        color=color,
        material=name,
    )


def _geometry(element: Element) -> tuple[str, tuple[float, ...], str]:
    """Type, sizes and file of a shape."""
    if element.tag == "box":
        return "box", _positive(element, xml.numbers(element, "size", 3)), ""
    if element.tag == "mesh":
        return "mesh", xml.numbers(element, "scale", 3, (1.0, 1.0, 1.0)), xml.text_of(element, "filename")
    if element.tag not in _SIZES:
        xml.complain(element, f"unknown geometry <{element.tag}>; known: box, mesh, {', '.join(_SIZES)}")
    sizes = tuple(xml.number(element, key) for key in _SIZES[element.tag])
    return element.tag, _positive(element, sizes), ""


def _positive(element: Element, sizes: tuple[float, ...]) -> tuple[float, ...]:
    if min(sizes) < 0:
        xml.complain(element, f"the sizes of a <{element.tag}> must not be negative, not {sizes}")
    return sizes
