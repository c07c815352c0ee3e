"""Actuators as OpenSim's; mirrors `myoquat.data.osim.reading.actuators`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from myoquat.data.elements import add, checked_name
from myoquat.data.osim.reading.actuators import BOUNDS, DELAYED
from myoquat.data.osim.writing.joints import path_of
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    BodyActuator,
    CoordinateActuator,
    PointActuator,
    PointToPointActuator,
    ScalarActuator,
    TorqueActuator,
)

__all__ = ["add_actuators"]


def add_actuators(parent: Element, actuators: Sequence[Actuator]) -> None:
    """An element for every actuator; ModelError for one that OpenSim does not have."""
    for actuator in actuators:
        if type(actuator) not in WRITERS:
            raise ModelError("OpenSim has no actuator of this type", element=actuator.element)
        entry = add(parent, type(actuator).__name__, name=checked_name(actuator.name, actuator.element))
        if isinstance(actuator, ScalarActuator):
            for ours, (tag, _) in BOUNDS.items():
                value = getattr(actuator, ours)
                add(entry, tag, value if math.isfinite(value) else ("Inf" if value > 0 else "-Inf"))
            add(entry, "optimal_force", actuator.optimal_force)
        WRITERS[type(actuator)](entry, actuator)


def _coordinate(entry: Element, actuator: CoordinateActuator) -> None:
    add(entry, "coordinate", actuator.coordinate)


def _delayed(entry: Element, actuator: ActivationCoordinateActuator) -> None:
    _coordinate(entry, actuator)
    for ours, (tag, _) in DELAYED.items():
        add(entry, tag, getattr(actuator, ours))


def _torque(entry: Element, actuator: TorqueActuator) -> None:
    _add_bodies(entry, actuator)
    add(entry, "torque_is_global", actuator.in_world)
    add(entry, "axis", actuator.axis)


def _point(entry: Element, actuator: PointActuator) -> None:
    add(entry, "body", actuator.body)
    add(entry, "point", actuator.point)
    add(entry, "point_is_global", actuator.point_in_world)
    add(entry, "direction", actuator.direction)
    add(entry, "force_is_global", actuator.direction_in_world)


def _wrench(entry: Element, actuator: BodyActuator) -> None:
    add(entry, "socket_body", path_of(actuator.body))
    add(entry, "point", actuator.point)
    add(entry, "point_is_global", actuator.point_in_world)
    add(entry, "spatial_force_is_global", actuator.in_world)


def _point_to_point(entry: Element, actuator: PointToPointActuator) -> None:
    _add_bodies(entry, actuator)
    add(entry, "points_are_global", actuator.in_world)
    add(entry, "pointA", actuator.first_point)
    add(entry, "pointB", actuator.second_point)


def _add_bodies(entry: Element, actuator: Any) -> None:
    add(entry, "bodyA", actuator.first)
    add(entry, "bodyB", actuator.second)


WRITERS: dict[type[Actuator], Callable[[Element, Any], None]] = {
    CoordinateActuator: _coordinate,
    ActivationCoordinateActuator: _delayed,
    TorqueActuator: _torque,
    PointActuator: _point,
    BodyActuator: _wrench,
    PointToPointActuator: _point_to_point,
}
