"""Newton's method for frames of which a solution nearby is known: of bent force laws, and of a frame beside.

At activations a and reserves c the forces are taken as their tangents, and the effort, with what the bend of the forces
is worth at the multipliers y of the equations, as a sum of squares about a point: sequential quadratic programming
[J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., 2006, section 18.1], whose programs `squares` solves from
the multipliers that are known. What ends elsewhere than at a solution is told apart by the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from myoquat.analysis.muscles.convex import Solutions, Status, terms
from myoquat.analysis.muscles.convex.program import in_one_pass
from myoquat.analysis.muscles.convex.solve import powers_of_two
from myoquat.analysis.muscles.convex.squares import solved_squares
from myoquat.analysis.muscles.recruitment.equations import Demands, Effort
from myoquat.analysis.muscles.recruitment.lines import bends
from myoquat.kernels.typing import Array

__all__ = ["Settling"]

MET = 1e-9  # of the greatest torque: what the forces may miss
STILL = 1e-6  # activations that change by less are at the end of what is worth another step
CERTAIN = 1e-9  # of the effort: what it may be above its bound
ROUNDS = 20
CONVEX = 0.2  # of the effort's curvature: the least that the bend of a force leaves
SMALLEST = 0.005  # activation or reserve at which the curvature of a power above 2 is taken
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
        (k, m), r = demands.lengths.shape, demands.reserves
        self.A = np.concatenate([demands.arms, demands.columns], axis=-1)
        self.weights = _beside(effort.of_muscles(demands.model.muscle_names), [x.weight for x in r], (k, m))
        self.centre = _beside(effort.targets(k, m), [0.0] * len(r), (k, m))
        self.low = _beside(demands.low, [x.lower for x in r], (k, m))
        self.high = _beside(demands.high, [x.upper for x in r], (k, m))
        self.scale = 1 / powers_of_two(np.sqrt(np.einsum("ken,ken->ke", self.A, self.A)))
        self.enough = MET * np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)

    def settled(self, x: Array, y: Array) -> tuple[Solutions, Array]:
        """From activations and reserves x (k, n) and multipliers y (k, e): the solutions, UNSETTLED where there is
        none nearby, and the slopes (k, m) of the forces there."""
        demands, (k, m) = self.demands, self.demands.lengths.shape
        x, y = np.clip(x, self.low, self.high), y.copy()
        slopes, residual = np.zeros((k, m)), np.zeros(y.shape)
        steps, last = np.zeros(k, dtype=int), np.full(k, np.inf)
        open_, A = np.arange(k), self.A
        for _ in range(ROUNDS):
            F, F1, F2 = bends(partial(demands.tensions, frames=open_), x[open_, :m], demands.lower)
            off = in_one_pass(A, np.concatenate([F, x[open_, m:]], axis=-1)) - demands.torque[open_]
            slopes[open_], residual[open_] = F1, off
            goes = (np.abs(off).max(axis=-1, initial=0.0) > self.enough[open_]) | (last[open_] > STILL)
            if not goes.all():
                open_, A, F1, F2, off = open_[goes], A[goes], F1[goes], F2[goes], off[goes]
            if not len(open_):
                break
            after, multipliers, found = self._step(open_, A, F1, F2, x[open_], y[open_], off)
            last[open_] = np.abs(after - x[open_])[:, :m].max(axis=-1, initial=0.0)
            steps[open_] += 1
            if not found.all():
                open_, A, after, multipliers = open_[found], A[found], after[found], multipliers[found]
            x[open_], y[open_] = after, multipliers
        return self._solutions(x, y, slopes, residual, steps), slopes

    def _step(self, open_: Array, A: Array, F1: Array, F2: Array, x: Array, y: Array, residual: Array
              ) -> tuple[Array, Array, Array]:  # fmt: skip
        """The next x and y, and where there are such."""
        w, p, away = self.weights[open_], self.effort.power, x - self.centre[open_]
        gains = self._gains(F1)
        price = in_one_pass(np.swapaxes(A, -1, -2), y)
        H = own = terms.curvature(w, p, self._size(w, gains * price, away))
        H[:, : self.m] = np.maximum(own[:, : self.m] - F2 * price[:, : self.m], CONVEX * own[:, : self.m])
        scale, low, high = self.scale[open_], self.low[open_], self.high[open_]
        pull = np.where(low < high, terms.slope(w, p, away) / H, 0.0)
        point, y, _, status, _ = solved_squares(
            {"A": A, "scale": scale, "target": scale * (in_one_pass(A, gains * pull) - residual), "gains": gains,
             "lowers": low - x + pull, "uppers": high - x + pull, "weights": H / 2, "start": y / scale}, self.backend
        )  # fmt: skip
        after = np.clip(x + (point[:, : x.shape[1], 0] - pull), low, high)
        return after, y * scale, status == Status.SOLVED

    def _size(self, w: Array, price: Array, away: Array) -> Array:
        """(k, n) at which curvatures are taken: where x is, or farther out, where the price brings it, and not too near
        zero, where high powers are flat."""
        p = self.effort.power
        if p == 2:
            return np.abs(away)
        goal = (np.abs(price) / (w * p)) ** (1 / (p - 1))
        return np.clip(goal, np.maximum(np.abs(away), SMALLEST), 1.0)

    def _gains(self, F1: Array) -> Array:
        """(k, n) by which the columns of A are taken: slopes of the muscles, 1 of the reserves."""
        return np.concatenate([F1, np.ones((len(F1), self.A.shape[-1] - F1.shape[1]))], axis=-1)

    def _solutions(self, x: Array, y: Array, slopes: Array, residual: Array, steps: Array) -> Solutions:
        """With the bound that y proves where the forces are their tangents, which says whether x is a solution."""
        w, p, away = self.weights, self.effort.power, x - self.centre
        price = in_one_pass(np.swapaxes(self.A, -1, -2), y) * self._gains(slopes)
        low, high = terms.reach(away, self.low - self.centre, self.high - self.centre)
        objective = terms.cost(w, p, away).sum(axis=-1)
        least = terms.least(w, p, price, low, high)
        bound = (price * away + least).sum(axis=-1) - (y * residual).sum(axis=-1)
        size = np.maximum(objective, SMALL * w.max(axis=-1, initial=0.0))
        met = np.abs(residual).max(axis=-1, initial=0.0) <= self.enough
        status = np.where(met & (np.abs(objective - bound) <= CERTAIN * size), Status.SOLVED, Status.UNSETTLED)
        return Solutions(x, status, objective, bound, y, np.zeros((len(x), 0, 3)), residual, steps)


def _beside(muscles: Array, reserves: Sequence[float], shape: tuple[int, int]) -> Array:
    """(k, m + r) numbers of muscles (k, m), or (m,) for all frames, beside those of the reserves."""
    parts = np.broadcast_to(muscles, shape), np.broadcast_to(np.asarray(reserves, float), (shape[0], len(reserves)))
    return np.concatenate(parts, axis=-1)
