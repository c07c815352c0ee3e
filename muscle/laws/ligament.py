"""A ligament: a band that pulls when it is stretched."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.functions import AxisFunction, SimmSpline
from myoquat.joints.ranges import NotNegative, Positive

from .base import ForceLaw

# The curve that OpenSim gives a ligament, and the passive fiber of its RigidTendonMuscle: F / F0 over l / l0.
PASSIVE = SimmSpline(
    (-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0),
    (0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0),
)


@frozen
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


# ---- Blankevoort's ligament -----------------------------------------------------------------------------------------
# Blankevoort's ligament: a toe, a line, and damping while it lengthens.


FULL_DAMPING_STRAIN = 0.01  # above this strain the damping acts fully, as in OpenSim


@frozen
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
        return self.linear_stiffness * spring + self.damping_coefficient * engaged * rate

    def stored(self, length: Array) -> Array:
        strain, e = np.maximum(length / self.slack_length - 1, 0.0), self.transition_strain
        toe = strain * strain * strain / (6 * e)
        line = strain * (strain - e) / 2 + e * e / 6
        return self.linear_stiffness * self.slack_length * np.where(strain < e, toe, line)
