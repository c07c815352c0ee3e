"""The surfaces of OpenSim's wrap objects and obstacles, read and written by tables."""

from typing import Any

from myoquat.data.document import numbers
from myoquat.data.elements import add
from myoquat.data.xml import Element
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus

__all__ = ["OBSTACLES", "SURFACES", "add_sizes", "is_known", "obstacle_tag", "read_sizes"]

Table = dict[str, tuple[type[Wrap], dict[str, tuple[str, int]]]]  # tag: class, {ours: (the file's, count)}
SURFACES: Table = {
    "WrapSphere": (WrapSphere, {"radius": ("radius", 1)}),
    "WrapCylinder": (WrapCylinder, {"radius": ("radius", 1), "length": ("length", 1)}),
    "WrapEllipsoid": (WrapEllipsoid, {"radii": ("dimensions", 3)}),
    "WrapTorus": (WrapTorus, {"ring_radius": ("outer_radius", 1), "tube_radius": ("inner_radius", 1)}),
}
OBSTACLES: Table = {  # contact geometry that a Scholz2015GeometryPath may go around
    "ContactSphere": (WrapSphere, {"radius": ("radius", 1)}),
    "ContactCylinder": (WrapCylinder, {"radius": ("radius", 1)}),
    "ContactEllipsoid": (WrapEllipsoid, {"radii": ("radii", 3)}),
    "ContactTorus": (WrapTorus, {"ring_radius": ("torus_radius", 1), "tube_radius": ("tube_radius", 1)}),
}
TAGS = {wrap: tag for tag, (wrap, _) in SURFACES.items()}


def is_known(wrap: Wrap) -> bool:
    """Whether OpenSim has this type of surface."""
    return type(wrap) in TAGS


def obstacle_tag(wrap: Wrap) -> str:
    """The contact geometry of this type of surface."""
    return next(tag for tag, (surface, _) in OBSTACLES.items() if surface is type(wrap))


def read_sizes(element: Element) -> dict[str, Any]:
    """The sizes of a wrap object or an obstacle, as arguments of its class in the table."""
    _, sizes = (SURFACES | OBSTACLES)[element.tag]
    found = {ours: numbers(element, theirs, count) for ours, (theirs, count) in sizes.items()}
    return {ours: values if len(values) > 1 else values[0] for ours, values in found.items()}


def add_sizes(element: Element, wrap: Wrap) -> None:
    """The sizes of a surface as children of its element."""
    _, sizes = (SURFACES | OBSTACLES)[element.tag]
    for ours, (theirs, _) in sizes.items():
        add(element, theirs, getattr(wrap, ours))
