"""Bhargava's model of metabolic power."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import NotNegative
from myoquat.kernels.symbolic.arrays import may_be_nonzero
from myoquat.muscle.metabolics.base import Fiber, MetabolicCost, recruited

__all__ = ["Bhargava2004"]


@dataclass(frozen=True)
class Bhargava2004(MetabolicCost):
    """L. J. Bhargava, M. G. Pandy, F. C. Anderson, A phenomenological model for estimating metabolic energy consumption
    in muscle contraction, J. Biomech. 37, 2004, in the form of OpenSim's Bhargava2004MuscleMetabolicsProbe: without the
    decay of the activation heat.

    activation   m (A_s u_s + A_f u_f), where u_s and u_f are the slow and fast fibers that the excitation recruits
    maintenance  m L (M_s u_s + M_f u_f), where L(l~) = 0.5 up to l~ = 0.5, 1 at 1, 0 from 1.5, straight between
    shortening   -alpha v with alpha = 0.25 F while the fiber shortens and 0 else. If force_dependent, alpha is 0.16 a
                 f_L F0 + 0.18 F and 0.157 F. F is the whole force along the fiber, 0 where it pushes

    The mass is m, and heat coefficients are in [W/kg].

    For solvers that take derivatives, speed_rounding [1/s], in optimal lengths, and length_rounding round the corners
    of alpha and of L. The factor of shortening is (1 - tanh(v / (speed_rounding l0))) / 2, and max(y, 0) in L becomes
    (y + sqrt(y^2 + length_rounding^2)) / 2. After A. D. Koelewijn, E. Dorschky, A. J. van den Bogert, A metabolic
    energy expenditure model with a continuous first derivative, Comput. Methods Biomech. Biomed. Eng. 21, 2018.

    >>> from myoquat.muscle.laws import Thelen2003
    >>> from myoquat.muscle.metabolics import Bhargava2004, Fiber
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> fiber = Fiber.of(law, (0.3, 0.0, 1.0), 1.0, mass=0.4)
    >>> float(Bhargava2004().power(fiber).round(6))  # 0.4 * (20 + 66.5 + 37 + 55.5)
    71.6
    """

    slow_activation: NotNegative = 40.0
    fast_activation: NotNegative = 133.0
    slow_maintenance: NotNegative = 74.0
    fast_maintenance: NotNegative = 111.0
    force_dependent: bool = False
    speed_rounding: NotNegative = 0.0
    length_rounding: NotNegative = 0.0

    def heat(self, fiber: Fiber) -> Array:
        slow, fast = recruited(fiber.excitation, fiber.slow)
        long = self._maintained(fiber.length)
        activation = self.slow_activation * slow + self.fast_activation * fast
        maintenance = long * (self.slow_maintenance * slow + self.fast_maintenance * fast)
        result: Array = fiber.mass * (activation + maintenance) - self._alpha(fiber) * fiber.speed
        return result

    def _maintained(self, length: Array | float) -> Array:
        """(...) L of the normalized length."""
        if not may_be_nonzero(self.length_rounding):
            return np.maximum(np.minimum(np.maximum(length, 0.5), 3 - 2 * length), 0.0)
        d = self.length_rounding
        above = [(y + np.sqrt(y * y + d * d)) / 2 for y in (length - 0.5, length - 1.0, length - 1.5)]
        result: Array = 0.5 + above[0] - 3 * above[1] + 2 * above[2]
        return result

    def corners(self, fiber: Fiber) -> list[Array]:
        return [np.asanyarray(fiber.active_force + fiber.passive_force)]

    def _alpha(self, fiber: Fiber) -> Array:
        """(...) shortening heat over shortening [N]; none of a fiber that pushes."""
        force = np.maximum(fiber.active_force + fiber.passive_force, 0.0)
        if self.force_dependent:
            isometric = fiber.activation * fiber.isometric * fiber.max_isometric_force
            return self._switched(fiber, 0.16 * isometric + 0.18 * force, 0.157 * force)
        return self._switched(fiber, 0.25 * force, 0.0 * force)

    def _switched(self, fiber: Fiber, shortening: Array | float, lengthening: Array | float) -> Array:
        """(...) one value while the fiber shortens, the other while it lengthens."""
        if not may_be_nonzero(self.speed_rounding):
            return np.where(fiber.speed <= 0, shortening, lengthening)
        speed = fiber.speed / (self.speed_rounding * fiber.optimal_length)
        result: Array = lengthening + (shortening - lengthening) * (0.5 - 0.5 * np.tanh(speed))
        return result
