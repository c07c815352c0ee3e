"""The tree: a body of ours for every joint of the file, and one more where a joint is not at its body's origin."""

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.osim.reading.constraints import weld
from myoquat.data.osim.tree import TAG, OsimJoint, Way, linked, read_joint, scapular_bodies
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import number, numbers, text, triple
from myoquat.joints.constraints import Weld
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body, Shape, check_inertia
from myoquat.joints.multibody.scaling import PART_INFIX
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.joints.types import FixedJoint
from myoquat.muscle.coordinates import Coordinate

__all__ = ["ALONG_Y", "Skeleton", "count_unknown_geometry", "ground_geometry", "is_massless", "read_skeleton"]


# --------------------------------------------------------------------------------------------------------------
#
# The geometry that bodies show: files of meshes, spheres, ellipsoids, cylinders and boxes, with poses and colors.


WHITE = (1.0,) * 4
ALONG_Y = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)  # turns the z axis of our cylinders to the y axis of OpenSim's
UNIT = (1.0, 0.0, 0.0, 0.0)
ONES, ZERO = (1.0,) * 3, (0.0,) * 3

Solid = Callable[[Any, Array], tuple[str, tuple[float, ...]]]  # element, scales (3,) -> type of shape, sizes


def ground_geometry(model: Any) -> tuple[Shape, ...]:
    """What the <Ground> shows."""
    ground = model.find("Ground")
    return () if ground is None else geometry_of(ground)


def geometry_of(body: Any) -> tuple[Shape, ...]:
    """The geometry of a body and of the frames in it, all as it is in the body's own frame."""
    found = []
    for holder in (body, *body.findall("components/PhysicalOffsetFrame")):
        Q: Any = UNIT
        p: Any = ZERO
        elements = _shown(holder)
        if holder is not body and elements:
            own = "/ground" if body.tag == "Ground" else f"/bodyset/{body.get('name')}"
            if text(holder, "socket_parent", "..") not in ("..", own):
                continue
            Q, p = _orientation(holder), triple(holder, "translation", p)
        found += [shape for element in elements if (shape := _shape(element, Q, p)) is not None]
    return tuple(found)


def count_unknown_geometry(model: Any, unsupported: UnsupportedElements) -> None:
    """Note the geometry of bodies that no shape holds: lines, arrows, cones, tori."""
    for element in model.xpath("(BodySet/objects//attached_geometry | Ground//attached_geometry)/*"):
        if element.tag != "Mesh" and element.tag not in SOLIDS:
            unsupported.count(element, "display geometry")


def _shown(holder: Any) -> list[Any]:
    return [e for e in holder.iterfind("attached_geometry/*") if e.tag == "Mesh" or e.tag in SOLIDS]


def _orientation(frame: Any) -> tuple[float, ...]:
    angles = np.array(numbers(frame, "orientation", 3, ZERO))
    return tuple(np.asarray(quaternion_from_euler(angles, "XYZ")).tolist())


def _shape(element: Any, Q: Any, p: Any) -> Shape | None:
    """A shape in a frame with orientation Q and origin p in its body; None for a mesh without a file."""
    scales = numbers(element, "scale_factors", 3, ONES)
    look: dict[str, Any] = {"name": element.get("name") or "", "color": _color(element)}
    if element.tag == "Mesh":
        file = (element.findtext("mesh_file") or "").strip()
        return Shape("mesh", scales, p, Q, file=file, **look) if file else None
    shape_type, sizes = SOLIDS[element.tag](element, np.array(scales))
    if shape_type == "cylinder":
        Q = tuple(np.asarray(quaternion_multiply(np.array(Q), np.array(ALONG_Y))).tolist())
    return Shape(shape_type, sizes, p, Q, **look)


def _sphere(element: Any, scales: Array) -> tuple[str, tuple[float, ...]]:
    radii = tuple((number(element, "radius", 1.0) * scales).tolist())
    return ("sphere", radii[:1]) if len(set(radii)) == 1 else ("ellipsoid", radii)


