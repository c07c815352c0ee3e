"""The geometry that bodies show: files of meshes, spheres, ellipsoids, cylinders and boxes, with poses and colors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.document import number, numbers, text, triple
from myoquat.data.reports import UnsupportedElements
from myoquat.joints.multibody.body import Shape
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.joints.sequences import quaternion_from_euler

__all__ = ["ALONG_Y", "count_unknown_geometry", "geometry_of", "ground_geometry"]

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
