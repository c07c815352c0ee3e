"""Blankevoort's ligament: a toe, a line, and damping while it lengthens."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["Blankevoort1991"]

FULL_DAMPING_STRAIN = 0.01  # above this strain the damping acts fully, as in OpenSim


@dataclass(frozen=True)
class Blankevoort1991(ForceLaw):
    """OpenSim's Blankevoort1991Ligament (Blankevoort, Huiskes 1991, J. Biomech. Eng. 113, 263).

    At the strain e = l / l0 - 1 > 0 the force is

        F = k e^2 / (2 e_t)  for e < e_t,   k (e - e_t / 2)  beyond,   and  c s(e) de/dt  while it lengthens

    and zero while slack. The factor s rises smoothly from 0 to 1 over a strain of 0.01. The activation does not matter.

    linear_stiffness     k [N]
    transition_strain    e_t
    damping_coefficient  c [N s]
    slack_length         l0 [m]

    >>> import numpy as np
    >>> from myoquat.muscle.laws import Blankevoort1991
    >>> ligament = Blankevoort1991(linear_stiffness=5000.0, slack_length=0.05)
    >>> ligament.force(np.array([0.049, 0.0515, 0.055]), 0.0, 0.0).round(3)  # slack, in the toe, on the line
    array([  0. ,  37.5, 350. ])
    """

    kind: ClassVar[str] = "blankevoort1991"
    activated: ClassVar[bool] = False
    linear_stiffness: NotNegative
    slack_length: Positive
    transition_strain: Positive = 0.06
    damping_coefficient: NotNegative = 0.003

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        strain = np.maximum(length / self.slack_length - 1, 0.0)
        toe = strain * strain / (2 * self.transition_strain)
        spring = np.where(strain < self.transition_strain, toe, strain - self.transition_strain / 2)
        z = np.minimum(strain / FULL_DAMPING_STRAIN, 1.0)
        engaged = z * z * z * (10 - z * (15 - 6 * z))
        rate = np.maximum(speed / self.slack_length, 0.0)
        result: Array = self.linear_stiffness * spring + self.damping_coefficient * engaged * rate
        return result

    def stored(self, length: Array) -> Array:
        strain, e = np.maximum(length / self.slack_length - 1, 0.0), self.transition_strain
        toe = strain * strain * strain / (6 * e)
        line = strain * (strain - e) / 2 + e * e / 6
        return self.linear_stiffness * self.slack_length * np.where(strain < e, toe, line)
