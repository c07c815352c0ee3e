"""A generalized force on one coordinate whose activation is the integral of its control."""

import math
from dataclasses import field
from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.actuators.coordinate import CoordinateActuator

__all__ = ["IntegratingCoordinateActuator"]


@dataclass(frozen=True)
class IntegratingCoordinateActuator(CoordinateActuator):
    """f = optimal_force a [N m or N] on the `coordinate`; the control x is the rate of the activation a, a state.

    da/dt = x, and a starts at `activation`. With a spring and a damper (`CoordinateSpring`) it is MuJoCo's intvelocity.
    The bounds are those of the control. The activation stays between `least_activation` and `greatest_activation`, by
    default without bounds. Raises ModelError where the least is above the greatest.

    >>> from myoquat.muscle.actuators import IntegratingCoordinateActuator
    >>> servo = IntegratingCoordinateActuator("servo", "knee", optimal_force=50.0)
    >>> float(servo.activation_rate(0.2, 0.7))  # [1/s]
    0.2
    """

    delayed: ClassVar[bool] = True
    activation: float = field(default=0.0, kw_only=True)
    least_activation: float = field(default=-math.inf, kw_only=True)
    greatest_activation: float = field(default=math.inf, kw_only=True)

    @property
    def activation_bounds(self) -> tuple[float, float]:
        return self.least_activation, self.greatest_activation

    def activation_rate(self, control: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        rate = control + 0.0 * activation
        low, high = self.activation_bounds
        outwards = ((activation >= high) & (rate > 0)) | ((activation <= low) & (rate < 0))
        stopped: Array = np.where(outwards, 0.0, rate)
        return stopped

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if not self.least_activation <= self.greatest_activation:
            bounds = f"{self.least_activation} > {self.greatest_activation}"
            raise ModelError(f"least_activation is above greatest_activation: {bounds}", element=self.element)
