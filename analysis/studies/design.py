"""Designs: which values the parameters take in which sample. Any rows can be computed alone, in any order.

grid              every combination of the listed values
table             row by row of the listed values, which are all of one length
random            independent draws
latin_hypercube   scipy.stats.qmc.LatinHypercube; drawn as a whole, so n x axes numbers are held in memory
sobol             scipy.stats.qmc.Sobol, scrambled
saltelli          the n (axes + 2) samples from which Sobol indices are estimated: A, B, and A with one axis of B

The variation of a study: names or patterns of parameters, each with its values or its distribution.

"bodies.A.mass": [4.0, 5.0, 6.0]                                        values, for a grid
"bodies.A.mass": {"range": [4.0, 6.0], "count": 21}                     the same, equally spaced
"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}    a distribution, times the model's own
"muscles.*.optimal_length": {"normal": [1.0, 0.05], "relative": True, "together": True}   one factor for all
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import qmc

from myoquat.core import Array, frozen, real_array
from myoquat.muscle import Parameters

__all__ = ["DESIGNS", "DISTRIBUTIONS", "Axis", "Design", "axes_of", "parameters_of", "quantiles"]

DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "log_uniform": lambda low, high: stats.loguniform(low, high),
    "normal": lambda mean, sd: stats.norm(mean, sd),
    "truncated_normal": lambda mean, sd, low, high: stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd),
    "log_normal": lambda median, sigma: stats.lognorm(sigma, scale=median),
    "triangular": lambda low, mode, high: stats.triang((mode - low) / (high - low), low, high - low),
}
POSITIVE = ("sd", "sigma", "median")  # and `low` of log_uniform; `low` is below `high` in all


def quantiles(name: str, distribution: str, numbers: Sequence[float]) -> Callable[[Array], Array]:
    """The quantile function of a distribution: shares in [0, 1) to values.

    Raises ValueError, naming the varied parameter, for an unknown distribution or a wrong number of parameters. It is
    raised for one that is not finite, a reversed range and a width that is not positive.
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"{name}: distribution {distribution!r} is unknown; there are: {', '.join(DISTRIBUTIONS)}")
    make = DISTRIBUTIONS[distribution]
    names, values = tuple(signature(make).parameters), np.atleast_1d(_floats(numbers))
    if values.shape != (len(names),) or not np.isfinite(values).all():
        raise ValueError(
            f"{name}: {distribution} takes {len(names)} finite numbers ({', '.join(names)}), not {numbers}"
        )
    given = dict(zip(names, values.tolist(), strict=True))
    if "high" in given and not given["low"] < given["high"]:
        raise ValueError(f"{name}: the range of {distribution} is reversed or empty: {list(values)}")
    for key, value in given.items():
        if value <= 0 and (key in POSITIVE or (key, distribution) == ("low", "log_uniform")):
            raise ValueError(f"{name}: {key} of {distribution} must be positive, not {value}")
    if distribution == "triangular" and not given["low"] <= given["mode"] <= given["high"]:
        raise ValueError(f"{name}: the mode of triangular must lie between low and high, not at {given['mode']}")
    return make(**given).ppf


MOST_VALUES = 10**7
_OPTIONS = {"relative", "together"}


@frozen
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


DESIGNS = ("grid", "table", "random", "latin_hypercube", "sobol", "saltelli")
MOST_SAMPLES = 10**9
_LISTED = ("grid", "table")


