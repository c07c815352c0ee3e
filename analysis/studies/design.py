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

DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "log_uniform": lambda low, high: stats.loguniform(low, high),
    "normal": lambda mean, sd: stats.norm(mean, sd),
    "truncated_normal": lambda mean, sd, low, high: stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd),
    "log_normal": lambda median, sigma: stats.lognorm(sigma, scale=median),
    "triangular": lambda low, mode, high: stats.triang((mode - low) / (high - low), low, high - low),
}
POSITIVE = ("sd", "sigma", "median")  # and `low` of log_uniform; `low` is below `high` in all


MAX_VALUES, MAX_SAMPLES = 10**7, 10**9  # of a range, of a design
DESIGNS = ("grid", "table", "random", "latin_hypercube", "sobol", "saltelli")
LISTED = DESIGNS[:2]  # those of lists of values; the others take distributions


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
    """The axes in the order in which they are named: one for each parameter, or one for all of a pattern "together".

    Raises ValueError, naming the parameter, for values and distributions that cannot be.
    """
    axes: list[Axis] = []
    first = 0
    for pattern, given in vary.items():
        parameters = Parameters.of(model, pattern)
        columns = tuple(range(first, first + len(parameters.names)))
        first += len(columns)
        table = dict(given) if isinstance(given, Mapping) else {"values": given}
        relative, together = (table.pop(key, False) for key in ("relative", "together"))
        for key, value in (("relative", relative), ("together", together)):
            if not isinstance(value, bool):
                raise ValueError(f"{pattern}: {key} is true or false, not {value!r}")
        content = _content(pattern, table)
        for name, own in zip(parameters.names, parameters.defaults, strict=True) if relative else ():
            if np.isnan(own) or own == 0:
                state = "open" if np.isnan(own) else "zero"
                raise ValueError(f"{name}: the model's own value is {state}; relative to it there is nothing to vary")
        groups = (
            [(pattern, columns)] if together else [(n, (k,)) for n, k in zip(parameters.names, columns, strict=True)]
        )
        axes += [Axis(name, group, relative, **content) for name, group in groups]
    return axes


