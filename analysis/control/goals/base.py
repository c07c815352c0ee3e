"""The interface of all goals, goals of one's own, and those of ends, smooth motions and smooth controls."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core import CALLABLE, Array, Record, by_pattern, check_type, content_key, frozen, indices_of
from myoquat.kernels.symbolic.arrays import as_array


def check_weights(title: str, weights: Mapping[str, float]) -> None:
    """ValueError for a weight of a part of a goal that is negative or not finite."""
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"goal {title!r}: the weight of {name!r} must be finite and at least 0, not {weight}")


def weights_of(title: str, what: str, weights: Mapping[str, float], names: Sequence[str]) -> tuple[float, ...]:
    """The weight of every name, from names and patterns such as "*_r", of which the last one counts; 1 without any.

    ValueError for a weight that is negative or not finite, and for a name or pattern that fits none.
    """
    check_weights(title, weights)
    found = by_pattern(what, weights, names)
    return tuple(float(found.get(name, 1.0)) for name in names)


@frozen
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
        return content_key(replace(self, weight=1.0, name=""))


@frozen
class IntegralGoal(Goal):
    """A goal that is integrated over time, or, if `mean`, averaged over it: the base of goals with data of one's own.

    >>> from myoquat.analysis.control import Effort, IntegralGoal
    >>> Effort(mean=True).mean  # the integral over the duration
    True
    """

    mean: bool = field(default=False, kw_only=True)

    def samples(self, plant: Plant, time: Array) -> Array:
        """(t, n) its data at the times [s]; ValueError for times that they do not cover."""
        return np.zeros((len(time), 0))

    @abstractmethod
    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        """(...) the integrand, from the data (..., n): the formula."""


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


@frozen
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


@frozen
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


@frozen
class Duration(EndGoal):
    """The duration [s] of the motion, to be as short as possible.

    >>> from myoquat.analysis.control import Duration
    >>> Duration(weight=2.0)
    Duration(weight=2.0, name='')
    """

    def value(self, plant: Plant, ends: tuple[Point, Point], duration: Array) -> Array:
        return duration


@frozen
class WeightedGoal(Goal):
    """A goal of quantities by name, each with one of the `weights`, 1 where a name is missing; those that `of` names
    alone count, or all if it is None. A subclass says in `_what` what the quantities are, and in `_names` what they are
    called.
    """

    _what: ClassVar[str] = "velocity"
    _many: ClassVar[str] = "velocities"
    weights: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    of: tuple[str, ...] | None = field(default=None, kw_only=True)

    def _names(self, plant: Plant) -> Sequence[str]:
        """The names of the quantities."""
        return plant.velocity_names

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if not self._names(plant):
            raise ValueError(f"goal {self.title!r}: the problem has no {self._many}")
        self._factors(plant)

    def content(self, plant: Plant) -> Hashable:
        return type(self).__name__, self._factors(plant)

    def _factors(self, plant: Plant) -> tuple[float, ...]:
        """The weight of every quantity, 0 for one that does not count."""
        names = self._names(plant)
        indices_of(self._what, self.of or (), names)
        weights = weights_of(self.title, self._what, self.weights, names)
        counted = names if self.of is None else self.of
        return tuple(weight * (name in counted) for name, weight in zip(names, weights, strict=True))

    def _summed(self, plant: Plant, terms: Array) -> Array:
        """(...) the weighted sum of the terms (..., n) of all quantities."""
        return np.sum(terms * self._factors(plant), axis=-1)


@frozen
class Accelerations(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i udot_i^2 over the velocities u [rad/s, m/s]; `weights` by their names, 1 where a name
    is missing.

    >>> from myoquat.analysis.control import Accelerations
    >>> Accelerations(weight=1e-3).title
    'Accelerations'
    """

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, point.udot**2)


@frozen
class Jerk(WeightedGoal, ChangeGoal):
    """The integral of sum_i w_i (d udot_i/dt)^2 over the velocities, from differences of the accelerations at
    neighbouring points of the transcription. `weights` by the names of velocities, 1 where a name is missing.

    >>> from myoquat.analysis.control import Jerk
    >>> Jerk(weights={"elbow_dot": 2.0}).title
    'Jerk'
    """

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        return self._summed(plant, ((after.udot - before.udot) / step[..., None]) ** 2)


@frozen
class ControlRates(WeightedGoal, ChangeGoal):
    """The integral of sum_i w_i (dc_i/dt)^2 over the controls, from differences at neighbouring points of the
    transcription. `weights` by the names of controls, 1 where a name is missing.

    >>> from myoquat.analysis.control import ControlRates
    >>> ControlRates(weight=1e-3).title
    'ControlRates'
    """

    _what = "control"
    _many = "controls"

    def _names(self, plant: Plant) -> Sequence[str]:
        return plant.control_names

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        return self._summed(plant, ((after.controls - before.controls) / step[..., None]) ** 2)
