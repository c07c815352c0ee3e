"""A generalized force on one coordinate that follows its control with a delay."""

from dataclasses import field
from typing import ClassVar

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive
from myoquat.muscle.actuators.coordinate import CoordinateActuator

__all__ = ["ActivationCoordinateActuator"]


@dataclass(frozen=True)
class ActivationCoordinateActuator(CoordinateActuator):
    """f = optimal_force a [N m or N] on the `coordinate`; the activation a, a state, lags behind the control x.

    da/dt = (x - a) / activation_time, and a starts at `activation`: OpenSim's ActivationCoordinateActuator.
    activation_time is in [s]. The bounds are those of the control. An activation that starts between them stays there.

    >>> from myoquat.muscle.actuators import ActivationCoordinateActuator
    >>> motor = ActivationCoordinateActuator("motor", "knee", optimal_force=50.0, activation_time=0.02)
    >>> motor.activation_rate(1.0, 0.5)  # [1/s]
    25.0
    """

    delayed: ClassVar[bool] = True
    activation_time: Positive = field(default=0.01, kw_only=True)
    activation: float = field(default=0.5, kw_only=True)

    def activation_rate(self, control: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        return (control - activation) / self.activation_time

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if not self.activation_time > 0:
            raise ModelError(f"activation_time must be positive, not {self.activation_time!r}", element=self.element)
