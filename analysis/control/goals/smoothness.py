"""Smooth motions and controls: accelerations, jerk, and rates of controls."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from myoquat.analysis.control.goals.base import ChangeGoal, IntegralGoal, check_weights
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array

__all__ = ["Accelerations", "ControlRates", "Jerk"]


def _checked(title: str, weights: Mapping[str, float], names: tuple[str, ...], what: str) -> None:
    if not names:
        raise ValueError(f"goal {title!r}: the problem has no {what}")
    indices_of(what, weights, names)
    check_weights(title, weights)


def _factors(weights: Mapping[str, float], names: tuple[str, ...]) -> tuple[float, ...]:
    return tuple(float(weights.get(name, 1.0)) for name in names)


@dataclass(frozen=True)
class Accelerations(IntegralGoal):
    """The integral of sum_i w_i udot_i^2 over the velocities u [rad/s, m/s]; `weights` by their names, 1 where a name
    is missing.

    >>> from myoquat.analysis.control import Accelerations
    >>> Accelerations(weight=1e-3).title
    'Accelerations'
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        _checked(self.title, self.weights, plant.velocity_names, "velocity")

    def content(self, plant: Plant) -> Hashable:
        return "accelerations", _factors(self.weights, plant.velocity_names)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        result: Array = np.sum(point.udot**2 * _factors(self.weights, plant.velocity_names), axis=-1)
        return result


@dataclass(frozen=True)
class Jerk(ChangeGoal):
    """The integral of sum_i w_i (d udot_i/dt)^2 over the velocities, from differences of the accelerations at
    neighbouring points of the transcription. `weights` by the names of velocities, 1 where a name is missing.

    >>> from myoquat.analysis.control import Jerk
    >>> Jerk(weights={"elbow_dot": 2.0}).title
    'Jerk'
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        _checked(self.title, self.weights, plant.velocity_names, "velocity")

    def content(self, plant: Plant) -> Hashable:
        return "jerk", _factors(self.weights, plant.velocity_names)

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        rate = (after.udot - before.udot) / step[..., None]
        result: Array = np.sum(rate**2 * _factors(self.weights, plant.velocity_names), axis=-1)
        return result


@dataclass(frozen=True)
class ControlRates(ChangeGoal):
    """The integral of sum_i w_i (dc_i/dt)^2 over the controls, from differences at neighbouring points of the
    transcription. `weights` by the names of controls, 1 where a name is missing.

    >>> from myoquat.analysis.control import ControlRates
    >>> ControlRates(weight=1e-3).title
    'ControlRates'
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        _checked(self.title, self.weights, plant.control_names, "control")

    def content(self, plant: Plant) -> Hashable:
        return "control rates", _factors(self.weights, plant.control_names)

    def integrand(self, plant: Plant, before: Point, after: Point, step: Array) -> Array:
        rate = (after.controls - before.controls) / step[..., None]
        result: Array = np.sum(rate**2 * _factors(self.weights, plant.control_names), axis=-1)
        return result
