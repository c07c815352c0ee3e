"""The muscle of De Groote and Fregly (2016): smooth curves, made for optimal control."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.ranges import NotNegative, Positive

from .hill import DampedLaw

# b1, b2, b3, b4 of three Gaussians: the paper's as corrected in OpenSim, so that the peak is 1 at 1
ACTIVE_CURVE_GAUSSIANS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
D1, D2, D3, D4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912
C1, C2, C3 = 0.200, 1.0, 0.200
SHORTEST_LENGTH_MARGIN = 1 + 1e-9  # fibers below this multiple of the shortest length count as shortest
UNLOADED_LENGTH = 0.2  # normalized fiber length at which the passive force is zero


@frozen
class DeGrooteFregly2016(DampedLaw):
    """F. De Groote, A. L. Kinney, A. V. Rao, B. J. Fregly, Evaluation of direct collocation optimal control problem
    formulations ..., Ann. Biomed. Eng. 44, 2016, supplement: tendon (S1), active fiber (S2), passive fiber (S3), force
    and velocity (S4), with OpenSim's constants.

    passive_strain  of the fiber at F0
    width_scale     of the active curve (1: the paper's)
    damping         beta; the fiber's force has a part beta v~_M
    passive_scale   factor of the passive force, 0 for a fiber without

    The published curve of the tendon goes on below the slack length, where it pushes a little, so that it stays smooth.
    Only a tendon that is slack beside the shortest fiber carries nothing, as with the other laws. Without damping the
    fiber's speed divides by a f_L. Far outside of 0.2 to 1.8 l_M0 it may overflow, and `state_residual` does not.

    >>> from myoquat.muscle.laws import DeGrooteFregly2016
    >>> law = DeGrooteFregly2016(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> [float(law.force(length, 0.0, 1.0).round(1)) for length in (0.25, 0.3, 0.35)]  # [N]
    [54.7, 1018.2, 739.5]
    """

    kind: ClassVar[str] = "degroote_fregly2016"
    passive_strain: Positive = 0.6
    width_scale: Positive = 1.0
    damping: NotNegative = 0.0
    passive_scale: NotNegative = 1.0

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        """(...) F [N] as `HillLaw.force`; with an elastic tendon none while it is slack beside the shortest fiber."""
        force = super().force(length, speed, activation, state)
        if self.tendon == "rigid":
            return force
        ended = self._fiber_length(state) <= SHORTEST_LENGTH_MARGIN * self.shortest
        slack = length - self.tendon_slack_length <= self.shortest_along
        return np.where(ended & slack, 0.0, force)

    def tendon_force(self, length: Array) -> Array:
        """f_T = c1 exp(kT (l~_T - c2)) - c3 (S1); slightly negative when slack, as in the paper."""
        k = np.log((1 + C3) / C1) / (1 + self.tendon_strain - C2)
        return C1 * np.exp(k * (length - C2)) - C3

    def passive_force(self, length: Array) -> Array:
        """f_PE = (exp(kPE (l~_M - 1) / e0) - o) / (exp(kPE) - o), kPE = 4, zero at l~_M = 0.2 (S3)."""
        k, e0 = 4.0, self.passive_strain
        offset = np.exp(k * (UNLOADED_LENGTH - 1) / e0)
        return self.passive_scale * (np.exp(k * (length - 1) / e0) - offset) / (np.exp(k) - offset)

    def active_force(self, length: Array) -> Array:
        """f_L, the sum of three bells b1 exp(-(l~_M - b2)^2 / (2 (b3 + b4 l~_M)^2)) (S2)."""
        x = (length - 1) / self.width_scale + 1
        first, second, third = (
            b1 * np.exp(-0.5 * ((x - b2) / (b3 + b4 * x)) ** 2) for b1, b2, b3, b4 in ACTIVE_CURVE_GAUSSIANS
        )
        return first + second + third

    def velocity_force(self, speed: Array) -> Array:
        """f_V = d1 log(w + sqrt(w^2 + 1)) + d4, w = d2 v~_M + d3 (S4)."""
        return D1 * np.arcsinh(D2 * speed + D3) + D4

    def fiber_speed(self, length: Array, force: Array, activation: Array) -> Array:
        """v~_M: in closed form without damping, by six steps of Newton's method with it."""
        isometric = activation * self.active_force(length)
        force = force - self.passive_force(length)
        ratio = force / isometric
        speed: Array = (np.sinh((ratio - D4) / D1) - D3) / D2
        if isinstance(self.damping, (int, float)) and self.damping == 0:
            return speed
        speed = np.clip(speed, -1.5, 1.5)
        for _ in range(6):
            slope = isometric * D1 * D2 / np.sqrt((D2 * speed + D3) ** 2 + 1) + self.damping
            speed = speed - (isometric * self.velocity_force(speed) + self.damping * speed - force) / slope
        return speed
