"""Activations and torques as a simulation takes them: constants, tables over time, functions of time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.kernels import Tabulated

__all__ = ["Control", "is_constant"]

Check = Callable[[Any], np.ndarray]


class Control:
    """One input over time.

    given   (..., n) constant in time, per batch element or for all; a pair (times (k,), values (..., k, n)), linear in
            between and constant outside; or a function of t that returns (..., n).
    check   the door for values (..., n).
    """

    def __init__(self, name: str, given: Any, check: Check) -> None:
        self.name = name
        self._check = check
        self._function = given if callable(given) else None
        self._table = None
        if _is_pair(given):
            self._table = _table(name, given[0], check(given[1]))
        elif self._function is None:
            self._constant = check(given)

    def over(self, start: float, h: float, steps: int) -> Any:
        """What a step loop takes for `steps` steps of `h` from `start`: exact at the steps and halfway between."""
        if self._table is not None:
            return Tabulated(*self._table)
        if self._function is None:
            return self._constant
        times = start + h / 2 * np.arange(2 * steps + 1)
        return Tabulated(times, self.at(times))

    def at(self, times: np.ndarray) -> np.ndarray:
        """(..., t, n) at times (t,)."""
        if self._table is not None:
            return _interpolated(*self._table, times)
        if self._function is not None:
            return self._check(np.stack([np.asarray(self._function(float(t)), dtype=float) for t in times], axis=-2))
        n = self._constant.shape[-1]
        return np.broadcast_to(self._constant[..., None, :], (*self._constant.shape[:-1], len(times), n))

    @property
    def knots(self) -> np.ndarray:
        """Times at which the input has a kink; an adaptive method starts anew there."""
        return np.zeros(0) if self._table is None else self._table[0]


def is_constant(given: Any) -> bool:
    """True for values that do not change with time."""
    return not callable(given) and not _is_pair(given)


def _is_pair(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2 and np.ndim(given[0]) == 1 and np.ndim(given[1]) > 1


def _table(name: str, times: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    times = np.asarray(times, dtype=float)
    if times.shape != values.shape[-2:-1] or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(
            f"{name}: a pair (times, values) needs increasing times ({values.shape[-2]},) for values {values.shape}, "
            f"not times {times.shape}"
        )
    return times, values


def _interpolated(times: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(..., t, n) linear between the rows of values (..., k, n), constant outside."""
    if len(times) == 1:
        return np.repeat(values, len(t), axis=-2)
    k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    share = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0)[:, None]
    return values[..., k, :] * (1 - share) + values[..., k + 1, :] * share
