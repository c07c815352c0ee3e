"""Visual and collision shapes of bodies, kept as data."""

from dataclasses import dataclass

from myoquat.kernels.records import Record

__all__ = ["SHAPES", "Shape"]

SHAPES = {
    "box": ("size_x", "size_y", "size_z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "height"),  # height between the centres of the two end spheres
    "mesh": ("scale_x", "scale_y", "scale_z"),
}


@dataclass(frozen=True)
class Shape(Record):
    """A shape on a body: `kind` of SHAPES with its `sizes` [m] (a mesh: scales, and the file's name).

    position [m], orientation (unit quaternion): the shape's frame in the body's frame; cylinders and capsules lie
    along z. `purpose` is "visual" or "collision". Files are named, never opened.
    """

    kind: str
    sizes: tuple[float, ...]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    purpose: str = "visual"
    file: str = ""
    name: str = ""
    color: tuple[float, float, float, float] | None = None
    material: str = ""
