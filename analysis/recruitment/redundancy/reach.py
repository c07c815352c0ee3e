"""The activations that activation dynamics can reach from one frame to the next."""

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.model import Model

__all__ = ["Reach", "reachable"]

MAX_STEP_PER_TIME_CONSTANT = 0.1  # of the integration, in the shortest time constant


def reachable(model: Model, a: Array, step: ArrayLike) -> tuple[Array, Array]:
    """(..., m) the least and the greatest activation that a (..., m) reaches in `step` (...) [s].

    The excitations are constant, 0 and 1. Muscles without activation dynamics have -inf and inf. The method is the
    Runge-Kutta method of order 4, with an error of about 1e-6.
    """
    low, high = np.full(a.shape, -np.inf), np.full(a.shape, np.inf)
    reach, size = Reach(model), a.shape[:-1]
    for number, _ in enumerate(reach.dynamics):
        rows = reach.dynamics_index == number
        along = np.broadcast_to(real_array("step", step)[..., None], (*size, int(rows.sum())))
        low[..., rows], high[..., rows] = (_after(reach.dynamics[number], e, a[..., rows], along) for e in (0.0, 1.0))
    return low, high


class Reach:
    """The activation dynamics of a model's muscles: `dynamics`, all that differ, and `dynamics_index` (m,), the number
    of each muscle's, -1 for none."""

    def __init__(self, model: Model) -> None:
        each = [muscle.activation_dynamics for muscle in model.muscles]
        self.dynamics = list(dict.fromkeys(own for own in each if own is not None))
        self.dynamics_index = np.array([-1 if own is None else self.dynamics.index(own) for own in each], dtype=int)

    @property
    def least(self) -> Array:
        """(m,) the least activation that a muscle's dynamics know; 0 where it has none."""
        return np.array([0.0 if k < 0 else self.dynamics[k].minimum_activation for k in self.dynamics_index])

    def after(self, muscle: Array, excitation: Array, a: Array, step: Array) -> Array:
        """(l, ...) activations of muscles (l,) that begin at a (l, ...), after steps (l,) [s] of excitations (l,)."""
        found, wide = np.empty(a.shape), (-1, *(a.ndim - 1) * [1])
        for number, dynamics in enumerate(self.dynamics):
            rows = self.dynamics_index[muscle] == number
            e, h = (np.broadcast_to(v[rows].reshape(wide), a[rows].shape) for v in (excitation, step))
            found[rows] = _after(dynamics, e, a[rows], h)
        return found


def _after(dynamics: ActivationDynamics, e: float | Array, a: Array, step: Array) -> Array:
    """(...) activations after steps (...) of a constant excitation."""
    shortest = min(dynamics.activation_time, dynamics.deactivation_time) / 2
    count = max(int(np.ceil(step.max(initial=0.0) / (MAX_STEP_PER_TIME_CONSTANT * shortest))), 1)
    h, excitation = step / count, np.broadcast_to(np.asarray(e, dtype=float), a.shape)
    for _ in range(count):
        a = dynamics.advanced(a, (excitation, excitation, excitation), h)
    return a
