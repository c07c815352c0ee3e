"""Figures of a study. Each draws into axes that it is given, and returns nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from myoquat.core.typing import Array
from myoquat.joints.labels import figure_label

__all__ = ["plot_heat_map", "plot_spaghetti", "plot_tornado"]

RAISING, LOWERING = "#b2442e", "#2e6fb2"
BANDS = (0.05, 0.25, 0.75, 0.95)


def plot_tornado(axes: Any, effects: pd.Series, most: int = 12) -> None:
    """Effects as bars, the greatest on top: one column of `main_effects`, in its unit. At most `most` are shown."""
    chosen = effects.reindex(effects.abs().sort_values(ascending=False).index)[:most][::-1]
    axes.barh(
        [figure_label(str(name)) for name in chosen.index],
        chosen,
        color=np.where(chosen > 0, RAISING, LOWERING),
        height=0.7,
    )
    axes.axvline(0, color="black", linewidth=0.8)
    unit = effects.attrs.get("units", {}).get(effects.name)
    axes.set_xlabel(f"effect on {figure_label(str(effects.name))}" + (f" [{figure_label(unit)}]" if unit else ""))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def plot_heat_map(axes: Any, table: pd.DataFrame, limit: float | None = 1.0) -> Any:
    """A table of correlations or effects as colours from -limit to limit, each cell with its number; the image."""
    values = table.to_numpy(dtype=float)
    bound = float(np.nanmax(np.abs(values))) if limit is None else limit
    image = axes.imshow(values, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto")
    columns, index = ([figure_label(str(name)) for name in axis] for axis in (table.columns, table.index))
    axes.set_xticks(range(values.shape[1]), columns, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(values.shape[0]), index)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(values):
        dark = abs(value) > 0.6 * bound
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color="white" if dark else "black")
    return image


def plot_spaghetti(axes: Any, results: xr.Dataset, name: str, lines: int = 60, bands: Sequence[float] = BANDS) -> None:
    """A coordinate or velocity of all samples over time: `lines` of them, the median, and bands between quantiles.

    Raises ValueError for an unknown name, or if the study kept no times.
    """
    values = _over_time(results, name)
    time = results.time.values
    step = max(1, len(values) // max(lines, 1))
    axes.plot(time, values[::step].T, color="0.5", linewidth=0.5, alpha=0.5)
    quantiles = np.nanquantile(values, sorted(bands), axis=0)
    for k in range(len(bands) // 2):
        label = f"{sorted(bands)[k]:.0%} to {sorted(bands)[-1 - k]:.0%}"
        axes.fill_between(
            time, quantiles[k], quantiles[-1 - k], color=LOWERING, alpha=0.15 + 0.2 * k, linewidth=0, label=label
        )
    axes.plot(time, np.nanmedian(values, axis=0), color=LOWERING, linewidth=2, label="median")
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"{figure_label(name)} [{_unit(results, name)}]")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _over_time(results: xr.Dataset, name: str) -> Array:
    """(samples, times) one coordinate or velocity of the samples that have any."""
    if "q" not in results:
        raise ValueError("the study kept no times: give `times` to the Study")
    for variable, along in (("q", "coordinate"), ("u", "velocity")):
        labels = list(results[along].values)
        if name in labels:
            values = results[variable].values[:, :, labels.index(name)]
            finite: Array = values[np.isfinite(values).any(axis=1)]
            return finite
    known = ", ".join([*results.coordinate.values, *results.velocity.values])
    raise ValueError(f"no coordinate or velocity is named {name!r}; there are: {known}")


def _unit(results: xr.Dataset, name: str) -> str:
    for along in ("coordinate", "velocity"):
        labels = list(results[along].values)
        if name in labels:
            return str(results[f"{along}_unit"].values[labels.index(name)])
    return ""
