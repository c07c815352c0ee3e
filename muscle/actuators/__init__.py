"""Actuators beside muscles: one file per type, with the verbs of `myoquat.muscle.actuators.base.Actuator`."""

from myoquat.muscle.actuators.activation import ActivationCoordinateActuator
from myoquat.muscle.actuators.base import Actuator, ScalarActuator, delayed, delayed_rates
from myoquat.muscle.actuators.body import BodyActuator
from myoquat.muscle.actuators.coordinate import CoordinateActuator
from myoquat.muscle.actuators.integrating import IntegratingCoordinateActuator
from myoquat.muscle.actuators.point import PointActuator
from myoquat.muscle.actuators.point_to_point import PointToPointActuator
from myoquat.muscle.actuators.torque import TorqueActuator

__all__ = [
    "ActivationCoordinateActuator",
    "Actuator",
    "BodyActuator",
    "CoordinateActuator",
    "IntegratingCoordinateActuator",
    "PointActuator",
    "PointToPointActuator",
    "ScalarActuator",
    "TorqueActuator",
    "delayed",
    "delayed_rates",
]
