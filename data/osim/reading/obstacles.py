"""<Scholz2015GeometryPath>: points, and between them obstacles in the order in which the path meets them."""

from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.data.document import triple
from myoquat.data.osim.frames import Frames
from myoquat.data.osim.reading.contact import ZERO, Contacts
from myoquat.data.osim.reading.surfaces import OBSTACLES, read_sizes
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import complain
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import Wrap, WrapTorus

__all__ = ["OBSTACLE", "POINT", "TAG", "read_obstacles"]

TAG = "Scholz2015GeometryPath"
POINT, OBSTACLE = "Scholz2015GeometryPathPoint", "Scholz2015GeometryPathObstacle"


def read_obstacles(
    path: Any, frames: Frames, contacts: Contacts, unsupported: UnsupportedElements
) -> tuple[tuple[PathPoint, ...], tuple[Wrap, ...]]:
    """Points and obstacles of a path, each obstacle on the piece between the points beside it; what is not supported is
    noted. ModelError for a path that does not begin and end with a point."""
    holder = path.find("path_elements")
    found = [] if holder is None else [element for element in holder if isinstance(element.tag, str)]
    if len(found) < 2 or {found[0].tag, found[-1].tag} != {POINT}:
        complain(path, f"the <path_elements> must begin and end with a <{POINT}>")
    points = tuple(_point(element, frames) for element in found if element.tag == POINT)
    wraps, number = [], 0
    for element in found:
        if element.tag not in (POINT, OBSTACLE):
            complain(element, f"<{element.tag}> is no known element of a path")
        if element.tag == POINT:
            number += 1
            continue
        wrap = _wrap(element, contacts, unsupported)
        piece = None if len(points) == 2 else (number - 1, number)
        wraps += [] if wrap is None else [replace(wrap, points=piece)]
    return points, tuple(wraps)


def _point(element: Any, frames: Frames) -> PathPoint:
    point = element.find("PathPoint")
    if point is None:
        complain(element, f"<{POINT}> needs a <PathPoint>")
    frame = frames.of(point, "socket_parent_frame")
    return PathPoint(frame.body, frame.point(triple(point, "location", ZERO)))


def _wrap(element: Any, contacts: Contacts, unsupported: UnsupportedElements) -> Wrap | None:
    """An obstacle as a surface on the whole path, None for one that is not supported."""
    geometry, frame = contacts.placed(element, "socket_contact_geometry")
    if geometry.tag not in OBSTACLES:
        unsupported.count(element, f"a path around a {geometry.tag}")
        return None
    surface, _ = OBSTACLES[geometry.tag]
    wrap = surface(
        body=frame.body,
        position=frame.position,
        orientation=frame.orientation,
        name=str(geometry.get("name")),
        **read_sizes(geometry),
    )
    hint = triple(element, "contact_hint", ZERO)
    if isinstance(wrap, WrapTorus) and np.hypot(hint[0], hint[1]) > wrap.ring_radius:
        unsupported.count(element, "a path past the outside of a torus")
        return None
    if not wrap.tells_side(hint):
        unsupported.count(element, "a hint in the middle of the obstacle; read as the shorter way round")
        return wrap
    return replace(wrap, hint=hint)
