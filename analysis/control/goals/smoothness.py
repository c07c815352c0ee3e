"""Smooth motions and controls: accelerations, jerk, and rates of controls."""

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np

from myoquat.analysis.control.goals.base import ChangeGoal, Goal, IntegralGoal, check_weights
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import indices_of
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Accelerations", "ControlRates", "Jerk"]


@dataclass(frozen=True)
class _Squares(Goal):
    """A goal of weighted squares of velocities' rates or of controls, whose names `_names` gives."""

    _what: ClassVar[str] = "velocity"
    weights: Mapping[str, float] = field(default_factory=dict)

    def _names(self, plant: Plant) -> tuple[str, ...]:
        """The names of the squared quantities."""
        return plant.velocity_names

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if not self._names(plant):
            raise ValueError(f"goal {self.title!r}: the problem has no {self._what}")
        indices_of(self._what, self.weights, self._names(plant))
        check_weights(self.title, self.weights)

    def content(self, plant: Plant) -> Hashable:
        return type(self).__name__, self._factors(plant)

    def _factors(self, plant: Plant) -> tuple[float, ...]:
        return tuple(float(self.weights.get(name, 1.0)) for name in self._names(plant))

    def _summed(self, plant: Plant, x: Array) -> Array:
        """(...) the weighted sum of the squares of x (..., n)."""
        result: Array = np.sum(x**2 * self._factors(plant), axis=-1)
        return result


@dataclass(frozen=True)
class Accelerations(_Squares, IntegralGoal):
    """The integral of sum_i w_i udot_i^2 over the velocities u [rad/s, m/s]; `weights` by their names, 1 where a name
    is missing.

    >>> from myoquat.analysis.control import Accelerations
    >>> Accelerations(weight=1e-3).title
    'Accelerations'
    """

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, point.udot)


@dataclass(frozen=True)
class Jerk(_Squares, ChangeGoal):
    """The integral of sum_i w_i (d udot_i/dt)^2 over the velocities, from differences of the accelerations at
    neighbouring points of the transcription. `weights` by the names of velocities, 1 where a name is missing.

    >>> from myoquat.analysis.control import Jerk
    >>> Jerk(weights={"elbow_dot": 2.0}).title
    'Jerk'
    """

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        return self._summed(plant, (after.udot - before.udot) / step[..., None])


@dataclass(frozen=True)
class ControlRates(_Squares, ChangeGoal):
    """The integral of sum_i w_i (dc_i/dt)^2 over the controls, from differences at neighbouring points of the
    transcription. `weights` by the names of controls, 1 where a name is missing.

    >>> from myoquat.analysis.control import ControlRates
    >>> ControlRates(weight=1e-3).title
    'ControlRates'
    """

    _what: ClassVar[str] = "control"

    def _names(self, plant: Plant) -> tuple[str, ...]:
        return plant.control_names

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        return self._summed(plant, (after.controls - before.controls) / step[..., None])
