"""The variation of a study: names or patterns of parameters, each with its values or its distribution.

"bodies.A.mass": [4.0, 5.0, 6.0]                                        values, for a grid
"bodies.A.mass": {"range": [4.0, 6.0], "count": 21}                     the same, equally spaced
"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}    a distribution, times the model's own
"muscles.*.optimal_length": {"normal": [1.0, 0.05], "relative": True, "together": True}   one factor for all
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.analysis.studies.definition.distributions import DISTRIBUTIONS, quantiles
from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle import Parameters

__all__ = ["Axis", "axes_of", "parameters_of"]

MOST_VALUES = 10**7
_OPTIONS = {"relative", "together"}


@dataclass(frozen=True)
class Axis:
    """One independent direction of a study: `columns` of the parameters, times their own values if `relative`.

    Either `values`, or `quantile`, the map of a share in [0, 1) to a value.
    """

    name: str
    columns: tuple[int, ...]
    relative: bool = False
    values: Array | None = None
    quantile: Callable[[Array], Array] | None = None


def parameters_of(model: Any, vary: Mapping[str, Any]) -> Parameters:
    """All parameters that `vary` names; ValueError for none, an unknown name or one named twice."""
    if not vary:
        raise ValueError("the study varies nothing: name at least one parameter")
    return Parameters.of(model, vary)


def axes_of(model: Any, vary: Mapping[str, Any]) -> list[Axis]:
    """The axes in the order in which they are named: one for each parameter, or one for all of a pattern "together"."""
    axes: list[Axis] = []
    first = 0
    for pattern, given in vary.items():
        parameters = Parameters.of(model, pattern)
        columns = tuple(range(first, first + len(parameters.names)))
        first += len(columns)
        options, content = _content(pattern, given)
        if options["relative"]:
            _check_relative(parameters)
        alone = [(name, (column,)) for name, column in zip(parameters.names, columns, strict=True)]
        groups = [(pattern, columns)] if options["together"] else alone
        axes += [Axis(name, group, options["relative"], **content) for name, group in groups]
    return axes


def _check_relative(parameters: Parameters) -> None:
    for name, value in zip(parameters.names, parameters.defaults, strict=True):
        if np.isnan(value) or value == 0:
            state = "open" if np.isnan(value) else "zero"
            raise ValueError(f"{name}: the model's own value is {state}; relative to it there is nothing to vary")


def _content(name: str, given: Any) -> tuple[dict[str, bool], dict[str, Any]]:
    """(options, values or quantile) of one entry of `vary`."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(_OPTIONS, False), {"values": _values(name, given)}
    options = {key: given.get(key, False) for key in _OPTIONS}
    for key, value in options.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name}: {key} is true or false, not {value!r}")
    choices = [key for key in given if key not in _OPTIONS and key != "count"]
    if len(choices) != 1:
        known = ", ".join(("values", "range", *DISTRIBUTIONS))
        raise ValueError(f"{name}: exactly one of {known} is wanted, not {choices or 'none'}")
    choice = choices[0]
    if "count" in given and choice != "range":
        raise ValueError(f"{name}: a count goes with a range, not with {choice}")
    if choice == "values":
        return options, {"values": _values(name, given[choice])}
    if choice == "range":
        return options, {"values": _range(name, given[choice], given.get("count"))}
    return options, {"quantile": quantiles(name, choice, given[choice])}


def _values(name: str, given: Any) -> Array:
    """(n,) different finite numbers; ValueError otherwise."""
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        raise ValueError(f"{name}: a list of values or a table such as {{uniform = [a, b]}} is wanted, not {given!r}")
    values = _floats(given)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{name}: a list of finite numbers is wanted, at least one, not {given!r}")
    unique, counts = np.unique(values, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{name}: the value {unique[counts > 1][0]} is given twice")
    return values


def _floats(given: Any) -> Array:
    """The numbers of a list; NaN where it does not hold numbers alone."""
    try:
        return real_array("values", given)
    except (TypeError, ValueError, OverflowError):
        return np.array([np.nan])


def _range(name: str, given: Any, count: Any) -> Array:
    low, high = quantile_range(name, given)
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise ValueError(f"{name}: a range needs a count of 2 to {MOST_VALUES:,}, not {count!r}")
    return np.linspace(low, high, count)


def quantile_range(name: str, given: Any) -> tuple[float, float]:
    """(low, high) of a range; ValueError if it is reversed."""
    ends = quantiles(name, "uniform", given)(np.array([0.0, 1.0]))
    return float(ends[0]), float(ends[1])
