"""Our joints as OpenSim's: a type of its own where OpenSim has one with the same axes, a CustomJoint otherwise."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.elements import add, body_fixed, checked_name
from myoquat.data.osim.frames import GROUND
from myoquat.data.osim.functions import add_function
from myoquat.data.xml import Element
from myoquat.joints.conversion.balls import as_axes, completed
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import (
    ConstantCurvatureJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    Joint,
    PrismaticJoint,
    ReversedJoint,
    RevoluteJoint,
    UniversalJoint,
)
from myoquat.joints.types.custom import Axis
from myoquat.muscle.coordinates import Coordinate

__all__ = ["Placed", "add_joint", "add_offset", "forward_joint", "joint_name", "path_of"]

OWN: tuple[tuple[Joint, str], ...] = (  # what is written for exactly these
    (FixedJoint(), "WeldJoint"),
    (RevoluteJoint((0.0, 0.0, 1.0)), "PinJoint"),
    (PrismaticJoint((1.0, 0.0, 0.0)), "SliderJoint"),
    (UniversalJoint((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "UniversalJoint"),
    (EulerJoint("XYZ"), "GimbalJoint"),
)

SOCKETS = ("socket_parent_frame", "socket_child_frame")
COLLINEAR_SINE = 1e-6  # sine between two axes


@dataclass(frozen=True)
class Placed:
    """A joint between two bodies.

    moving   the body whose joint it is
    carried  the body that it carries in the place of `moving`, the same one where the joint is at its origin
    frame    (position, orientation) of the joint on `carried`, None where the joint is at its origin
    """

    moving: Body
    carried: str
    frame: tuple[Any, Any] | None = None


def joint_name(body: Body) -> str:
    """The name of a body's joint."""
    return body.joint_name or body.name


def add_offset(parent: Element, name: str, body: str, position: Any, orientation: Any) -> Element:
    """A <PhysicalOffsetFrame> on a body."""
    frame = add(parent, "PhysicalOffsetFrame", name=name)
    add(frame, "socket_parent", path_of(body))
    add(frame, "translation", tuple(position))
    add(frame, "orientation", body_fixed(orientation))
    return frame


def path_of(body: str) -> str:
    """The path of a body's frame in the model."""
    return "/ground" if body == GROUND else f"/bodyset/{body}"


def add_joint(parent: Element, placed: Placed, start: Any, coordinates: dict[str, Coordinate]) -> None:
    """A joint with its frames and coordinates; start: their values and speeds."""
    body = placed.moving
    element, name = f"body {body.name!r}", joint_name(body)
    forward = forward_joint(body.joint)
    tag = _tag(forward)
    joint = add(parent, tag, name=checked_name(name, element))
    sockets = SOCKETS if forward is body.joint else SOCKETS[::-1]
    ends = dict(zip(sockets, (f"{body.parent}_offset", f"{placed.carried}_offset"), strict=True))
    for socket, end in ends.items():
        add(joint, socket, end)
    if body.joint.nq:
        holder = add(joint, "coordinates")
        for coordinate, value, speed in zip(body.names_of_coordinates, *start, strict=True):
            _add_coordinate(holder, checked_name(coordinate, element), value, speed, coordinates.get(coordinate))
    frames = add(joint, "frames")
    add_offset(frames, ends[sockets[0]], body.parent, body.position, body.orientation)
    position, orientation = placed.frame or ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    add_offset(frames, ends[sockets[1]], placed.carried, position, orientation)
    if isinstance(forward, ConstantCurvatureJoint):
        add(joint, "neutral_angle_x_z_y", forward.rest)
        add(joint, "length", forward.length)
    elif tag == "EllipsoidJoint":
        add(joint, "radii_x_y_z", forward.radii)  # type: ignore[attr-defined]
    elif tag == "CustomJoint":
        _add_axes(joint, replace(body, joint=forward), element)


def forward_joint(joint: Joint) -> Joint:
    """The joint itself, or the one that it reverses: a joint of OpenSim's may carry its parent."""
    return joint.joint if isinstance(joint, ReversedJoint) else joint


def _tag(joint: Joint) -> str:
    """The name of OpenSim's type."""
    if isinstance(joint, EllipsoidJoint) and joint.sequence == "XYZ":
        return "EllipsoidJoint"
    if isinstance(joint, ConstantCurvatureJoint):
        return "ConstantCurvatureJoint"
    return next((tag for other, tag in OWN if other == joint), "CustomJoint")


def _add_coordinate(parent: Element, name: str, value: float, speed: float, known: Coordinate | None) -> None:
    element = add(parent, "Coordinate", name=name)
    add(element, "default_value", value)
    add(element, "default_speed_value", speed)
    if known is not None:
        if known.range is not None:
            add(element, "range", known.range)
        add(element, "clamped", known.clamped)
        add(element, "locked", known.locked)
        if known.prescribed is not None:
            holder = add(element, "prescribed_function")
            add_function(holder, known.prescribed, f"coordinate {name!r}")
            add(element, "prescribed", True)


def _add_axes(parent: Element, body: Body, element: str) -> None:
    """The <SpatialTransform>: three turns and three slides, those that are missing along axes of their own, at rest."""
    try:
        joint = as_axes(body)
    except ValueError as error:
        raise ModelError(str(error), element=element) from None
    used = {axis.coordinate for axis in (*joint.rotations, *joint.translations) if axis.coordinate is not None}
    for i, name in enumerate(joint.coordinates):
        if i not in used and i < max(used, default=len(joint.coordinates)):
            raise ModelError(
                f"coordinate {name!r} moves nothing, which OpenSim allows behind those alone that do", element=element
            )
    transform = add(parent, "SpatialTransform")
    for motion, axes in (("rotation", joint.rotations), ("translation", joint.translations)):
        given = [axis.direction for axis in axes]
        if any(np.linalg.norm(np.cross(a, b)) < COLLINEAR_SINE for a, b in combinations(given, 2)):
            raise ModelError(
                f"OpenSim refuses {motion} axes along one line, {given}; `with_rotations` gives a ball joint another "
                "sequence",
                element=element,
            )
        still = (Axis(direction, None, Constant(0.0)) for direction in completed(given)[len(given) :])
        for k, axis in enumerate((*axes, *still), start=1):
            holder = add(transform, "TransformAxis", name=f"{motion}{k}")
            add(holder, "coordinates", "" if axis.coordinate is None else joint.coordinates[axis.coordinate])
            add(holder, "axis", axis.direction)
            add_function(holder, axis.function, element, name="function")
