"""Actuators of a file: forces that controls tell, beside muscles."""

import math
from collections.abc import Callable
from typing import Any

from myoquat.data.document import boolean, last_name, number, text, triple
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.xml import complain
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    BodyActuator,
    CoordinateActuator,
    PointActuator,
    PointToPointActuator,
    TorqueActuator,
)

__all__ = ["ACTUATORS", "BOUNDS", "DELAYED", "control_bound", "read_actuator"]

ZERO = (0.0, 0.0, 0.0)
DELAYED = {"activation_time": ("activation_time_constant", 0.01), "activation": ("default_activation", 0.5)}
BOUNDS = {"lower": ("min_control", -math.inf), "upper": ("max_control", math.inf)}


def read_actuator(element: Any, frames: Frames) -> Actuator:
    """An actuator of one of the types in `ACTUATORS`; ModelError with its line for what is missing."""
    return ACTUATORS[element.tag](element, frames)


def _common(element: Any) -> dict[str, Any]:
    """The arguments that all actuators of one control have."""
    bounds = {ours: control_bound(element, tag, default) for ours, (tag, default) in BOUNDS.items()}
    return {"name": str(element.get("name")), "optimal_force": number(element, "optimal_force", 1.0), **bounds}


def control_bound(element: Any, tag: str, default: float) -> float:
    """A bound of controls, which may be infinite."""
    word = text(element, tag, str(default)).lower()
    return math.copysign(math.inf, float(word)) if word.lstrip("+-") in ("inf", "infinity") else number(element, tag)


def _body(element: Any, tag: str, frames: Frames) -> Frame:
    """The body that an element names; ModelError for an offset frame, whose axes OpenSim would take."""
    frame = frames.of(element, tag)
    if not frame.is_body:
        complain(element, f"<{tag}> names an offset frame; an actuator of a body is supported")
    return frame


def _coordinate(element: Any, frames: Frames) -> Actuator:
    return CoordinateActuator(coordinate=last_name(text(element, "coordinate")), **_common(element))


def _delayed(element: Any, frames: Frames) -> Actuator:
    own: dict[str, Any] = {ours: number(element, tag, default) for ours, (tag, default) in DELAYED.items()}
    return ActivationCoordinateActuator(coordinate=last_name(text(element, "coordinate")), **own, **_common(element))


def _torque(element: Any, frames: Frames) -> Actuator:
    first, second = (_body(element, tag, frames).body for tag in ("bodyA", "bodyB"))
    axis, in_world = triple(element, "axis", (0.0, 0.0, 1.0)), boolean(element, "torque_is_global", True)
    return TorqueActuator(first=first, second=second, axis=axis, in_world=in_world, **_common(element))


def _point(element: Any, frames: Frames) -> Actuator:
    return PointActuator(
        body=_body(element, "body", frames).body,
        point=triple(element, "point", ZERO),
        direction=triple(element, "direction", (1.0, 0.0, 0.0)),
        point_in_world=boolean(element, "point_is_global"),
        direction_in_world=boolean(element, "force_is_global"),
        **_common(element),
    )


def _wrench(element: Any, frames: Frames) -> Actuator:
    return BodyActuator(
        str(element.get("name")),
        _body(element, "socket_body", frames).body,
        triple(element, "point", ZERO),
        boolean(element, "point_is_global"),
        boolean(element, "spatial_force_is_global", True),
    )


def _point_to_point(element: Any, frames: Frames) -> Actuator:
    return PointToPointActuator(
        first=_body(element, "bodyA", frames).body,
        second=_body(element, "bodyB", frames).body,
        first_point=triple(element, "pointA", ZERO),
        second_point=triple(element, "pointB", ZERO),
        in_world=boolean(element, "points_are_global"),
        **_common(element),
    )


ACTUATORS: dict[str, Callable[[Any, Frames], Actuator]] = {
    "CoordinateActuator": _coordinate,
    "ActivationCoordinateActuator": _delayed,
    "TorqueActuator": _torque,
    "PointActuator": _point,
    "BodyActuator": _wrench,
    "PointToPointActuator": _point_to_point,
}
