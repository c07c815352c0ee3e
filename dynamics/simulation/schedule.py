"""When a simulation computes and stores states: its duration, its steps and its rows."""

import math
from functools import cached_property
from numbers import Real

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Schedule", "Timing"]

STEP_COUNT_TOLERANCE = 1e-9  # relative: 4 / 1e-3 is 4000 steps in spite of rounding
DEFAULT_STEP = 1e-3
MOST_STEPS = 10**9  # hours of computing; more are a slip of the pen


@dataclass(frozen=True)
class Schedule:
    """`steps` steps of h [s]; every `every`-th one is kept."""

    h: float
    steps: int
    every: int

    @classmethod
    def of(cls, duration: float, step: float | None, output_step: float | None) -> "Schedule":
        """Steps of at most `step` (1e-3 s if None) that fill `output_step`, or `duration` if every step is kept.

        The last row is the last multiple of output_step within the duration. Raises ValueError for a time that is
        not positive and finite, or an output_step longer than the duration.
        """
        step = DEFAULT_STEP if step is None else step
        for name, value in (("duration", duration), ("step", step), ("output_step", output_step)):
            if value is not None and not (isinstance(value, Real) and value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite [s], not {value!r}")
        if output_step is None:
            steps = _whole(duration, step)
            return cls(duration / steps, steps, 1)
        if duration / MOST_STEPS > output_step:
            raise ValueError(f"{duration:g} s are more than {MOST_STEPS:,} rows of {output_step:g} s")
        rows = math.floor(duration / output_step * (1 + STEP_COUNT_TOLERANCE))
        if rows < 1:
            raise ValueError(f"output_step {output_step} is longer than the duration {duration}")
        every = _whole(output_step, step)
        return cls(output_step / every, rows * every, every)

    @property
    def times(self) -> Array:
        """(rows,) times of the rows."""
        return np.arange(self.steps // self.every + 1) * (self.h * self.every)


@dataclass(frozen=True)
class Timing:
    """The times of a simulation as they were asked for [s].

    duration     of the simulation
    step         of a fixed-step method, or the first step of an adaptive one; None for the default
    output_step  the time between stored rows; None for every step
    start        the time at the start
    """

    duration: float
    step: float | None = None
    output_step: float | None = None
    start: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.start, Real) and math.isfinite(self.start)):
            raise ValueError(f"start_time must be finite [s], not {self.start!r}")
        _ = self.schedule  # refuses times that cannot be

    @cached_property
    def schedule(self) -> Schedule:
        """The steps of a fixed-step method; ValueError for times that cannot be."""
        return Schedule.of(self.duration, self.step, self.output_step)

    @property
    def counted(self) -> Schedule:
        """The steps of a method that takes them all; ValueError for more than can be taken."""
        if self.schedule.steps > MOST_STEPS:
            raise ValueError(f"{self.duration:g} s are more than {MOST_STEPS:,} steps of {self.schedule.h:g} s")
        return self.schedule

    @cached_property
    def output(self) -> Array | None:
        """(rows,) times after that of the start at which an adaptive method stores rows; None for the end of every
        step."""
        if self.output_step is None:
            return None
        after = np.minimum(self.schedule.times[1:], self.duration)  # 3 times 0.1 is a little more than 0.3
        return np.minimum(self.start + after, self.end)

    @property
    def end(self) -> float:
        """The time at the end."""
        return self.start + self.duration


def _whole(span: float, step: float) -> int:
    """The number of steps, of at most `step`, that fill a span; ValueError where a float cannot hold it."""
    ratio = span / step
    if not math.isfinite(ratio):
        raise ValueError(f"{span:g} s are too many steps of {step:g} s")
    return max(1, math.ceil(ratio * (1 - STEP_COUNT_TOLERANCE)))
