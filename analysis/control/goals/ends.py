"""Goals of the ends of a motion."""

from collections.abc import Hashable

from myoquat.analysis.control.goals.base import EndGoal
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Duration"]


@dataclass(frozen=True)
class Duration(EndGoal):
    """The duration [s] of the motion, to be as short as possible.

    >>> from myoquat.analysis.control import Duration
    >>> Duration(weight=2.0)
    Duration(weight=2.0, name='')
    """

    def content(self, plant: Plant) -> Hashable:
        return "duration"

    def value(self, plant: Plant, ends: tuple[Point, Point], duration: Array) -> Array:
        return duration
