"""Umberger's model of metabolic power."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import Positive
from myoquat.muscle.metabolics.base import Fiber, MetabolicCost, recruited

__all__ = ["Umberger2010"]

FAST_SHORTENING_HEAT, MAX_SLOW_SHORTENING_HEAT = 153.0, 100.0  # [W/kg] of fast and slow fibers at their vmax
FAST_TO_SLOW_SPEED = 2.5  # vmax of fast-twitch fibers over that of slow-twitch fibers
LENGTHENING_FACTOR = 4.0  # heat of lengthening over that of shortening slow fibers
LENGTHENING_FACTOR_WITHOUT_WORK = 0.3  # the same if negative work costs nothing


@dataclass(frozen=True)
class Umberger2010(MetabolicCost):
    """B. R. Umberger, Stance and swing phase costs in human walking, J. R. Soc. Interface 7, 2010, in the form of
    OpenSim's Umberger2010MuscleMetabolicsProbe.

    The heats per kilogram are

    activation and maintenance  S A^0.6 (128 (1 - s) + 25), times 0.4 + 0.6 f_L beyond the optimal length
    shortening                  S A^2 (s min(250 w, 100) + (1 - s) 153 w) with w = -v / vmax, times f_L beyond the
                                optimal length
    lengthening                 1000 S A v / vmax, or 75 in place of 1000 without negative work, times f_L beyond the
                                optimal length

    S is the aerobic_factor. A = e while the excitation is above the activation, and their mean else. The slow-twitch
    share s is that of the fibers that the excitation recruits, or of all fibers if not `recruitment`.

    >>> from myoquat.muscle.laws import Thelen2003
    >>> from myoquat.muscle.metabolics import Fiber, Umberger2010
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> cost = Umberger2010(recruitment=False)
    >>> float(cost.power(Fiber.of(law, (0.3, 0.0, 1.0), 1.0, mass=0.4)).round(6))  # 0.4 * 1.5 * (64 + 25)
    53.4
    """

    aerobic_factor: Positive = 1.5
    recruitment: bool = True

    def heat(self, fiber: Fiber) -> Array:
        e, a, f_L = fiber.excitation, fiber.activation, fiber.isometric
        A = np.where(e > a, e, (e + a) / 2)
        slow = self._slow(fiber)
        long = fiber.length > 1.0
        keeping = A**0.6 * (128 * (1 - slow) + 25) * np.where(long, 0.4 + 0.6 * f_L, 1.0)
        w = -fiber.speed / (fiber.optimal_length * fiber.max_contraction_velocity)
        shortening = A**2 * (
            slow * np.minimum(MAX_SLOW_SHORTENING_HEAT * FAST_TO_SLOW_SPEED * w, MAX_SLOW_SHORTENING_HEAT)
            + (1 - slow) * FAST_SHORTENING_HEAT * w
        )
        lengthening = (
            A
            * (LENGTHENING_FACTOR if self.negative_work else LENGTHENING_FACTOR_WITHOUT_WORK)
            * MAX_SLOW_SHORTENING_HEAT
            * FAST_TO_SLOW_SPEED
            * -w
        )
        moving = np.where(w >= 0, shortening, lengthening) * np.where(long, f_L, 1.0)
        result: Array = fiber.mass * self.aerobic_factor * (keeping + moving)
        return result

    def work(self, fiber: Fiber) -> Array:
        return super().work(fiber._replace(active_force=np.maximum(fiber.active_force, 0.0)))

    def _slow(self, fiber: Fiber) -> Array | float:
        """(...) the share of slow-twitch fibers in those that are active."""
        if not self.recruitment:
            return fiber.slow
        slow, fast = recruited(fiber.excitation, fiber.slow)
        none = slow + fast <= 0
        share: Array = np.where(none, 1.0, slow / np.where(none, 1.0, slow + fast))
        return share
