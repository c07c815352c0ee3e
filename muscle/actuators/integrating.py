"""A generalized force on one coordinate whose activation is the integral of its control."""

from dataclasses import dataclass, field
from typing import ClassVar

from myoquat.core.typing import Array
from myoquat.muscle.actuators.coordinate import CoordinateActuator

__all__ = ["IntegratingCoordinateActuator"]


@dataclass(frozen=True)
class IntegratingCoordinateActuator(CoordinateActuator):
    """f = optimal_force a [N m or N] on the `coordinate`, where the activation a, a state, has the control x as its
    rate, da/dt = x, and starts at `activation`: with a spring and a damper (`CoordinateSpring`) MuJoCo's intvelocity.

    The bounds are those of the control; the activation has none.

    >>> from myoquat.muscle.actuators import IntegratingCoordinateActuator
    >>> servo = IntegratingCoordinateActuator("servo", "knee", optimal_force=50.0)
    >>> servo.activation_rate(0.2, 0.7)  # [1/s]
    0.2
    """

    delayed: ClassVar[bool] = True
    activation: float = field(default=0.0, kw_only=True)

    def activation_rate(self, control: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        return control + 0.0 * activation