@frozen
class Design:
    """Axes and how they are sampled. `base` is the number asked for: of samples, for saltelli of rows of A."""

    kind: str
    axes: tuple[Axis, ...]
    defaults: Array
    base: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in DESIGNS:
            raise ValueError(f"the design {self.kind!r} is unknown; there are: {', '.join(DESIGNS)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number that is not negative, not {self.seed!r}")
        for axis in self.axes:
            self._check_axis(axis)
        self._check_base()
        if self.count > MOST_SAMPLES:
            raise ValueError(f"samples: the design has {self.count}; at most {MOST_SAMPLES:,} are computed")

    def _check_axis(self, axis: Axis) -> None:
        if self.kind in _LISTED and axis.values is None:
            raise ValueError(f"{axis.name}: a {self.kind} needs a list of values or a range, not a distribution")
        if self.kind not in _LISTED and axis.quantile is None:
            raise ValueError(f"{axis.name}: the design {self.kind} needs a distribution, such as uniform, not a list")

    def _check_base(self) -> None:
        if self.kind in _LISTED:
            lengths = {axis.name: len(axis.values) for axis in self.axes if axis.values is not None}
            if self.kind == "table" and len(set(lengths.values())) > 1:
                raise ValueError(f"the columns of a table must have one length, not {lengths}")
            if self.base is not None and self.base != self.count:
                raise ValueError(f"the {self.kind} has {self.count} samples, not {self.base}; leave the number out")
        elif isinstance(self.base, bool) or not isinstance(self.base, int) or self.base < 1:
            raise ValueError(f"the number of samples must be a positive whole number, not {self.base!r}")
        elif self.base > MOST_SAMPLES:
            raise ValueError(f"the number of samples must be at most {MOST_SAMPLES:,}, not {self.base}")
        elif self.kind in ("sobol", "saltelli") and self.base & (self.base - 1):
            raise ValueError(
                f"a {self.kind} design needs a power of 2, such as {2 ** round(math.log2(self.base))}, not {self.base}"
            )

    @cached_property
    def count(self) -> int:
        """Number of samples."""
        lengths = [len(axis.values) for axis in self.axes if axis.values is not None]
        if self.kind == "grid":
            return math.prod(lengths)
        if self.kind == "table":
            return lengths[0]
        assert self.base is not None
        return self.base * (len(self.axes) + 2) if self.kind == "saltelli" else self.base

    def values(self, begin: int, end: int) -> Array:
        """(end - begin, n) the parameters of samples begin ... end - 1."""
        rows = self._rows(begin, end)
        values = np.empty((end - begin, len(self.defaults)))
        for column, axis in zip(rows.T, self.axes, strict=True):
            for k in axis.columns:
                values[:, k] = column * self.defaults[k] if axis.relative else column
        return values

    def _rows(self, begin: int, end: int) -> Array:
        """(samples, axes) the value of each axis."""
        numbers = np.arange(begin, end)
        if self.kind == "grid":
            indices = np.unravel_index(numbers, [len(axis.values) for axis in self.axes])  # type: ignore[arg-type]
            return np.stack([axis.values[i] for axis, i in zip(self.axes, indices, strict=True)], axis=-1)  # type: ignore[index]
        if self.kind == "table":
            return np.stack([axis.values[numbers] for axis in self.axes], axis=-1)  # type: ignore[index]
        shares = _CUBES[self.kind](self, begin, end)
        return np.stack([axis.quantile(u) for axis, u in zip(self.axes, shares.T, strict=True)], axis=-1)  # type: ignore[misc]

    # ---- points of the unit cube ------------------------------------------------------------------------------

    def _random(self, begin: int, end: int) -> Array:
        """Every row begins at its own place of a counter, so that it does not matter which rows are drawn."""
        width = -(-len(self.axes) // 4)  # Philox yields four numbers per count
        stream = np.random.Philox(key=self.seed).advance(begin * width)
        return np.random.Generator(stream).random((end - begin, 4 * width))[:, : len(self.axes)]

    def _latin_hypercube(self, begin: int, end: int) -> Array:
        return self._cube[begin:end]

    @cached_property
    def _cube(self) -> Array:
        engine = qmc.LatinHypercube(len(self.axes), rng=np.random.default_rng(self.seed))
        return engine.random(self.base)

    def _sobol(self, begin: int, end: int) -> Array:
        return self._sequence(len(self.axes), begin, end)

    def _sequence(self, dimensions: int, begin: int, end: int) -> Array:
        engine = qmc.Sobol(dimensions, rng=np.random.default_rng(self.seed))
        if begin:
            return engine.fast_forward(begin).random(end - begin)
        first: Array = engine.random(
            min(1, end)
        )  # SciPy warns of a first draw that is no power of 2; the whole design is one
        return np.concatenate([first, engine.random(end - 1)]) if end > 1 else first

    def _saltelli(self, begin: int, end: int) -> Array:
        assert self.base is not None
        d = len(self.axes)
        whole = self._matrices
        numbers = np.arange(begin, end)
        matrix, row = np.divmod(numbers, self.base)
        rows = np.where((matrix == 1)[:, None], whole[row, d:], whole[row, :d])
        mixed = matrix >= 2
        rows[mixed, matrix[mixed] - 2] = whole[row[mixed], d + matrix[mixed] - 2]
        return rows

    @cached_property
    def _matrices(self) -> Array:
        """(base, 2 axes): A beside B."""
        assert self.base is not None
        return self._sequence(2 * len(self.axes), 0, self.base)


_CUBES: dict[str, Callable[[Design, int, int], Array]] = {
    "random": Design._random,
    "latin_hypercube": Design._latin_hypercube,
    "sobol": Design._sobol,
    "saltelli": Design._saltelli,
}
