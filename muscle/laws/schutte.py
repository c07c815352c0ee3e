"""The muscle of Schutte, Rodgers, Zajac and Glaser (1993), as OpenSim's Schutte1993Muscle_Deprecated has it."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.functions import AxisFunction, SimmSpline
from myoquat.joints.ranges import BelowOne, Positive

from .hill import DampedLaw
from .rigid_tendon import ACTIVE

CONCENTRIC_CURVATURE = 0.15  # k of the hyperbola of a shortening fiber
MAX_ECCENTRIC_FORCE = 1.4  # greatest force of a lengthening fiber over its isometric one
ECCENTRIC_SLOPE_RATIO = 0.13  # s over its value for equal slopes at rest

# OpenSim's curve of the tendon where a file gives none: F / F0 over the strain
TENDON = SimmSpline(
    (-10.0, -0.002, -0.001, 0.0, 0.00131, 0.00281, 0.00431, 0.00581, 0.00731, 0.00881, 0.0103, 0.0118, 0.0123, 9.2,
     9.201, 9.202, 20.0),
    (0.0, 0.0, 0.0, 0.0, 0.0108, 0.0257, 0.0435, 0.0652, 0.0915, 0.123, 0.161, 0.208, 0.227, 345.0, 345.0, 345.0,
     345.0),
)  # fmt: skip


@frozen
class Schutte1993(DampedLaw):
    """L. M. Schutte, M. M. Rodgers, F. E. Zajac, R. M. Glaser, Improving the efficacy of electrical stimulation-induced
    leg cycle ergometry: an analysis based on a dynamic musculoskeletal model, IEEE Trans. Rehabil. Eng. 1, 1993: the
    muscle of SIMM models, with the constants of OpenSim 4's Schutte1993Muscle_Deprecated.

    The force is f_M = a f_L f_V + f_PE + d v~_M. For a shortening fiber f_V = (1 + v) / (1 - v / 0.15). For a
    lengthening one f_V = (s + 1.4 v) / (s + v) with s = 0.13 * 0.15 / 1.15.

    damping                   d
    max_contraction_velocity  1 / (OpenSim's time_scale)
    active_curve              f_L(l~_M), never below zero
    tendon_curve              f_T of the strain l~_T - 1, zero when slack
    passive_curve             f_PE(l~_M); None for f_PE = exp(8 (l~_M - 1) - 4)
    tendon_strain             no number of the law; equilibria are sought up to ten times it

    The passive force of a fiber alone may be above what the tendon holds. By OpenSim's rule it then shortens as fast as
    the unloaded fiber, no faster. There `state_rate` is that speed and `state_residual` is not zero.

    >>> from myoquat.muscle.laws import Schutte1993
    >>> law = Schutte1993(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> [float(law.force(length, 0.0, 1.0).round(1)) for length in (0.25, 0.3, 0.35)]  # [N]
    [180.1, 1017.2, 1193.8]
    """

    kind: ClassVar[str] = "schutte1993"
    kinked_at_rest: ClassVar[bool] = True
    tendon_strain: Positive = 0.033
    minimum_activation: BelowOne = 0.0
    damping: Positive = 0.1
    tendon_curve: AxisFunction = TENDON
    active_curve: AxisFunction = ACTIVE
    passive_curve: AxisFunction | None = None

    def tendon_force(self, length: Array) -> Array:
        """f_T: the curve of the strain; zero when slack."""
        strain = length - 1
        return np.where(strain < 0, 0.0, self.tendon_curve.value(strain))

    def passive_force(self, length: Array) -> Array:
        """f_PE: the curve, or exp(8 (l~_M - 1) - 4)."""
        if self.passive_curve is None:
            return np.exp(8 * (length - 1) - 4)
        return self.passive_curve.value(length)

    def active_force(self, length: Array) -> Array:
        """f_L: the curve, never below zero."""
        return np.maximum(self.active_curve.value(length), 0.0)

    def velocity_force(self, speed: Array) -> Array:
        """f_V, a hyperbola for either way."""
        s = ECCENTRIC_SLOPE_RATIO * CONCENTRIC_CURVATURE / (1 + CONCENTRIC_CURVATURE)
        shortening, lengthening = np.minimum(speed, 0.0), np.maximum(speed, 0.0)
        return (
            (1 + shortening) / (1 - shortening / CONCENTRIC_CURVATURE)
            + (s + MAX_ECCENTRIC_FORCE * lengthening) / (s + lengthening)
            - 1
        )

    def fiber_speed(self, length: Array, force: Array, activation: Array) -> Array:
        """v~_M: `fiber_force` solved for the speed, a quadratic equation for either way.

        A fiber that pulls less than its passive part has the speed of one that pulls just that.
        """
        k, s, d = (
            CONCENTRIC_CURVATURE,
            ECCENTRIC_SLOPE_RATIO * CONCENTRIC_CURVATURE / (1 + CONCENTRIC_CURVATURE),
            self.damping,
        )
        isometric = activation * self.active_force(length) / d
        f = np.maximum(force - self.passive_force(length), 0.0) / d
        less, more = np.minimum(f, isometric), np.maximum(f, isometric)
        b = less + k * isometric + k
        shortening = 2 * k * (less - isometric) / (b + np.sqrt(b * b - 4 * k * (less - isometric)))
        b = more - MAX_ECCENTRIC_FORCE * isometric - s
        lengthening = (b + np.sqrt(b * b + 4 * s * (more - isometric))) / 2
        return shortening + lengthening

    def open_parameters(self) -> tuple[str, ...]:
        """None: a passive fiber without a curve is exponential."""
        return tuple(name for name in super().open_parameters() if name != "passive_curve")
