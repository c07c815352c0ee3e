"""Warm-started sequential quadratic programming, for frames with a known solution nearby.

The start is a solution of affine force models, or of the neighbouring frames. At activations a and reserves c the
forces are replaced by their tangents. The Lagrangian, with the curvature of the forces at the multipliers y, becomes a
weighted sum of squares about a point [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., 2006, section 18.1].
`squares` solves these programs from the last multipliers. The bound distinguishes solutions from other end points.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status
from myoquat.analysis.recruitment.redundancy.equations import Demands, Effort
from myoquat.analysis.recruitment.redundancy.sequential_program import sequential_iterations
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["SequentialProgramming"]

RESIDUAL_TOLERANCE = 1e-9  # of the greatest torque: residual of the equations
GAP_TOLERANCE = 1e-9  # of the effort: a solution exceeds its bound by no more
SMALL_EFFORT = 1e-4  # of the greatest weight: gaps of smaller efforts are relative to this


@dataclass
class SequentialProgramming:
    """The frames of `demands`; their effort has a positive curvature everywhere, and their joints have no cones."""

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
        self.enough = RESIDUAL_TOLERANCE * np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)

    def solved(self, x: Array, y: Array) -> tuple[Solutions, Array]:
        """The solutions from a start, and the forces there and their slopes (k, m, 2).

        The start has activations and reserves x (k, n) and multipliers y (k, e). A frame is UNSOLVED if there is no
        solution nearby. The bound is the one that y proves for the tangents of the forces: it says whether x is
        stationary.
        """
        demands, (k, n) = self.demands, x.shape
        shared = not demands.helps.strides[0]
        found = sequential_iterations(
            {"arms": demands.arms, "helps": demands.helps[:1] if shared else demands.helps, "torque": demands.torque,
             "enough": self.enough, "x_start": x, "y_start": y, "lengths": demands.lengths, "speeds": demands.speeds,
             "weight": self.weights, "centre": self.centre, "low": self.low, "high": self.high},
            demands.laws, self.effort.power, self.backend,
        )  # fmt: skip
        objective, bound = found["objective"], found["floor"]
        size = np.maximum(objective, SMALL_EFFORT * self.weights.max(axis=-1, initial=0.0))
        solved = (found["done"] > 0) & (np.abs(objective - bound) <= GAP_TOLERANCE * size)
        solved &= np.abs(found["lack"]).max(axis=-1, initial=0.0) <= self.enough
        status = np.where(solved, Status.SOLVED, Status.UNSOLVED)
        solutions = Solutions(found["x"][:, :n], status, objective, bound, found["price"], np.zeros((k, 0, 3)),
                              found["lack"], found["iterations"].astype(int))  # fmt: skip
        return solutions, found["bent"][:, : self.m, :2]


def _beside(muscles: Array, reserves: Sequence[float]) -> Array:
    """(k, m + r) numbers of muscles (k, m) beside those of the reserves; (1, m + r) where they are one for all."""
    rows = muscles[:1] if muscles.strides[0] == 0 else muscles
    parts = rows, np.broadcast_to(np.asarray(reserves, float), (len(rows), len(reserves)))
    return np.concatenate(parts, axis=-1)
