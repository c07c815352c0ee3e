"""Inputs of a step loop that change with time: what the caller gives, and which rows of it each step reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.core.arguments import check_unmasked, real_array
from myoquat.kernels.tracing.traced import Shape

__all__ = ["LinearInterpolation", "Sample", "ZeroOrderHold", "sample"]


@dataclass(frozen=True)
class ZeroOrderHold:
    """An input that is constant in pieces: values (..., K, *shape), each for `hold` steps, the last from then on.

    >>> import numpy as np
    >>> from myoquat.kernels import ZeroOrderHold, step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, u: np.stack([u]), inputs={"u": ()}, method="euler")
    >>> run = loop([0.0], h=1.0, steps=4, u=ZeroOrderHold([1.0, 10.0], hold=2))  # each value for two steps
    >>> run.states.T
    array([[ 0.,  1.,  2., 12., 22.]])
    """

    values: Any
    hold: int = 1


@dataclass(frozen=True)
class LinearInterpolation:
    """An input between given values: times (K,) increasing, values (..., K, *shape), linear, constant outside.

    >>> import numpy as np
    >>> from myoquat.kernels import LinearInterpolation, step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, u: np.stack([u]), inputs={"u": ()})
    >>> ramp = LinearInterpolation([0.0, 1.0], [0.0, 2.0])  # between the rows linearly: the integral of 2 t
    >>> loop([0.0], h=0.5, steps=2, u=ramp).final
    array([1.])
    """

    times: Any
    values: Any


@dataclass(frozen=True)
class Sample:
    """An input of one call: values (..., count, *shape), and how rows follow from step and time."""

    values: Any
    count: int
    hold: int = 0
    times: np.ndarray | None = None

    def fill(self, index: np.ndarray, weight: np.ndarray, nodes: np.ndarray, h: float, start: float) -> None:
        """Set index and weight, (steps, nodes) each."""
        step = np.arange(len(index))[:, None]
        if self.times is None:
            index[...] = np.minimum(step // self.hold, self.count - 1) if self.hold else 0
        elif self.count > 1:
            t = start + (step + nodes) * h
            k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.count - 2)
            share = np.clip((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0, 1.0)
            index[...] = np.where(share == 1.0, k + 1, k)
            weight[...] = np.where(share == 1.0, 0.0, share)


def sample(loop: str, key: str, given: Any, shape: Shape) -> Sample:
    """What a call gives for input `key` of `shape`. ValueError for times and values that do not fit."""
    axes = len(shape)
    check_unmasked(f"step loop '{loop}': input '{key}'", getattr(given, "values", given))
    if not isinstance(given, (ZeroOrderHold, LinearInterpolation)):
        values = np.asarray(given)
        return Sample(np.expand_dims(values, values.ndim - axes) if values.ndim >= axes else values, 1)
    values = np.asarray(given.values)
    if values.ndim <= axes or not values.shape[values.ndim - axes - 1]:
        raise ValueError(
            f"step loop '{loop}': values of '{key}' have shape {values.shape}; "
            f"(..., K, {', '.join(map(str, shape))}) is needed"
        )
    count = values.shape[values.ndim - axes - 1]
    if isinstance(given, ZeroOrderHold):
        if given.hold < 1:
            raise ValueError(f"step loop '{loop}': '{key}' is held for {given.hold} steps; at least 1 is needed")
        return Sample(values, count, hold=given.hold)
    times = real_array(f"step loop '{loop}': times of '{key}'", given.times)
    if times.shape != (count,) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(f"step loop '{loop}': times of '{key}' {times.shape} must be {count} increasing numbers")
    return Sample(values, count, times=times)
