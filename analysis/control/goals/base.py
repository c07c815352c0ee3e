"""The interface of all goals."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import field

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.content import content_key
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array

__all__ = ["ChangeGoal", "EndGoal", "Goal", "IntegralGoal", "check_weights"]


def check_weights(title: str, weights: Mapping[str, float]) -> None:
    """ValueError for a weight of a part of a goal that is negative or not finite."""
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"goal {title!r}: the weight of {name!r} must be finite and at least 0, not {weight}")


@dataclass(frozen=True)
class Goal(Record, ABC):
    """A term of the objective, times its `weight`. `name` names it in reports; by default that of its class.

    >>> from myoquat.analysis.control import Effort
    >>> Effort(weight=0.1).title
    'Effort'
    """

    weight: float = field(default=1.0, kw_only=True)
    name: str = field(default="", kw_only=True)

    @property
    def title(self) -> str:
        """Its name in reports."""
        return self.name or type(self).__name__

    def check(self, plant: Plant, timed: bool) -> None:
        """ValueError for what does not fit the plant. timed: whether the duration is fixed, so that data over time can
        be followed."""
        if not math.isfinite(self.weight):
            raise ValueError(f"goal {self.title!r}: the weight must be finite, not {self.weight}")

    def content(self, plant: Plant) -> Hashable:
        """What its formula computes with, beside its data: the key of kernels."""
        return content_key(self)


@dataclass(frozen=True)
class IntegralGoal(Goal):
    """A goal that is integrated over time, or, if `mean`, averaged over it: the base of goals with data of one's own.

    >>> from myoquat.analysis.control import Effort, IntegralGoal
    >>> Effort(mean=True).mean  # the integral over the duration
    True
    """

    mean: bool = field(default=False, kw_only=True)

    def width(self, plant: Plant) -> int:
        """How many numbers of data it takes at each time."""
        return 0

    def samples(self, plant: Plant, time: Array) -> Array:
        """(t, width) its data at the times [s]; ValueError for times that they do not cover."""
        return np.zeros((len(time), 0))

    @abstractmethod
    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        """(...) the integrand, from the data (..., width): the formula."""


class ChangeGoal(Goal):
    """A goal of how much controls or accelerations change from one point to the next, integrated over time.

    >>> from myoquat.analysis.control import ChangeGoal, Jerk
    >>> issubclass(Jerk, ChangeGoal)
    True
    """

    @abstractmethod
    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        """(...) what is integrated, from udot and controls of two points that are `step` [s] apart: the formula."""


class EndGoal(Goal):
    """A goal of both ends of the motion and of its duration.

    >>> from myoquat.analysis.control import Duration, EndGoal
    >>> issubclass(Duration, EndGoal)
    True
    """

    @abstractmethod
    def value(self, plant: Plant, ends: tuple[Point, Point], duration: Array) -> Array:
        """(...) from the first and the last point and the duration [s]: the formula."""
