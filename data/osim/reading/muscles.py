"""Muscles and other forces along paths: their points and their laws."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.data.osim.frames import Frames
from myoquat.data.osim.functions import add_function, function_in, read_polynomial
from myoquat.data.osim.laws import read_activation, read_activation_dynamics, read_law
from myoquat.data.osim.reading.forces import Contacts
from myoquat.data.osim.reading.wraps import TAG as OBSTACLES
from myoquat.data.osim.reading.wraps import Surfaces, is_resolved, read_obstacles
from myoquat.data.osim.tree import DEFAULT_RANGE
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import Element, add, complain, last_name, number, numbers, objects, span, text
from myoquat.joints.functions import AxisFunction, MultivariatePolynomial
from myoquat.muscle.fitted import LengthPoint, function_path
from myoquat.muscle.path import Muscle, MuscleGroup, PathWrap
from myoquat.muscle.points import ConditionalPoint, MovingPoint, PathPoint
from myoquat.muscle.wrapping import Wrap

__all__ = ["add_functional", "has_path", "read_functional", "read_groups", "read_muscle"]


# ---- <FunctionBasedPath>: a path whose length is a polynomial of coordinates --------------------------------------


FUNCTIONAL = "FunctionBasedPath"
LENGTH, ARMS, SPEED = "length_function", "moment_arm_functions", "lengthening_speed_function"
SAMPLES = 16  # random coordinates at which derivatives of a file are compared with those of its length
DERIVATIVE_TOLERANCE = 1e-9  # relative to 1 + |derivative|


def read_functional(path: Any, unsupported: UnsupportedElements) -> tuple[PathPoint, ...]:
    """The points of a path. Moment arms and speeds of the file that are not the derivatives of its length are noted:
    here both are its derivatives."""
    names = tuple(map(last_name, text(path, "coordinate_paths").split()))
    holder = _holder(path, LENGTH)
    if holder is None:
        complain(path, f"<{FUNCTIONAL}> needs a <{LENGTH}>")
    length = read_polynomial(holder, len(names))
    if length is None:
        complain(holder, f"a length by <{holder.tag}> of {len(names)} coordinates is not supported")
    x, u = np.random.default_rng(0).uniform(-1.0, 1.0, (2, SAMPLES, len(names)))
    steps = x[:, None, :] + 1e-30j * np.eye(len(names))
    slopes = length.value(steps).imag / 1e-30
    arms, speed = path.find(ARMS), _holder(path, SPEED)
    given = [] if arms is None else [child for child in arms if isinstance(child.tag, str)]
    for k, arm in enumerate(given[: len(names)]):
        if not _agrees(read_polynomial(arm, len(names)), x, -slopes[:, k]):
            unsupported.count(arm, ARMS)
    if speed is not None and not _agrees(
        read_polynomial(speed, 2 * len(names)), np.concatenate([x, u], axis=-1), np.sum(slopes * u, axis=-1)
    ):
        unsupported.count(speed, SPEED)
    return function_path(names, length)


def _holder(path: Any, name: str) -> Any:
    """The function that a child called `name` holds, or that bears the name itself; None if there is none."""
    holder = path.find(name)
    inside = [] if holder is None else [child for child in holder if isinstance(child.tag, str)]
    named = [child for child in path if isinstance(child.tag, str) and child.get("name") == name]
    return next(iter([*inside, *named]), None)


def _agrees(function: MultivariatePolynomial | None, x: Any, wanted: Any) -> bool:
    """Whether a function has the wanted values (n,) at x (n, dimension)."""
    if function is None:
        return False
    return bool(np.all(np.abs(function.value(x) - wanted) <= DERIVATIVE_TOLERANCE * (1.0 + np.abs(wanted))))


def add_functional(parent: Element, point: LengthPoint, coordinate_paths: list[str]) -> None:
    """The <FunctionBasedPath> of a path that ends in `point`; coordinate_paths: those in the model's tree."""
    path = add(parent, FUNCTIONAL, name="path")
    add(path, "coordinate_paths", " ".join(coordinate_paths))
    add_function(add(path, LENGTH), point.length, f"path of {parent.get('name')!r}")


GEOMETRY = "GeometryPath"
PATHS = (GEOMETRY, FUNCTIONAL, OBSTACLES)
UNREAD = {  # bounds of the control of a muscle: the value that says nothing, and the sign of the direction that binds
    "min_control": (0.01, 1.0),
    "max_control": (1.0, -1.0),
}


