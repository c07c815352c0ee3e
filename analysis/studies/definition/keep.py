"""What a study keeps: final states, states at given times, summaries."""

import math
from collections.abc import Sequence
from functools import reduce
from math import gcd
from typing import Any

import numpy as np

from myoquat.analysis.studies.definition.summaries import SUMMARIES
from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass

__all__ = ["Keep"]

MIN_SUMMARY_STATES = 200  # about the number of states of a run that summaries use, unless more are wanted


@dataclass(frozen=True)
class Keep:
    """What a study keeps of each run.

    final         whether the final state is kept
    times         a number of equally spaced ones up to the end, or a list [s], multiples of the step
    summaries     names in `SUMMARIES`
    summary_step  [s] between the states of summaries; None for about 200 states in a run
    steps         number of steps of a run
    step          [s] of the integrator
    """

    final: bool
    times: int | tuple[float, ...]
    summaries: tuple[str, ...]
    summary_step: float | None
    steps: int
    step: float

    def __post_init__(self) -> None:
        unknown = [name for name in self.summaries if name not in SUMMARIES]
        if unknown:
            raise ValueError(
                f"the summary {unknown[0]!r} is unknown; there are: {', '.join(SUMMARIES)}; "
                "`myoquat.analysis.studies.definition.summaries.register` adds one"
            )
        if len(set(self.summaries)) < len(self.summaries):
            raise ValueError(f"a summary is named twice: {', '.join(self.summaries)}")
        if not (self.final or self.summaries or len(self.time_steps)):
            raise ValueError("the study keeps nothing: ask for final values, times or summaries")
        _ = self.every  # what it asks for must lie on the steps

    @property
    def time_steps(self) -> tuple[int, ...]:
        """The steps after which the state is kept."""
        if isinstance(self.times, tuple):
            return tuple(self._whole("times", t) for t in _ascending(self.times))
        if self.times < 0 or self.times > self.steps:
            raise ValueError(f"times must be a number from 0 to the {self.steps} steps, or a list, not {self.times}")
        wanted = np.arange(1, self.times + 1) * self.steps
        if np.any(wanted % max(self.times, 1)):
            raise ValueError(f"{self.steps} steps cannot be cut into {self.times} equal parts; give times as a list")
        return tuple((wanted // max(self.times, 1)).tolist())

    @property
    def every(self) -> int:
        """Steps between the states that a run has to show: all that are kept or looked at lie on these."""
        numbers = [*self.time_steps, *([self.summary_every] if self.summaries else [])]
        return reduce(gcd, numbers, self.steps) or 1

    @property
    def summary_every(self) -> int:
        """Steps between the states that summaries are taken over: a divisor of the number of steps."""
        if self.summary_step is not None:
            every = self._whole("summary_step", self.summary_step)
            if every < 1 or self.steps % every:
                raise ValueError(f"summary_step must divide the duration, which {self.summary_step} s does not")
            return every
        wanted = max(1, self.steps // MIN_SUMMARY_STATES)
        return next(n for n in range(wanted, 0, -1) if self.steps % n == 0)

    def _whole(self, name: str, t: float) -> int:
        """The number of the step that ends at time t."""
        ratio = t / self.step
        number = round(ratio) if math.isfinite(ratio) else -1
        if not 0 <= number <= self.steps or abs(number * self.step - t) > 1e-9 * max(1.0, abs(t)):
            raise ValueError(
                f"{name}: {t} s is not one of the steps of {self.step} s up to {self.steps * self.step:g} s"
            )
        return number


def _ascending(times: Sequence[float]) -> Sequence[float]:
    values: Any = real_array("times", times)
    if not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
        raise ValueError(f"times must be finite and ascend, not {list(times)}")
    return times
