"""Distributions of a varied number: SciPy's, by short names with the parameters that a reader expects."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array

__all__ = ["DISTRIBUTIONS", "quantiles"]

Numbers = Sequence[float]


def _uniform(low: float, high: float) -> Any:
    return stats.uniform(low, high - low)


def _log_uniform(low: float, high: float) -> Any:
    return stats.loguniform(low, high)


def _normal(mean: float, sd: float) -> Any:
    return stats.norm(mean, sd)


def _truncated_normal(mean: float, sd: float, low: float, high: float) -> Any:
    return stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)


def _log_normal(median: float, sigma: float) -> Any:
    return stats.lognorm(sigma, scale=median)


def _triangular(low: float, mode: float, high: float) -> Any:
    return stats.triang((mode - low) / (high - low), low, high - low)


# name -> (parameters, which of them must ascend, which must be positive, the distribution)
DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Callable[..., Any]]] = {
    "uniform": (("low", "high"), ("low", "high"), (), _uniform),
    "log_uniform": (("low", "high"), ("low", "high"), ("low",), _log_uniform),
    "normal": (("mean", "sd"), (), ("sd",), _normal),
    "truncated_normal": (("mean", "sd", "low", "high"), ("low", "high"), ("sd",), _truncated_normal),
    "log_normal": (("median", "sigma"), (), ("median", "sigma"), _log_normal),
    "triangular": (("low", "mode", "high"), ("low", "high"), (), _triangular),
}


def quantiles(name: str, distribution: str, numbers: Numbers) -> Callable[[Array], Array]:
    """The quantile function of a distribution: shares in [0, 1) to values.

    Raises ValueError, naming the varied parameter, for an unknown distribution or a wrong number of parameters. It is
    raised for one that is not finite, a reversed range and a width that is not positive.
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"{name}: distribution {distribution!r} is unknown; there are: {', '.join(DISTRIBUTIONS)}")
    names, ascending, positive, make = DISTRIBUTIONS[distribution]
    try:
        values = np.atleast_1d(real_array("values", numbers))
    except (TypeError, ValueError, OverflowError):
        values = np.array([])
    if values.shape != (len(names),) or not np.isfinite(values).all():
        raise ValueError(
            f"{name}: {distribution} takes {len(names)} finite numbers ({', '.join(names)}), not {numbers}"
        )
    given = dict(zip(names, values.tolist(), strict=True))
    if ascending and not given[ascending[0]] < given[ascending[1]]:
        raise ValueError(f"{name}: the range of {distribution} is reversed or empty: {list(values)}")
    for key in positive:
        if given[key] <= 0:
            raise ValueError(f"{name}: {key} of {distribution} must be positive, not {given[key]}")
    if distribution == "triangular" and not given["low"] <= given["mode"] <= given["high"]:
        raise ValueError(f"{name}: the mode of triangular must lie between low and high, not at {given['mode']}")
    found: Callable[[Array], Array] = make(**given).ppf
    return found
