"""A ligament: a band that pulls when it is stretched."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions import AxisFunction, SimmSpline
from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["PASSIVE", "Ligament"]

# The curve that OpenSim gives a ligament, and the passive fiber of its RigidTendonMuscle: F / F0 over l / l0.
PASSIVE = SimmSpline(
    (-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0),
    (0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0),
)


@dataclass(frozen=True)
class Ligament(ForceLaw):
    """F = f(l / l0) F0 while l > l0, zero otherwise: OpenSim's Ligament. The activation does not matter.

    resting_length  l0 [m]
    max_force       F0 [N], OpenSim's pcsa_force
    curve           f

    >>> import numpy as np
    >>> from myoquat.muscle.laws import Ligament
    >>> law = Ligament(resting_length=0.05, max_force=400.0)
    >>> law.force(np.array([0.049, 0.051, 0.055]), 0.0, 0.0).round(2)
    array([ 0.  ,  0.64, 14.  ])
    """

    kind: ClassVar[str] = "ligament"
    activated: ClassVar[bool] = False
    resting_length: Positive
    max_force: NotNegative
    curve: AxisFunction = PASSIVE

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        x = length / self.resting_length
        return np.where(x > 1, self.curve.value(x) * self.max_force, 0.0)

    def stored(self, length: Array) -> Array:
        x = np.maximum(length / self.resting_length, 1.0)
        work = self.curve.integral(x) - self.curve.integral(np.ones(()))
        return work * self.max_force * self.resting_length
