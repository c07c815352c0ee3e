"""The muscle of Thelen (2003), with the constants and the extrapolations of OpenSim's Thelen2003Muscle."""

import math
from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError
from myoquat.joints.ranges import AboveOne, Positive, Range

from .hill import HillLaw

TOE_FORCE = 0.33  # normalized force at which the tendon's curve becomes straight
TOE_EXPONENT = 3.0  # exponent of the curve before


@frozen
class Thelen2003(HillLaw):
    """D. G. Thelen, Adjustment of muscle mechanics model parameters ..., J. Biomech. Eng. 125, 2003: the tendon
    (eq. 5), the passive (eq. 3) and the active fiber (eq. 4), force and velocity (eqs. 6, 7).

    passive_strain    of the fiber at F0
    active_shape      gamma
    passive_shape     kPE
    concentric_shape  Af
    eccentric_force   Flen, the greatest force of a lengthening fiber over its isometric one
    straight_from     the part of it above which force and velocity go on straight

    >>> from myoquat.muscle.laws import Thelen2003
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> [float(law.force(length, 0.0, 1.0).round(1)) for length in (0.25, 0.3, 0.35)]  # [N]
    [606.5, 1000.0, 1110.9]
    """

    kind: ClassVar[str] = "thelen2003"
    kinked_at_rest: ClassVar[bool] = True
    tendon_strain: Positive = 0.033
    passive_strain: Positive = 0.6
    active_shape: Positive = 0.5
    passive_shape: Positive = 4.0
    concentric_shape: Positive = 0.3
    eccentric_force: AboveOne = 1.8
    straight_from: Annotated[float, Range(0.0, 1.0, open_low=True, open_high=True)] = 0.95

    def tendon_force(self, length: Array) -> Array:
        """f_T: exponential up to the toe strain, then straight; zero when slack (eq. 5)."""
        e0, e3 = self.tendon_strain, math.exp(TOE_EXPONENT)
        toe = 99 * e0 * e3 / (166 * e3 - 67)
        strain = length - 1
        bent = TOE_FORCE / (e3 - 1) * (np.exp(TOE_EXPONENT * np.clip(strain, 0.0, toe) / toe) - 1)
        return bent + (1 - TOE_FORCE) / (e0 - toe) * np.maximum(strain - toe, 0.0)

    def passive_force(self, length: Array) -> Array:
        """f_PE = (exp(kPE (l~_M - 1) / e0) - 1) / (exp(kPE) - 1), zero below the optimal length (eq. 3)."""
        k = self.passive_shape
        return (np.exp(k * np.maximum(length - 1, 0.0) / self.passive_strain) - 1) / (np.exp(k) - 1)

    def active_force(self, length: Array) -> Array:
        """f_L = exp(-(l~_M - 1)^2 / gamma) (eq. 4)."""
        return np.exp(-((length - 1) ** 2) / self.active_shape)

    def fiber_force(self, length: Array, speed: Array, activation: Array) -> Array:
        """a f_L f_V + f_PE, f_V from eqs. 6 and 7 solved for the force."""
        v = speed / (0.25 + 0.75 * activation)
        c, flen, af = self._eccentric, self.eccentric_force, self.concentric_shape
        top = self.straight_from * flen
        fastest = (top - 1) / (c * (flen - top))
        shortening, lengthening = np.clip(v, -1.0, 0.0), np.clip(v, 0.0, fastest)
        f = (1 + shortening) / (1 - shortening / af)
        f = f + (1 + c * flen * lengthening) / (1 + c * lengthening) - 1
        f = (
            f
            + np.minimum(v + 1, 0.0) / (1 + 1 / af)
            + np.maximum(v - fastest, 0.0) * c * (flen - top) ** 2 / (flen - 1)
        )
        return activation * self.active_force(length) * f + self.passive_force(length)

    def fiber_speed(self, length: Array, force: Array, activation: Array) -> Array:
        """v~_M of eqs. 6 and 7, straight below zero force and near the greatest eccentric one."""
        isometric = activation * self.active_force(length)
        ratio = (force - self.passive_force(length)) / isometric
        k = 0.25 + 0.75 * activation
        c, flen = self._eccentric, self.eccentric_force
        top = self.straight_from * flen
        shortening, lengthening = np.clip(ratio, 0.0, 1.0), np.clip(ratio, 1.0, top)
        v = (shortening - 1) / (1 + shortening / self.concentric_shape)
        v = v + (lengthening - 1) / (c * (flen - lengthening))
        below = (1 + 1 / self.concentric_shape) * np.minimum(ratio, 0.0)
        return k * (v + below + (flen - 1) / (c * (flen - top) ** 2) * np.maximum(ratio - top, 0.0))

    def check(self, element: str) -> None:
        super().check(element)
        if not 1 / self.eccentric_force < self.straight_from < 1:
            raise ModelError(
                f"straight_from must lie between 1 / eccentric_force and 1, not {self.straight_from}", element=element
            )

    @property
    def _eccentric(self) -> float:
        return (2 + 2 / self.concentric_shape) / (self.eccentric_force - 1)
