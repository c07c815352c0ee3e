"""Designs: which values the parameters take in which sample. Any rows can be computed alone, in any order.

grid              every combination of the listed values
table             row by row of the listed values, which are all of one length
random            independent draws
latin_hypercube   scipy.stats.qmc.LatinHypercube; drawn as a whole, so n x axes numbers are held in memory
sobol             scipy.stats.qmc.Sobol, scrambled
saltelli          the n (axes + 2) samples from which Sobol indices are estimated: A, B, and A with one axis of B
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.stats import qmc

from myoquat.analysis.studies.definition.vary import Axis
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["DESIGNS", "Design"]

DESIGNS = ("grid", "table", "random", "latin_hypercube", "sobol", "saltelli")
MOST_SAMPLES = 10**9
_LISTED = ("grid", "table")


@dataclass(frozen=True)
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
        cube: Array = engine.random(self.base)
        return cube

    def _sobol(self, begin: int, end: int) -> Array:
        return self._sequence(len(self.axes), begin, end)

    def _sequence(self, dimensions: int, begin: int, end: int) -> Array:
        engine = qmc.Sobol(dimensions, rng=np.random.default_rng(self.seed))
        if begin:
            rest: Array = engine.fast_forward(begin).random(end - begin)
            return rest
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
