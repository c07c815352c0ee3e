"""Curves of a trial with bands, and the share of each source in their variance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from myoquat.analysis.studies.sensitivity import saltelli_indices
from myoquat.core.arguments import indices_of
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.labels import figure_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["UncertainCurves", "central_band"]

BAND_COLOR, CURVE_COLOR = "#9db7e8", "#1f3b8f"
CONSTANT = 1e-9  # of the greatest value: outputs that change less have no shares


def central_band(samples: Array, level: float) -> Array:
    """(2, ...) the lower and the upper quantile that hold the share `level` of samples (n, ...)."""
    return np.asarray(np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0))


@dataclass(frozen=True, eq=False)
class UncertainCurves:
    """Curves of a recording, and those of all samples of uncertain inputs.

    time     (t,) [s]
    names    of the curves
    units    of the curves
    values   (t, n) as recorded
    samples  (sources + 2, rows, t, n) of Saltelli's design, without rows with a sample that has no solution
    sources  of the uncertainty
    level    of the bands
    lost     number of rows without a solution
    missing  sources that the trial does not have

    >>> import numpy as np
    >>> from myoquat.analysis.studies import UncertainCurves
    >>> samples = np.random.default_rng(0).normal(size=(3, 64, 5, 1))  # of one source: A, B, and B again
    >>> samples[2] = samples[1]
    >>> found = UncertainCurves(np.arange(5.0), ("knee",), ("deg",), np.zeros((5, 1)), samples, ("strengths",))
    >>> found.shares()["strengths total"].round(1).to_list()
    [1.0]
    >>> found.bands().shape
    (2, 5, 1)
    """

    time: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    samples: Array
    sources: tuple[str, ...]
    level: float = 0.9
    lost: int = 0
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        count = self.samples.shape[0] * self.samples.shape[1]
        rest = f", {self.lost} rows without solution" if self.lost else ""
        absent = f"; not in the trial: {', '.join(self.missing)}" if self.missing else ""
        return f"<UncertainCurves {len(self.names)} curves, {count} samples of {', '.join(self.sources)}{rest}{absent}>"

    def bands(self, level: float | None = None) -> Array:
        """(2, t, n) the lower and the upper quantile that hold the share `level` of the samples, its own if None."""
        part = self.level if level is None else level
        if not 0 < part < 1:
            raise ValueError(f"level must lie between 0 and 1, not {part}")
        every = self.samples.reshape(-1, *self.values.shape)
        return central_band(every, part)

    def shares(self) -> pd.DataFrame:
        """A row per curve: its unit, its standard deviation (mean over time), and Sobol indices of each source.

        They are the first-order and the total index, of the variance summed over time [F. Gamboa and others,
        Sensitivity analysis for multidimensional and functional outputs, Electron. J. Stat. 8, 2014]. NaN for curves
        that do not change. Estimates can lie outside of [0, 1] by their error, which falls with the root of the rows.
        """
        few = self.samples[:, : 2 ** int(np.log2(self.samples.shape[1]))]  # the design's sequence is balanced there
        of_inputs = few[:2].reshape(-1, *self.values.shape)
        variance = of_inputs.var(axis=0)
        size = np.abs(of_inputs).max(axis=(0, 1), initial=0.0)
        changing = np.flatnonzero((np.sqrt(variance) > CONSTANT * size).any(axis=0))
        indices = np.full((2, len(self.names), len(self.sources)), np.nan)
        for n in changing:
            rows = np.flatnonzero(np.sqrt(variance[:, n]) > CONSTANT * size[n])
            each = saltelli_indices(np.moveaxis(few[:, :, rows, n], -1, 0))
            indices[:, n] = np.einsum("t,oti->oi", variance[rows, n] / variance[rows, n].sum(), each)
        table = {"unit": self.units, "standard deviation": np.sqrt(variance).mean(axis=0)}
        for order, found in zip(("first", "total"), indices, strict=True):
            table |= {f"{name} {order}": found[:, k] for k, name in enumerate(self.sources)}
        return pd.DataFrame(table, index=pd.Index(self.names, name="curve"))

    def to_dataframe(self) -> pd.DataFrame:
        """Columns NAME, NAME_low and NAME_high over the index time [s]."""
        low, high = self.bands()
        columns: dict[str, Array] = {}
        for k, name in enumerate(self.names):
            columns |= {name: self.values[:, k], f"{name}_low": low[:, k], f"{name}_high": high[:, k]}
        return pd.DataFrame(columns, index=pd.Index(self.time, name="time"))

    def of(self, names: Sequence[str]) -> "UncertainCurves":
        """Only these curves; ValueError for one that is not there."""
        own = indices_of("curve", names, self.names)
        units = tuple(self.units[k] for k in own)
        return UncertainCurves(self.time, tuple(names), units, self.values[:, own], self.samples[..., own],
                               self.sources, self.level, self.lost, self.missing)  # fmt: skip

    def unit(self, name: str) -> str:
        """The unit of a curve."""
        (k,) = indices_of("curve", [name], self.names)
        return self.units[k]

    def fill(self, axes: "Axes", name: str) -> None:
        """The band of a curve over time."""
        low, high = self.of([name]).bands()
        axes.fill_between(self.time, low[:, 0], high[:, 0], color=BAND_COLOR, lw=0, label=f"{self.level:.0%}")

    def plot(self, axes: "Axes", name: str) -> None:
        """A curve and its band over time."""
        (k,) = indices_of("curve", [name], self.names)
        self.fill(axes, name)
        axes.plot(self.time, self.values[:, k], color=CURVE_COLOR, label="as recorded")
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"[{self.units[k]}]")
        axes.set_title(figure_label(name), fontsize=9)
