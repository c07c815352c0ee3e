"""Muscles and other forces along paths: their points and their laws."""

from typing import Any

from myoquat.data.document import last_name, numbers, objects, pair, text
from myoquat.data.leftovers import Census
from myoquat.data.osim.frames import Frames
from myoquat.data.osim.functional import TAG as FUNCTIONAL
from myoquat.data.osim.functional import path_in, read_functional
from myoquat.data.osim.functions import function_in
from myoquat.data.osim.joints import UNBOUND
from myoquat.data.osim.laws import read_activation, read_activation_dynamics, read_law
from myoquat.data.osim.wraps import Surfaces
from myoquat.data.xml import complain
from myoquat.joints.functions import AxisFunction
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import ConditionalPoint, MovingPoint, PathPoint

__all__ = ["read_muscle"]


def read_muscle(element: Any, frames: Frames, surfaces: Surfaces, census: Census) -> Muscle:
    """A force along a <GeometryPath> or a <FunctionBasedPath> as a muscle."""
    law, dynamics = read_law(element, census), read_activation_dynamics(element)
    functional = path_in(element, FUNCTIONAL)
    if functional is not None:
        points = read_functional(functional, census)
        return Muscle(str(element.get("name")), points, law, read_activation(element), dynamics)
    path = path_in(element, "GeometryPath")
    if path is None:
        complain(element, f"<{element.tag}> needs a <GeometryPath>")
    points = tuple(_point(point, frames) for point in objects(path, "PathPointSet"))
    wraps = surfaces.along(path, len(points), census)
    return Muscle(str(element.get("name")), points, law, read_activation(element), dynamics, wraps)


def _point(element: Any, frames: Frames) -> PathPoint:
    frame = frames.of(element, "socket_parent_frame")
    if element.tag == "MovingPathPoint":
        if not frame.is_body:
            complain(element, "a moving point of an offset frame is not supported: give it in the body's frame")
        names, functions, ranges = zip(*(_axis(element, axis) for axis in "xyz"), strict=True)
        return MovingPoint(frame.body, (0.0, 0.0, 0.0), names, functions, ranges)
    position = frame.point(numbers(element, "location", 3))
    if element.tag == "ConditionalPathPoint":
        coordinate = last_name(text(element, "socket_coordinate"))
        return ConditionalPoint(frame.body, position, coordinate, pair(element, "range"))
    if element.tag != "PathPoint":
        complain(element, f"the point <{element.tag}> is not supported")
    return PathPoint(frame.body, position)


def _axis(element: Any, axis: str) -> tuple[str, AxisFunction, tuple[float, float]]:
    """Coordinate, function and the coordinate's range, in which OpenSim keeps what the function sees."""
    function = function_in(element.find(f"{axis}_location"), element)
    name = last_name(text(element, f"socket_{axis}_coordinate", ""))
    found = (c for c in element.getroottree().iter("Coordinate") if c.get("name") == name)
    coordinate = next(found, None)
    return name, function, UNBOUND if coordinate is None else pair(coordinate, "range", UNBOUND)
