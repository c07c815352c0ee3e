"""What muscles cost: metabolic power from the state of their fibers."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, Record, frozen
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.kernels.symbolic.arrays import may_be_nonzero

from .laws import HillLaw

__all__ = ["Bhargava2004", "Fiber", "MetabolicCost", "Umberger2010"]

# ---- What every model of metabolic power shares ---------------------------------------------------------------------
# The state of a fiber, its mass, and bounds of what it can cost.


LEAST_HEAT = 1.0  # [W/kg]


class Fiber(NamedTuple):
    """A muscle's fiber (...).

    excitation, activation    in [0, 1]
    length                    over the optimal length
    speed                     [m/s], positive when the fiber lengthens
    active_force              [N] along the fiber
    passive_force             [N] along the fiber, with damping
    isometric                 the factor f_L of the length on the active force
    max_isometric_force       F0 [N]
    optimal_length            [m]
    max_contraction_velocity  in optimal lengths per second
    mass                      [kg]
    slow                      the share of slow-twitch fibers

    >>> from myoquat.muscle.laws import Thelen2003
    >>> from myoquat.muscle.metabolics import Fiber
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> fiber = Fiber.of(law, (0.3, 0.0, 0.5), 0.5, mass=0.4)
    >>> round(float(fiber.active_force)), round(float(fiber.isometric), 3)
    (500, 1.0)
    """

    excitation: Array | float
    activation: Array | float
    length: Array | float
    speed: Array | float
    active_force: Array | float
    passive_force: Array | float
    isometric: Array | float
    max_isometric_force: float
    optimal_length: float
    max_contraction_velocity: float
    mass: Array | float
    slow: Array | float

    @classmethod
    def of(
        cls, law: HillLaw, at: tuple[Array | float, Array | float, Array | float], excitation: Array | float,
        state: Array | None = None, *, mass: Array | float, slow: Array | float = 0.5,
    ) -> "Fiber":  # fmt: skip
        """The fiber of a law `at` a path length [m], its speed [m/s] and an activation, on floats and symbols.

        With an elastic tendon `state` is the law's own. Raises ModelError where an elastic tendon needs a least
        activation.
        """
        law.check_rates(f"law {law.kind!r}")
        l, _, v = law.fiber(*at, state)  # type: ignore[arg-type]
        scale = law.optimal_fiber_length
        active, passive, damping = law.fiber_parts(l / scale, v / (law.max_contraction_velocity * scale), at[2])  # type: ignore[arg-type]
        F0 = law.max_isometric_force
        return cls(
            excitation, np.maximum(at[2], law.minimum_activation), l / scale, v, F0 * active,
            F0 * (passive + damping), law.active_force(l / scale), F0, scale, law.max_contraction_velocity, mass, slow,
        )  # fmt: skip


@frozen
class MetabolicCost(Record, ABC):
    """Metabolic power [W] of a muscle: heat and the work of its active fiber.

    negative_work          whether a lengthening fiber takes up the work that is done on it; else that costs nothing
    forbid_negative_power  heat makes up for a negative total
    enforce_minimum_heat   heat is at least 1 W/kg [after B. R. Umberger, K. G. M. Gerritsen, P. E. Martin, A model of
                           human muscle energy expenditure, Comput. Methods Biomech. Biomed. Eng. 6, 2003]
    specific_tension       [Pa] of muscles, from which masses follow
    density                [kg/m^3] of muscles, from which masses follow

    The first two, and recruitment by excitation, are those of T. K. Uchida, J. L. Hicks, C. L. Dembia, S. L. Delp,
    Stretching your energetic budget, PLoS ONE 11, 2016, and of OpenSim's probes.

    >>> from myoquat.muscle.metabolics import Bhargava2004, MetabolicCost, Umberger2010
    >>> issubclass(Bhargava2004, MetabolicCost), round(Umberger2010().mass(1000.0, 0.1), 3)  # [kg]
    (True, 0.424)
    """

    negative_work: bool = True
    forbid_negative_power: bool = True
    enforce_minimum_heat: bool = True
    specific_tension: Positive = 0.25e6
    density: Positive = 1059.7

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, type(self).__name__)

    def mass(self, max_isometric_force: float, optimal_fiber_length: float) -> float:
        """[kg] of a muscle: its section by the specific tension, as long as its fibers."""
        return max_isometric_force / self.specific_tension * self.density * optimal_fiber_length

    @abstractmethod
    def heat(self, fiber: Fiber) -> Array:
        """(...) heat [W] of activation, maintenance and shortening, without bounds."""

    def work(self, fiber: Fiber) -> Array:
        """(...) power [W] of the active fiber on what it moves."""
        work: Array = np.asanyarray(-fiber.active_force * fiber.speed)
        return work if self.negative_work else np.where(fiber.speed <= 0, work, 0.0)

    def power(self, fiber: Fiber) -> Array:
        """(...) metabolic power [W]: the formula, on floats and symbols."""
        heat: Array = self.heat(fiber)
        work = self.work(fiber)
        for least in self.least_heats(fiber):
            heat = np.maximum(heat, least)
        return heat + work

    def least_heats(self, fiber: Fiber) -> list[Array | float]:
        """(...) what heat is not below [W]."""
        floors: list[Array | float] = [-self.work(fiber)] if self.forbid_negative_power else []
        return [*floors, LEAST_HEAT * fiber.mass] if self.enforce_minimum_heat else floors

    def corners(self, fiber: Fiber) -> list[Array]:
        """Numbers (...) with a corner of the heat, as a function of the activation, where they change their signs."""
        return []


def recruited(excitation: Array | float, slow: Array | float) -> tuple[Array, Array]:
    """(slow, fast) fibers that an excitation recruits, the slow ones first.

    They are s sin(pi e / 2) and (1 - s)(1 - cos(pi e / 2)) [L. J. Bhargava, M. G. Pandy, F. C. Anderson, J. Biomech.
    37, 2004].
    """
    angle = np.pi / 2 * excitation
    return slow * np.sin(angle), (1 - slow) * (1 - np.cos(angle))


# ---- Bhargava's model of metabolic power ----------------------------------------------------------------------------


@frozen
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
        return fiber.mass * (activation + maintenance) - self._alpha(fiber) * fiber.speed

    def _maintained(self, length: Array | float) -> Array:
        """(...) L of the normalized length."""
        if not may_be_nonzero(self.length_rounding):
            return np.maximum(np.minimum(np.maximum(length, 0.5), 3 - 2 * length), 0.0)
        d = self.length_rounding
        above = [(y + np.sqrt(y * y + d * d)) / 2 for y in (length - 0.5, length - 1.0, length - 1.5)]
        return 0.5 + above[0] - 3 * above[1] + 2 * above[2]

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
        return lengthening + (shortening - lengthening) * (0.5 - 0.5 * np.tanh(speed))


# ---- Umberger's model of metabolic power ----------------------------------------------------------------------------


FAST_SHORTENING_HEAT, MAX_SLOW_SHORTENING_HEAT = 153.0, 100.0  # [W/kg] of fast and slow fibers at their vmax
FAST_TO_SLOW_SPEED = 2.5  # vmax of fast-twitch fibers over that of slow-twitch fibers
LENGTHENING_FACTOR = 4.0  # heat of lengthening over that of shortening slow fibers
LENGTHENING_FACTOR_WITHOUT_WORK = 0.3  # the same if negative work costs nothing


@frozen
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
        return fiber.mass * self.aerobic_factor * (keeping + moving)

    def work(self, fiber: Fiber) -> Array:
        return super().work(fiber._replace(active_force=np.maximum(fiber.active_force, 0.0)))

    def _slow(self, fiber: Fiber) -> Array | float:
        """(...) the share of slow-twitch fibers in those that are active."""
        if not self.recruitment:
            return fiber.slow
        slow, fast = recruited(fiber.excitation, fiber.slow)
        none = slow + fast <= 0
        return np.where(none, 1.0, slow / np.where(none, 1.0, slow + fast))
