"""Springs and actuators along a path."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["PathActuator", "PathSpring"]


@dataclass(frozen=True)
class PathSpring(ForceLaw):
    """F = k x (1 + c v) for a stretch x = l - l0 > 0, zero otherwise and never a push: OpenSim's PathSpring.

    stiffness       k [N/m]
    resting_length  l0 [m]
    dissipation     c [s/m]

    The activation does not matter.

    >>> import numpy as np
    >>> from myoquat.muscle.laws import PathSpring
    >>> spring = PathSpring(stiffness=1000.0, resting_length=0.2)
    >>> spring.force(np.array([0.19, 0.21]), 0.0, 0.0).round(3)  # it never pushes
    array([ 0., 10.])
    """

    kind: ClassVar[str] = "path_spring"
    activated: ClassVar[bool] = False
    stiffness: NotNegative
    resting_length: Positive
    dissipation: NotNegative = 0.0

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        stretch = np.maximum(length - self.resting_length, 0.0)
        return np.maximum(self.stiffness * stretch * (1 + self.dissipation * speed), 0.0)

    def stored(self, length: Array) -> Array:
        stretch = np.maximum(length - self.resting_length, 0.0)
        return self.stiffness / 2 * stretch * stretch


@dataclass(frozen=True)
class PathActuator(ForceLaw):
    """F = a F0: a force of its activation alone, such as OpenSim's PathActuator with its control as the activation.

    >>> from myoquat.muscle.laws import PathActuator
    >>> PathActuator(max_isometric_force=500.0).force(0.3, 0.1, 0.4)  # of the activation alone
    200.0
    """

    kind: ClassVar[str] = "path_actuator"
    max_isometric_force: NotNegative

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        return activation * self.max_isometric_force + 0.0 * length
