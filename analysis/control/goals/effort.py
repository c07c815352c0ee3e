"""Effort: powers of the controls, integrated."""

from collections.abc import Hashable, Mapping
from dataclasses import field

import numpy as np

from myoquat.analysis.control.goals.base import IntegralGoal, check_weights
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import indices_of
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Effort"]


@dataclass(frozen=True)
class Effort(IntegralGoal):
    """The integral of sum_i w_i c_i^exponent over the controls c_i; of an odd exponent |c_i|^exponent.

    weights: w_i by the names of controls, 1 where a name is missing; `of` names the controls that count, all by
    default. Moco's MocoControlGoal is that without division by the displacement.

    >>> from myoquat.analysis.control import Effort
    >>> Effort(weights={"residual": 10.0}).exponent
    2
    """

    exponent: int = 2
    weights: Mapping[str, float] = field(default_factory=dict)
    of: tuple[str, ...] | None = None

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        if not plant.control_names:
            raise ValueError(f"goal {self.title!r}: the problem has no controls; give muscles, actuators or torques")
        indices_of("control", [*self.weights, *(self.of or ())], plant.control_names)
        check_weights(self.title, self.weights)
        if self.exponent < 1 or not float(self.exponent).is_integer():
            raise ValueError(f"goal {self.title!r}: the exponent must be a whole number from 1 on, not {self.exponent}")

    def content(self, plant: Plant) -> Hashable:
        return "effort", self.exponent, tuple(self._factors(plant))

    def _factors(self, plant: Plant) -> list[float]:
        counted = plant.control_names if self.of is None else self.of
        return [float(self.weights.get(name, 1.0)) if name in counted else 0.0 for name in plant.control_names]

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        powers = point.controls**self.exponent
        result: Array = np.sum((powers if self.exponent % 2 == 0 else np.abs(powers)) * self._factors(plant), axis=-1)
        return result
