"""Parameters of a model or of equations of one's own as unknowns of a problem: names, bounds, scales."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.analysis.control.plants.bounds import interval
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.validation import SystemLike
from myoquat.muscle import Parameters

__all__ = ["UnknownParameters", "parameters_of_equations", "parameters_of_model"]


@dataclass(frozen=True, eq=False)
class UnknownParameters:
    """Unknown parameters (np,) of a problem.

    names    of the parameters
    bounds   (np, 2)
    start    (np,) values with which the search starts
    binding  puts values into a model
    """

    names: tuple[str, ...] = ()
    bounds: Array = field(default_factory=lambda: np.zeros((0, 2)))
    start: Array = field(default_factory=lambda: np.zeros(0))
    binding: Parameters | None = None

    @property
    def scales(self) -> Array:
        """(np,) positive: the model's own values, the same for all problems of a model, or 1 where they are zero."""
        own = self.start if self.binding is None else np.array(self.binding.defaults)
        size = np.abs(np.where(np.isnan(own), self.start, own))
        return np.where(size > 0, size, 1.0)


def parameters_of_model(model: SystemLike, given: Mapping[str, Any]) -> UnknownParameters:
    """Those of a model by name or pattern; the search starts at the model's own values, or at the one number that
    bounds allow. ValueError for unknown names, contradicting bounds, and values of the model out of the bounds."""
    if not given:
        return UnknownParameters()
    names: list[str] = []
    bounds = []
    for pattern, value in given.items():
        own = Parameters.of(model, pattern).acting("bounds", markers=True).names
        names += own
        bounds += [interval(f"parameters: {name}", value) for name in own]
    binding = Parameters.of(model, names)
    found = UnknownParameters(binding.names, np.array(bounds).reshape(-1, 2), np.array(binding.defaults), binding)
    fixed = found.bounds[:, 0] == found.bounds[:, 1]
    start = np.where(np.isnan(found.start) | fixed, _middle(found.bounds), found.start)
    _check_start(found.names, start, found.bounds)
    return UnknownParameters(found.names, found.bounds, start, binding)


def parameters_of_equations(given: Mapping[str, Any]) -> UnknownParameters:
    """Those of equations of one's own; the search starts in the middle of the bounds."""
    bounds = np.array([interval(f"parameters: {name}", value) for name, value in given.items()]).reshape(-1, 2)
    return UnknownParameters(tuple(given), bounds, _middle(bounds))


def _middle(bounds: Array) -> Array:
    """(np,) the middle of finite bounds, else the number nearest to zero within them."""
    low, high = bounds[:, 0], bounds[:, 1]
    finite = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(finite, (low + high) / 2, np.clip(0.0, low, high))


def _check_start(names: tuple[str, ...], start: Array, bounds: Array) -> None:
    for name, value, (low, high) in zip(names, start, bounds, strict=True):
        if not low <= value <= high:
            raise ValueError(
                f"parameters: the model's {name!r} is {value:g}, outside its bounds {low:g} to {high:g}; "
                "Parameters.of(model, names).bind(values) gives it another value"
            )
