"""OpenSim's RigidTendonMuscle: curves as splines, and a tendon that does not stretch."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.functions import AxisFunction, SimmSpline
from myoquat.joints.ranges import AcuteAngle, NotNegative, Positive

from .base import ForceLaw
from .ligament import PASSIVE

# OpenSim 4.6's curves where a file gives none
ACTIVE = SimmSpline(
    (-5.307692, -4.307692, -1.923077, -0.884615, -0.269231, 0.230769, 0.461538, 0.52725, 0.62875, 0.71875, 0.86125,
     1.045, 1.2175, 1.43875, 1.5, 1.615385, 2.0, 2.961538, 3.692308, 5.461538, 9.901902),
    (0.012188, 0.021899, 0.036466, 0.052493, 0.075312, 0.114158, 0.157859, 0.226667, 0.636667, 0.856667, 0.95,
     0.993333, 0.77, 0.246667, 0.193821, 0.133252, 0.072683, 0.044417, 0.036341, 0.021899, 0.007332),
)  # fmt: skip
VELOCITY = SimmSpline(
    (-1.001, *(round(-1 + 0.05 * k, 2) for k in range(41))),
    (0.0, 0.0, 0.010417, 0.021739, 0.034091, 0.047619, 0.0625, 0.078947, 0.097222, 0.117647, 0.140625, 0.166667,
     0.196429, 0.230769, 0.270833, 0.318182, 0.375, 0.444444, 0.53125, 0.642857, 0.791667, 1.0, 1.482014, 1.601571,
     1.655791, 1.686739, 1.706751, 1.720753, 1.731099, 1.739055, 1.745365, 1.75049, 1.754736, 1.758312, 1.761364,
     1.763999, 1.766298, 1.768321, 1.770115, 1.771717, 1.773155, 1.774455),
)  # fmt: skip
MAX_PASSIVE_FORCE = 10.0  # greatest passive force over F0


@frozen
class RigidTendonMuscle(ForceLaw):
    """F = F0 (a f_L(l~_M) f_V(v~) + f_PE(l~_M)) cos(alpha), as OpenSim's RigidTendonMuscle.

    The law differs from `HillLaw` in three points:

    - v~ = (dl/dt) / (vmax l_M0) is the speed of the path, not of the fiber along it.
    - f_PE is cut to [0, 10].
    - A path shorter than its tendon leaves the fiber its width.

    With a pennation F = 0 on such a short path. Without one F stays the pull of a fiber of length zero, as in OpenSim,
    although the tendon is slack.

    >>> from myoquat.muscle.laws import RigidTendonMuscle
    >>> law = RigidTendonMuscle(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2)
    >>> [round(float(law.force(0.3, 0.0, activation)), 2) for activation in (1.0, 0.5)]
    [998.87, 499.43]
    """

    kind: ClassVar[str] = "rigid_tendon_muscle"
    max_isometric_force: NotNegative
    optimal_fiber_length: Positive
    tendon_slack_length: NotNegative
    pennation: AcuteAngle = 0.0
    max_contraction_velocity: Positive = 10.0
    active_curve: AxisFunction = ACTIVE
    passive_curve: AxisFunction = PASSIVE
    velocity_curve: AxisFunction = VELOCITY

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        along = np.maximum(length - self.tendon_slack_length, 0.0)
        straight = isinstance(self.pennation, (int, float)) and self.pennation == 0
        width = 0.0 if straight else self.optimal_fiber_length * np.sin(self.pennation)
        fiber = along if straight else np.sqrt(along * along + width * width)
        x = fiber / self.optimal_fiber_length
        v = speed / (self.optimal_fiber_length * self.max_contraction_velocity)
        passive = np.clip(self.passive_curve.value(x), 0.0, MAX_PASSIVE_FORCE)
        force = activation * self.active_curve.value(x) * self.velocity_curve.value(v) + passive
        return self.max_isometric_force * force * (1.0 if straight else along / fiber)
