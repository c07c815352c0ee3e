"""The geometry that bodies show, as OpenSim's: each shape that is turned or shifted in a frame of its own."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from myoquat.data.elements import add
from myoquat.data.osim.reading.geometry import ALONG_Y
from myoquat.data.osim.writing.joints import add_offset
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.multibody.body import Shape
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_multiply

__all__ = ["add_geometry"]

ROUND_OFF = 1e-12  # of a pose: shapes so near stand in the body's own frame

Fields = Callable[[tuple[float, ...]], dict[str, Any]]
# By type of shape: the tag of OpenSim, and its fields from the sizes
SOLIDS: dict[str, tuple[str, Fields]] = {
    "mesh": ("Mesh", lambda sizes: {"scale_factors": sizes}),
    "sphere": ("Sphere", lambda sizes: {"radius": sizes[0]}),
    "ellipsoid": ("Ellipsoid", lambda sizes: {"radii": sizes}),
    "cylinder": ("Cylinder", lambda sizes: {"radius": sizes[0], "half_height": sizes[1] / 2}),
    "box": ("Brick", lambda sizes: {"half_lengths": tuple(x / 2 for x in sizes)}),
}


def add_geometry(element: Element, name: str, shapes: Iterable[Shape], unwritten: UnwrittenParts) -> None:
    """What a body or the ground shows; capsules and the shapes of contacts are left out, and noted."""
    written = []
    for shape in shapes:
        if shape.kind in SOLIDS and shape.purpose == "visual":
            written.append(shape)
        else:
            unwritten.count("shapes of bodies", f"{name}: {shape.kind}")
    own, placed = None, None
    for i, shape in enumerate(written, start=1):
        own_name, orientation = shape.name or f"{name}_geometry_{i}", _orientation(shape)
        if np.allclose([*shape.position, *orientation], [0, 0, 0, 1, 0, 0, 0], rtol=0, atol=ROUND_OFF):
            own = add(element, "attached_geometry") if own is None else own
            _add_shape(own, own_name, shape)
        else:
            placed = add(element, "components") if placed is None else placed
            frame = add_offset(placed, f"{own_name}_frame", name, shape.position, orientation)
            _add_shape(add(frame, "attached_geometry"), own_name, shape)


def _orientation(shape: Shape) -> Any:
    """The unit quaternion of OpenSim's frame: its cylinders lie along y."""
    if shape.kind != "cylinder":
        return shape.orientation
    turned = quaternion_multiply(np.array(shape.orientation), quaternion_conjugate(np.array(ALONG_Y)))
    return tuple(np.asarray(turned).tolist())


def _add_shape(holder: Element, name: str, shape: Shape) -> None:
    tag, fields = SOLIDS[shape.kind]
    element = add(holder, tag, name=name)
    values = fields(shape.sizes)
    if "scale_factors" in values:
        add(element, "scale_factors", values.pop("scale_factors"))
    if shape.color is not None:
        look = add(element, "Appearance")
        add(look, "opacity", shape.color[3])
        add(look, "color", shape.color[:3])
    for key, value in values.items():
        add(element, key, value)
    if shape.kind == "mesh":
        add(element, "mesh_file", shape.file)
