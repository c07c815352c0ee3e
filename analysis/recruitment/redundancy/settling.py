"""Newton's method for frames of which a solution nearby is known: of bent force laws, and of a frame beside.

At activations a and reserves c the forces are taken as their tangents, and the effort, with what the bend of the forces
is worth at the multipliers y of the equations, as a sum of squares about a point: sequential quadratic programming
[J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., 2006, section 18.1], whose programs `squares` solves from
the multipliers that are known. What ends elsewhere than at a solution is told apart by the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status
from myoquat.analysis.recruitment.redundancy.equations import Demands, Effort
from myoquat.analysis.recruitment.redundancy.rounds import settled_rounds
from myoquat.core.typing import Array

__all__ = ["Settling"]

MET = 1e-9  # of the greatest torque: what the forces may miss
CERTAIN = 1e-9  # of the effort: what it may be above its bound
SMALL = 1e-4  # of the greatest weight: an effort below it is not told from zero more finely


@dataclass
class Settling:
    """The frames of `demands`, whose effort has a curvature everywhere and whose joints have no cones."""

    demands: Demands
    effort: Effort
    backend: str

    @staticmethod
    def applies(demands: Demands, effort: Effort) -> bool:
        """Whether the effort is one of squares or higher powers of all activations and reserves, without cones."""
        weights = effort.of_muscles(demands.model.muscle_names)
        positive = weights.min(initial=1.0) > 0 and all(reserve.weight > 0 for reserve in demands.reserves)
        return bool(2 <= effort.power < np.inf and effort.of == "activation" and positive and not demands.cones)

    def __post_init__(self) -> None:
        demands, effort = self.demands, self.effort
        self.m = demands.lengths.shape[1]
        r = demands.reserves
        self.weights = _beside(demands.weights(effort), [x.weight for x in r])
        self.centre = _beside(demands.targets(effort), [0.0] * len(r))
        self.low = _beside(demands.low, [x.lower for x in r])
        self.high = _beside(demands.high, [x.upper for x in r])
        self.enough = MET * np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)

    def settled(self, x: Array, y: Array) -> tuple[Solutions, Array]:
        """From activations and reserves x (k, n) and multipliers y (k, e): the solutions, UNSETTLED where there is
        none nearby, and the forces there and their slopes (k, m, 2). The bound is what y proves where the forces are
        their tangents: it says whether x is stationary."""
        demands, (k, n) = self.demands, x.shape
        alike = not demands.helps.strides[0]
        found = settled_rounds(
            {"arms": demands.arms, "helps": demands.helps[:1] if alike else demands.helps, "torque": demands.torque,
             "enough": self.enough, "x_start": x, "y_start": y, "lengths": demands.lengths, "speeds": demands.speeds,
             "weight": self.weights, "centre": self.centre, "low": self.low, "high": self.high},
            demands.bending, self.effort.power, self.backend,
        )  # fmt: skip
        objective, bound = found["objective"], found["floor"]
        size = np.maximum(objective, SMALL * self.weights.max(axis=-1, initial=0.0))
        solved = (found["done"] > 0) & (np.abs(objective - bound) <= CERTAIN * size)
        solved &= np.abs(found["lack"]).max(axis=-1, initial=0.0) <= self.enough
        status = np.where(solved, Status.SOLVED, Status.UNSETTLED)
        solutions = Solutions(found["x"][:, :n], status, objective, bound, found["price"], np.zeros((k, 0, 3)),
                              found["lack"], found["rounds"].astype(int))  # fmt: skip
        return solutions, found["bent"][:, : self.m, :2]


def _beside(muscles: Array, reserves: Sequence[float]) -> Array:
    """(k, m + r) numbers of muscles (k, m) beside those of the reserves; (1, m + r) where they are one for all."""
    rows = muscles[:1] if muscles.strides[0] == 0 else muscles
    parts = rows, np.broadcast_to(np.asarray(reserves, float), (len(rows), len(reserves)))
    return np.concatenate(parts, axis=-1)