def _content(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """The values of one entry of `vary`, or its quantile function."""
    count = table.pop("count", None)
    if len(table) != 1:
        known = ", ".join(("values", "range", *DISTRIBUTIONS))
        raise ValueError(f"{name}: exactly one of {known} is wanted, not {list(table) or 'none'}")
    ((choice, given),) = table.items()
    if count is not None and choice != "range":
        raise ValueError(f"{name}: a count goes with a range, not with {choice}")
    if choice != "values":
        quantile = _quantile(name, "uniform" if choice == "range" else choice, given)
        if choice != "range":
            return {"quantile": quantile}
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MAX_VALUES:
            raise ValueError(f"{name}: a range needs a count of 2 to {MAX_VALUES:,}, not {count!r}")
        low, high = quantile(np.array([0.0, 1.0]))
        return {"values": np.linspace(low, high, count)}
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        raise ValueError(f"{name}: a list of values or a table such as {{uniform = [a, b]}} is wanted, not {given!r}")
    values = _floats(given)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{name}: a list of finite numbers is wanted, at least one, not {given!r}")
    unique, counts = np.unique(values, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{name}: the value {unique[counts > 1][0]} is given twice")
    return {"values": values}


def _quantile(name: str, distribution: str, numbers: Sequence[float]) -> Callable[[Array], Array]:
    """The quantile function of a distribution: shares in [0, 1) to values.

    Raises ValueError for an unknown distribution or a wrong number of parameters. It is raised for one that is not
    finite, a reversed range and a width that is not positive.
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


def _floats(given: Any) -> Array:
    """The numbers of a list; NaN where it does not hold numbers alone."""
    try:
        return real_array("values", given)
    except (TypeError, ValueError, OverflowError):
        return np.array([np.nan])


@frozen
class Design:
    """Axes and how they are sampled. `base` is the number asked for: of samples, for saltelli of rows of A."""

    kind: str
    axes: tuple[Axis, ...]
    defaults: Array
    base: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        design, base, listed = self.kind, self.base, self.kind in LISTED
        if design not in DESIGNS:
            raise ValueError(f"the design {design!r} is unknown; there are: {', '.join(DESIGNS)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number that is not negative, not {self.seed!r}")
        for axis in self.axes:
            if listed and axis.values is None:
                raise ValueError(f"{axis.name}: a {design} needs a list of values or a range, not a distribution")
            if not listed and axis.quantile is None:
                raise ValueError(f"{axis.name}: the design {design} needs a distribution, such as uniform, not a list")
        if design == "table" and len(set(self._lengths)) > 1:
            lengths = dict(zip((axis.name for axis in self.axes), self._lengths, strict=True))
            raise ValueError(f"the columns of a table must have one length, not {lengths}")
        if listed and base is not None and base != self.count:
            raise ValueError(f"the {design} has {self.count} samples, not {base}; leave the number out")
        if not listed and (isinstance(base, bool) or not isinstance(base, int) or base < 1):
            raise ValueError(f"the number of samples must be a positive whole number, not {base!r}")
        if self.count > MAX_SAMPLES:
            raise ValueError(f"samples: the design has {self.count}; at most {MAX_SAMPLES:,} are computed")
        if design in ("sobol", "saltelli") and self._rows & (self._rows - 1):
            near = 2 ** round(math.log2(self._rows))
            raise ValueError(f"a {design} design needs a power of 2, such as {near}, not {base}")

    @property
    def _lengths(self) -> list[int]:
        """The number of values of each axis that lists them."""
        return [len(axis.values) for axis in self.axes if axis.values is not None]

    @property
    def _rows(self) -> int:
        """The number asked for, of designs that need one."""
        assert self.base is not None
        return self.base

    @cached_property
    def count(self) -> int:
        """Number of samples."""
        if self.kind in LISTED:
            return math.prod(self._lengths) if self.kind == "grid" else self._lengths[0]
        return self._rows * (len(self.axes) + 2) if self.kind == "saltelli" else self._rows

    def values(self, begin: int, end: int) -> Array:
        """(end - begin, n) the parameters of samples begin ... end - 1."""
        numbers, values = np.arange(begin, end), np.empty((end - begin, len(self.defaults)))
        if self.kind in LISTED:
            grid = self.kind == "grid"
            chosen = np.unravel_index(numbers, self._lengths) if grid else [numbers] * len(self.axes)
            columns = [axis.values[rows] for axis, rows in zip(self.axes, chosen, strict=True)]  # type: ignore[index]
        else:
            shares = self._shares(begin, end)
            columns = [axis.quantile(u) for axis, u in zip(self.axes, shares.T, strict=True)]  # type: ignore[misc]
        for column, axis in zip(columns, self.axes, strict=True):
            for k in axis.columns:
                values[:, k] = column * self.defaults[k] if axis.relative else column
        return values

    def _shares(self, begin: int, end: int) -> Array:
        """(samples, axes) points of the unit cube."""
        n = len(self.axes)
        if self.kind == "latin_hypercube":
            return self._whole[begin:end]
        if self.kind == "sobol":
            return self._sequence(n, begin, end)
        if self.kind == "random":  # every row begins at its own count, so that it does not matter which are drawn
            width = -(-n // 4)  # Philox yields four numbers per count
            stream = np.random.Philox(key=self.seed).advance(begin * width)
            return np.random.Generator(stream).random((end - begin, 4 * width))[:, :n]
        matrix, row = np.divmod(np.arange(begin, end), self._rows)
        of_b = (matrix == 1)[:, None] | (np.arange(n) == matrix[:, None] - 2)
        return np.where(of_b, self._whole[row, n:], self._whole[row, :n])

    @cached_property
    def _whole(self) -> Array:
        """(base, axes) a Latin hypercube; of Saltelli's design (base, 2 axes), A beside B."""
        if self.kind == "saltelli":
            return self._sequence(2 * len(self.axes), 0, self._rows)
        return qmc.LatinHypercube(len(self.axes), rng=np.random.default_rng(self.seed)).random(self._rows)

    def _sequence(self, dimensions: int, begin: int, end: int) -> Array:
        """(end - begin, dimensions) of Sobol's sequence."""
        engine = qmc.Sobol(dimensions, rng=np.random.default_rng(self.seed))
        if begin:
            return engine.fast_forward(begin).random(end - begin)
        # SciPy warns of a first draw that is no power of 2; the whole design is one
        first: Array = engine.random(min(1, end))
        return np.concatenate([first, engine.random(end - 1)]) if end > 1 else first
