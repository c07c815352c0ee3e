"""Forces of a file on single coordinates: springs of joints, and limits."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from myoquat.core.records import dataclass
from myoquat.data.document import last_name, number, text
from myoquat.data.xml import complain
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import CustomJoint, PrismaticJoint, RevoluteJoint, UniversalJoint
from myoquat.muscle.limits import CoordinateLimit

__all__ = ["LIMITED", "read_limit", "unit_of", "with_springs"]

LIMITED = {  # ours: the file's, its default, and whether it grows or shrinks with the unit of the coordinate
    "lower": ("lower_limit", 0.0, 1),
    "upper": ("upper_limit", 0.0, 1),
    "lower_stiffness": ("lower_stiffness", 1.0, -1),
    "upper_stiffness": ("upper_stiffness", 1.0, -1),
    "transition": ("transition", 0.1, 1),
    "damping": ("damping", 0.001, -1),
}
OWN = (RevoluteJoint, PrismaticJoint, UniversalJoint, CustomJoint)  # whose springs act on the coordinates


def unit_of(bodies: Sequence[Body], coordinate: str) -> float | None:
    """What the unit of a coordinate in a limit's element, a degree for angles, is here; None without such a coordinate.

    OpenSim takes the unit from the axes of a custom joint, whatever the joint says here.
    """
    for body in bodies:
        if coordinate in body.names_of_coordinates:
            joint = replace(body.joint, units=()) if isinstance(body.joint, CustomJoint) else body.joint
            k = body.names_of_coordinates.index(coordinate)
            return math.radians(1.0) if joint.facts.coordinate_units[k] == "rad" else 1.0
    return None


def read_limit(element: Any, bodies: Sequence[Body]) -> CoordinateLimit:
    """A <CoordinateLimitForce>; ModelError with its line for a coordinate that is missing."""
    coordinate = last_name(text(element, "coordinate"))
    unit = unit_of(bodies, coordinate)
    if unit is None:
        complain(element, f"<coordinate> names {coordinate!r}, which is no coordinate of the model")
    values = {ours: number(element, tag, default) * unit**power for ours, (tag, default, power) in LIMITED.items()}
    return CoordinateLimit(str(element.get("name")), coordinate, **values)


@dataclass(frozen=True)
class _Spring:
    element: Any
    stiffness: float
    rest: float
    damping: float


def with_springs(bodies: Sequence[Body], elements: Sequence[Any]) -> tuple[tuple[Body, ...], list[Any]]:
    """The bodies with <SpringGeneralizedForce> elements as springs and dampers of their joints, and the others.

    A joint of ours has one stiffness and one damping. Where a file gives its coordinates different ones, or some none,
    or more than one spring, the springs are forces of their own. ModelError for a coordinate that is missing.
    """
    found: dict[str, list[_Spring]] = {}
    known = {name for body in bodies for name in body.names_of_coordinates}
    for element in elements:
        coordinate = last_name(text(element, "coordinate"))
        if coordinate not in known:
            complain(element, f"<coordinate> names {coordinate!r}, which is no coordinate of the model")
        values = (number(element, tag, 0.0) for tag in ("stiffness", "rest_length", "viscosity"))
        found.setdefault(coordinate, []).append(_Spring(element, *values))
    others: list[Any] = []
    sprung = tuple(_sprung(body, found, others) if found else body for body in bodies)
    return sprung, others


def _sprung(body: Body, found: dict[str, list[_Spring]], others: list[Any]) -> Body:
    springs = [spring for name in body.names_of_coordinates for spring in found.get(name, ())]
    if not springs:
        return body
    single = all(len(found.get(name, ())) == 1 for name in body.names_of_coordinates)
    alike = {(spring.stiffness, spring.damping) for spring in springs}
    if not single or len(alike) > 1 or not isinstance(body.joint, OWN):
        others += [spring.element for spring in springs]
        return body
    ((stiffness, damping),) = alike
    rests = tuple(spring.rest for spring in springs)
    mount = rests if stiffness and any(rests) else None
    return replace(body, stiffness=stiffness, damping=damping, spring_mount=mount)
