"""Goals of one's own, in plain NumPy."""

from collections.abc import Callable
from typing import Any

from myoquat.analysis.control.goals.base import EndGoal, IntegralGoal
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import CALLABLE, check_type
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["OwnEndGoal", "OwnGoal"]


@dataclass(frozen=True)
class OwnGoal(IntegralGoal):
    """The integral of integrand(point), a plain NumPy formula of a `Point` that returns one number.

    The formula is traced and differentiated, so that it may not branch on values (`np.where`, `np.maximum`).

    >>> from myoquat.analysis.control import OwnGoal
    >>> OwnGoal(lambda point: point["force"] ** 2, name="squared force").title
    'squared force'
    """

    formula: Callable[[Point], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type("formula", self.formula, CALLABLE)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return as_array(self.formula(point))


@dataclass(frozen=True)
class OwnEndGoal(EndGoal):
    """formula(first, last, duration), of the first and the last `Point` and the duration [s]: one number.

    >>> from myoquat.analysis.control import OwnEndGoal
    >>> farthest = OwnEndGoal(lambda first, last, duration: first["x"] - last["x"], name="distance")
    """

    formula: Callable[[Point, Point, Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type("formula", self.formula, CALLABLE)

    def value(self, plant: Plant, ends: tuple[Point, Point], duration: Array) -> Array:
        return as_array(self.formula(*ends, duration))
