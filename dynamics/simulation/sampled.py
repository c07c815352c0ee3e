"""A feedback law in one run of a digital controller: called once a period, its values held in between."""

import math
from collections.abc import Callable

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.simulation.controls import Control
from myoquat.dynamics.simulation.feedback import StateFeedback, check_returned
from myoquat.dynamics.simulation.schedule import STEP_COUNT_TOLERANCE

__all__ = ["SampledFeedback"]

SAMPLE_TIME_TOLERANCE = 1e-6  # of a period: how much rounding may move the time of a row before that of its sample


class SampledFeedback(Control):
    """The values of a law of a period in one run: each held until the next.

    name   of the input.
    check  validates values (..., n).
    """

    def __init__(self, name: str, feedback: StateFeedback, check: Callable[[ArrayLike], Array]) -> None:
        super().__init__(name, _unknown, check)
        self._law = feedback.law
        self.period = math.inf if feedback.period is None else feedback.period
        self._times: list[float] = []
        self._values: list[Array] = []

    def steps(self, h: float) -> int:
        """How many steps of h [s] a period has; ValueError if it is no whole number of them."""
        count = round(self.period / h)
        if count < 1 or abs(count * h - self.period) > STEP_COUNT_TOLERANCE * max(count, 1000) * h:
            raise ValueError(
                f"{self.name}: the period of the feedback, {self.period:g} s, is no whole number of steps of {h:g} s"
            )
        return count

    def sample(self, t: float, q: Array, u: Array, stopped: Array | bool = False) -> None:
        """Call the law at time t and the states q (..., nq), u (..., nu), and hold what it returns; NaN for states that
        have `stopped` (...)."""
        returned = self._law(np.array(t), q.copy(), u.copy())
        values = check_returned(self.name, returned, q.shape[:-1], self._check, stopped)
        self._times.append(t)
        self._values.append(values)

    def over(self, start: float, h: float, steps: int) -> Array:
        """The values that are held now."""
        return self._values[-1]

    def at(self, times: Array) -> Array:
        """(..., t, n) the values held at times (t,), those at a sample belonging to it."""
        found = np.searchsorted(np.array(self._times), times + SAMPLE_TIME_TOLERANCE * self.period, side="right") - 1
        return np.stack([self._values[max(k, 0)] for k in found], axis=-2)


def _unknown(time: float) -> ArrayLike:
    """No values by the time alone: `SampledFeedback` returns those of its samples."""
    raise ValueError(f"no sample at {time} s")
