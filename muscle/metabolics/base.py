"""What every model of metabolic power shares: the state of a fiber, its mass, and bounds of what it can cost."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.muscle.laws import HillLaw

__all__ = ["Fiber", "MetabolicCost", "recruited"]

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


@dataclass(frozen=True)
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
