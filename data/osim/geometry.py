"""The geometry that bodies show: files of meshes, spheres, ellipsoids, cylinders and boxes, with poses and colors."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, number, numbers, text, triple
from myoquat.joints import (
    Shape,
    quaternion_conjugate,
    quaternion_from_euler,
    quaternion_multiply,
    rotation_matrix_from_euler,
)

from .elements import ZERO, Frame, add_offset

ALONG_Y = np.array([math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0])  # turns the z axis of our cylinders to OpenSim's y axis
ONES = (1.0,) * 3
OLDER_GEOMETRY = "older_geometry"  # of a body: the <VisibleObject> of a document before OpenSim 4
ROUND_OFF = 1e-12  # of a pose: shapes so near stand in the body's own frame


class Solid(NamedTuple):
    """A type of geometry: our shape, the children that hold its sizes with the values of OpenSim 4.5 where they are
    missing, and how often our sizes hold these."""

    shape: str
    children: dict[str, tuple[float, ...]]
    factors: tuple[float, ...]


SOLIDS = {
    "Mesh": Solid("mesh", {}, (1.0,)),  # whose scales are its sizes
    "Sphere": Solid("sphere", {"radius": (1.0,)}, (1.0,)),
    "Ellipsoid": Solid("ellipsoid", {"radii": (0.5, 1.0, 2.0)}, ONES),
    "Cylinder": Solid("cylinder", {"radius": (0.5,), "half_height": (0.5,)}, (1.0, 2.0)),
    "Brick": Solid("box", {"half_lengths": (0.1, 0.2, 0.3)}, (2.0, 2.0, 2.0)),
}
TAGS = {solid.shape: tag for tag, solid in SOLIDS.items()}


def geometry_of(body: Any) -> tuple[Shape, ...]:
    """The geometry of a body, or of a <Ground>, and of the frames in it, all as it is in the body's own frame."""
    if body is None:
        return ()
    shapes = []
    for holder in (body, *body.findall("components/PhysicalOffsetFrame")):
        Q, p = np.array([1.0, 0.0, 0.0, 0.0]), ZERO
        elements = [e for e in holder.iterfind("attached_geometry/*") if e.tag in SOLIDS]
        if holder is not body and elements:
            path = "/ground" if body.tag == "Ground" else f"/bodyset/{body.get('name')}"
            if text(holder, "socket_parent", "..") not in ("..", path):
                continue
            Q = quaternion_from_euler(numbers(holder, "orientation", 3, ZERO), "XYZ")
            p = triple(holder, "translation", p)
        for element in elements:
            shape, children, factors = SOLIDS[element.tag]
            file = text(element, "mesh_file", "") if shape == "mesh" else ""
            if shape == "mesh" and not file:
                continue
            turned: Any = Q
            scales = np.array(numbers(element, "scale_factors", 3, ONES))
            if shape == "cylinder":
                turned, scales = quaternion_multiply(Q, ALONG_Y), np.array([(scales[0] + scales[2]) / 2, scales[1]])
            given_sizes = [x for tag, default in children.items() for x in numbers(element, tag, len(default), default)]
            sizes: Any = scales * (given_sizes or [1.0]) * factors
            if shape == "sphere":
                shape, sizes = ("ellipsoid", sizes) if len(set(sizes)) > 1 else (shape, sizes[:1])
            name, color = element.get("name") or "", _color(element.find("Appearance"))
            shapes.append(Shape(shape, sizes, p, turned, file=file, name=name, color=color))
    return (*shapes, *_older_geometry(body))


def _older_geometry(body: Element) -> list[Shape]:
    """The meshes of a <VisibleObject>, as documents before OpenSim 4 have them. Scales and poses of the object act on
    all that it shows."""
    visible = body.find(f"{OLDER_GEOMETRY}/VisibleObject")
    if visible is None:
        return []
    shown: list[tuple[str, Element | None]] = [
        (text(geometry, "geometry_file", ""), geometry)
        for geometry in visible.iterfind("GeometrySet/objects/DisplayGeometry")
    ]
    shown += [(file, None) for file in text(visible, "geometry_files", "").split()]  # of OpenSim 1 and 2
    shapes, (scales, R, p) = list[Shape](), _shown(visible)
    for k, (file, geometry) in enumerate([pair for pair in shown if pair[0]], start=1):
        own, turn, shift = _shown(geometry)
        placed, sizes = Frame("", R @ turn, p + R @ shift), scales * own
        name = f"{body.get('name')}_geom_{k}"
        shapes.append(Shape("mesh", sizes, placed.p, placed.orientation, file=file, name=name, color=_color(geometry)))
    return shapes


def _shown(element: Element | None) -> tuple[Any, Any, Any]:
    """Scales (3,), rotation (3, 3) and position (3,) [m] that an element of older geometry gives."""
    if element is None:
        return np.ones(3), np.eye(3), np.zeros(3)
    *angles, x, y, z = numbers(element, "transform", 6, (0.0,) * 6)
    scales = np.array(numbers(element, "scale_factors", 3, ONES))
    return scales, rotation_matrix_from_euler(angles, "XYZ"), np.array([x, y, z])


def _color(look: Element | None) -> tuple[float, float, float, float] | None:
    """The color and opacity that an element gives; None for OpenSim's own, opaque white, as where they are blank."""
    color = triple(look, "color") if look is not None and text(look, "color", "") else ONES
    opacity = number(look, "opacity") if look is not None and text(look, "opacity", "") else 1.0
    return None if (color, opacity) == (ONES, 1.0) else (*color, opacity)


def add_geometry(element: Element, name: str, shapes: Iterable[Shape], unwritten: UnwrittenParts) -> None:
    """What a body or the ground shows, each shape that is turned or shifted in a frame of its own; capsules and the
    shapes of contacts are left out, and noted."""
    written = []
    for shape in shapes:
        if shape.kind in TAGS and shape.purpose == "visual":
            written.append(shape)
        else:
            unwritten.count("shapes of bodies", f"{name}: {shape.kind}")
    own, placed = None, None
    for i, shape in enumerate(written, start=1):
        shape_name, Q = shape.name or f"{name}_geometry_{i}", np.array(shape.orientation)
        if shape.kind == "cylinder":
            Q = quaternion_multiply(Q, quaternion_conjugate(ALONG_Y))
        if np.allclose([*shape.position, *Q], [0, 0, 0, 1, 0, 0, 0], rtol=0, atol=ROUND_OFF):
            own = add(element, "attached_geometry") if own is None else own
            _add_shape(own, shape_name, shape)
        else:
            placed = add(element, "components") if placed is None else placed
            frame = add_offset(placed, f"{shape_name}_frame", name, shape.position, Q)
            _add_shape(add(frame, "attached_geometry"), shape_name, shape)


def _add_shape(holder: Element, name: str, shape: Shape) -> None:
    element = add(holder, TAGS[shape.kind], name=name)
    _, children, factors = SOLIDS[element.tag]
    if shape.kind == "mesh":  # what every geometry has comes first
        add(element, "scale_factors", shape.sizes)
    if shape.color is not None:
        look = add(element, "Appearance")
        add(look, "opacity", shape.color[3])
        add(look, "color", shape.color[:3])
    if shape.kind == "mesh":
        add(element, "mesh_file", shape.file)
        return
    own = (x / factor for x, factor in zip(shape.sizes, factors, strict=True))
    for tag, default in children.items():
        add(element, tag, tuple(islice(own, len(default))))