def _ellipsoid(element: Any, scales: Array) -> tuple[str, tuple[float, ...]]:
    return "ellipsoid", tuple((np.array(numbers(element, "radii", 3, (0.5, 1.0, 2.0))) * scales).tolist())


def _cylinder(element: Any, scales: Array) -> tuple[str, tuple[float, ...]]:
    x, y, z = scales.tolist()
    return "cylinder", (number(element, "radius", 0.5) * (x + z) / 2, 2 * number(element, "half_height", 0.5) * y)


def _brick(element: Any, scales: Array) -> tuple[str, tuple[float, ...]]:
    return "box", tuple((2 * np.array(numbers(element, "half_lengths", 3, (0.1, 0.2, 0.3))) * scales).tolist())


# By the tag of an element; sizes that it leaves out are those of OpenSim 4.5
SOLIDS: dict[str, Solid] = {"Sphere": _sphere, "Ellipsoid": _ellipsoid, "Cylinder": _cylinder, "Brick": _brick}


def _color(element: Any) -> tuple[float, float, float, float] | None:
    """The color and opacity of a geometry; None for OpenSim's own, opaque white."""
    look = element.find("Appearance")
    if look is None:
        return None
    red, green, blue = numbers(look, "color", 3, ONES)
    color = red, green, blue, number(look, "opacity", 1.0)
    return None if color == WHITE else color


@dataclass(frozen=True)
class Skeleton:
    """Bodies in the order of the file's joints, and what belongs to them.

    coordinates       in the same order
    start_q, start_u  where they start
    welds             those that close loops
    floating          the bodies that no joint of the file connects with the ground
    """

    bodies: tuple[Body, ...]
    coordinates: tuple[Coordinate, ...]
    start_q: tuple[float, ...]
    start_u: tuple[float, ...]
    welds: tuple[Weld, ...]
    floating: tuple[str, ...]


def read_skeleton(model: Any, frames: Frames) -> Skeleton:
    """Bodies and joints of a <Model>; ModelError for a frame that is missing, or a loop that cannot be cut.

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
    return Skeleton(
        tuple(bodies),
        tuple(c for joint in joints for c in joint.coordinates),
        tuple(x for joint in joints for x in joint.defaults),
        tuple(x for joint in joints for x in joint.speeds),
        tuple(welds),
        floating,
    )


def _mass(element: Any, parts: int) -> dict[str, Any]:
    """What a body weighs and shows, or one of its `parts`, which are equal."""
    inertia = numbers(element, "inertia", 6, (0.0,) * 6)
    mass: dict[str, Any] = {
        "mass": number(element, "mass", 0.0) / parts,
        "center_of_mass": numbers(element, "mass_center", 3, (0.0,) * 3),
        "inertia": (0.0,) * 6 if is_massless(element) else tuple(x / parts for x in inertia),
        "shapes": geometry_of(element),
    }
    return mass | {"lenient_inertia": not _possible(Body("", "", FixedJoint(), **mass))}


def _bodies(joint_element: Any, joint: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """The body on its joint. Where the joint's child frame is not the body's own, the joint carries that frame, and the
    body is fixed to it. A joint of several parts has a body for each."""
    place: dict[str, Any] = {"position": parent.position, "orientation": parent.orientation}
    if joint_element.tag == TAG:
        return scapular_bodies(joint_element, joint, parent, child, mass)
    name, names = joint_element.get("name"), tuple(c.name for c in joint.coordinates) or None
    if child.is_body:
        return [Body(child.body, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place, **mass)]
    frame = f"{name}_frame"
    back = child.inverse
    return [
        Body(frame, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place),
        Body(child.body, frame, FixedJoint(), back.position, back.orientation, **mass),
    ]


def is_massless(element: Any) -> bool:
    """Whether a <Body> has no mass: OpenSim passes over its inertia then."""
    return number(element, "mass", 0.0) <= sys.float_info.epsilon


def _possible(body: Body) -> bool:
    """Whether a rigid body can have this inertia; OpenSim takes any."""
    try:
        check_inertia(body)
    except ModelError:
        return False
    return True