def has_path(element: Any) -> bool:
    """Whether a force has a path of a known type."""
    return _path_in(element) is not None


def read_muscle(
    element: Any, frames: Frames, surfaces: Surfaces, contacts: Contacts, unsupported: UnsupportedElements
) -> Muscle:
    """A force along a path of a known type as a muscle."""
    law, dynamics = read_law(element, unsupported), read_activation_dynamics(element)
    path = _path_in(element)
    if path is None:
        complain(element, f"<{element.tag}> needs a <{GEOMETRY}>")
    wraps: tuple[Wrap, ...] = ()
    path_wraps: tuple[PathWrap, ...] = ()
    if path.tag == FUNCTIONAL:
        points = read_functional(path, unsupported)
    elif path.tag == OBSTACLES:
        points, wraps = read_obstacles(path, frames, contacts, unsupported)
    else:
        points = tuple(_point(point, frames) for point in objects(path, "PathPointSet"))
        wraps, path_wraps = surfaces.along(path, len(points), unsupported)
    name = str(element.get("name"))
    for tag, (idle, sign) in UNREAD.items():
        limit = element.find(tag)
        if limit is not None and sign * (number(element, tag) - idle) > 0:
            unsupported.count(element, f"{tag}: its activation goes from its least to 1")
    return Muscle(name, points, law, read_activation(element), dynamics, wraps, path_wraps=path_wraps)


def has_resolved_wraps(element: Any) -> bool:
    """Whether the file of a force states on which pieces of its path surfaces act, see `reading.wraps.is_resolved`."""
    path = _path_in(element)
    return path is not None and path.tag not in (FUNCTIONAL, OBSTACLES) and is_resolved(path)


def read_groups(
    model: Any, known: Sequence[str], unsupported: UnsupportedElements, implausible: ImplausibleValues
) -> tuple[MuscleGroup, ...]:
    """The groups of a model's <ForceSet>. Members that are not among the muscles `known` are noted and left out."""
    groups = []
    for element in model.iterfind("ForceSet/groups/ObjectGroup"):
        name, named = str(element.get("name")), text(element, "members", "").split()
        members = tuple(dict.fromkeys(named))
        if len(members) < len(named):
            implausible.count("members that a group lists twice, taken once", name)
        others = [member for member in members if member not in known]
        if others:
            unsupported.count(element, f"members of {name} that are no muscles of the model: {', '.join(others)}")
        groups.append(MuscleGroup(name, tuple(member for member in members if member in known)))
    return tuple(groups)


def _path_in(element: Any) -> Any:
    """The path of a force, which stands in it or in its <path>; None if there is none."""
    found = [element.find(f"{holder}{tag}") for tag in PATHS for holder in ("", "path/")]
    return next((path for path in found if path is not None), None)


def _point(element: Any, frames: Frames) -> PathPoint:
    frame = frames.of(element, "socket_parent_frame")
    if element.tag == "MovingPathPoint":
        if not frame.is_body:
            complain(element, "a moving point of an offset frame is not supported: give it in the body's frame")
        names, functions, ranges = zip(*(_axis(element, axis) for axis in "xyz"), strict=True)
        return MovingPoint(frame.body, (0.0, 0.0, 0.0), names, functions, ranges)
    position = frame.point(numbers(element, "location", 3, (0.0, 0.0, 0.0)))
    if element.tag == "ConditionalPathPoint":
        coordinate = last_name(text(element, "socket_coordinate"))
        return ConditionalPoint(frame.body, position, coordinate, span(element, "range", (0.0, 0.0)))
    if element.tag != "PathPoint":
        complain(element, f"the point <{element.tag}> is not supported")
    return PathPoint(frame.body, position)


def _axis(element: Any, axis: str) -> tuple[str, AxisFunction, tuple[float, float]]:
    """Coordinate, function and the coordinate's range, in which OpenSim keeps what the function sees."""
    function = function_in(element.find(f"{axis}_location"), element)
    name = last_name(text(element, f"socket_{axis}_coordinate", ""))
    found = (c for c in element.getroottree().iter("Coordinate") if c.get("name") == name)
    coordinate = next(found, None)
    return name, function, DEFAULT_RANGE if coordinate is None else span(coordinate, "range", DEFAULT_RANGE)
