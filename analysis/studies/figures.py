"""Figures of a study, drawn into axes."""

import importlib
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from myoquat.core import Array, check_types, figure_label, indices_of, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


LABEL_CHARACTERS = 40  # in a line below an axis
RAISING, LOWERING = "#b2442e", "#2e6fb2"
BANDS = (0.05, 0.25, 0.75, 0.95)


def plot_tornado(effects: pd.Series, most: int = 12, *, axes: "Axes | None" = None) -> "Figure":
    """A Figure of effects as bars, the greatest on top: one column of `main_effects`, in its unit.

    At most `most` are shown, on `axes` of a figure of your own where they are given.

    >>> import pandas as pd
    >>> from myoquat.analysis.studies import plot_tornado
    >>> effects = pd.Series({"bodies.A.mass": -2.0, "muscles.m1.max_isometric_force": 5.0}, name="work")
    >>> figure = plot_tornado(effects)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]  # from below
    ['bodies.A.mass', 'muscles.m1.max_isometric_force']
    """
    if axes is None:
        picture = importlib.import_module("myoquat.core.figures").Picture
        axes = picture(figsize=(6.0, 3.4), layout="constrained").subplots()
    _check(axes, effects=(effects, pd.Series))
    chosen = effects.reindex(effects.abs().sort_values(ascending=False).index)[:most][::-1]
    axes.barh(
        [figure_label(str(name)) for name in chosen.index],
        chosen,
        color=np.where(chosen > 0, RAISING, LOWERING),
        height=0.7,
    )
    axes.axvline(0, color="black", linewidth=0.8)
    unit = effects.attrs.get("units", {}).get(effects.name)
    label = with_unit(f"effect on {figure_label(str(effects.name))}", unit and figure_label(unit))
    axes.set_xlabel("\n".join(textwrap.wrap(label, LABEL_CHARACTERS)), loc="right")  # below names, within the figure
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)  # names of small numbers are long
    figure: Any = axes.get_figure(root=True)
    return figure


def plot_heat_map(axes: "Axes", table: pd.DataFrame, limit: float | None = 1.0) -> "AxesImage":
    """A table of correlations or effects as colours from -limit to limit, each cell with its number; the image.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from myoquat.analysis.studies import plot_heat_map
    >>> image = plot_heat_map(plt.figure().subplots(), pd.DataFrame({"work": [0.9, -0.2]}, index=["mass", "strength"]))
    >>> image.get_clim()
    (-1.0, 1.0)
    """
    _check(axes, table=(table, pd.DataFrame))
    values = table.to_numpy(dtype=float)
    bound = float(np.nanmax(np.abs(values))) if limit is None else limit
    image: AxesImage = axes.imshow(values, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto")
    columns, index = ([figure_label(str(name)) for name in axis] for axis in (table.columns, table.index))
    axes.set_xticks(range(values.shape[1]), columns, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(values.shape[0]), index)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(values):
        dark = abs(value) > 0.6 * bound
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color="white" if dark else "black")
    return image


def plot_bands(axes: "Axes", results: xr.Dataset, name: str, bands: Sequence[float] = BANDS, *, lines: int = 0) -> None:
    """A coordinate or velocity of all samples over time: the median, bands between quantiles, and `lines` samples.

    Raises ValueError for an unknown name, or if the study kept no times.

    >>> import matplotlib.pyplot as plt
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import plot_bands
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, times=5).run(progress=False)
    >>> axes = plt.figure().subplots()
    >>> plot_bands(axes, results, "A.omega_x", bands=(0.05, 0.95))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['5% to 95%', 'median']
    """
    _check(axes, results=(results, xr.Dataset), name=(name, str))
    values, unit = _over_time(results, name)
    time, ends = results.time.values, sorted(bands)
    if lines:
        axes.plot(time, values[:: max(1, len(values) // lines)].T, color="0.5", linewidth=0.5, alpha=0.5)
    quantiles = np.nanquantile(values, ends, axis=0)
    for k in range(len(ends) // 2):
        label = f"{ends[k]:.0%} to {ends[-1 - k]:.0%}"
        axes.fill_between(
            time, quantiles[k], quantiles[-1 - k], color=LOWERING, alpha=0.15 + 0.2 * k, linewidth=0, label=label
        )
    axes.plot(time, np.nanmedian(values, axis=0), color=LOWERING, linewidth=2, label="median")
    _style(axes)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(with_unit(figure_label(name), unit))
    axes.legend(frameon=False, fontsize=8)


def plot_sobol(axes: "Axes", indices: pd.DataFrame, most: int = 12) -> None:
    """First-order and total Sobol indices of one output of `sobol_indices` as bars with their intervals.

    The greatest total is on top. At most `most` axes are shown; ValueError for several outputs.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from myoquat.analysis.studies import plot_sobol
    >>> numbers = {"first": 0.6, "first_low": 0.5, "first_high": 0.7, "total": 0.8, "total_low": 0.7, "total_high": 0.9}
    >>> axes = plt.figure().subplots()
    >>> plot_sobol(axes, pd.DataFrame(numbers, index=["bodies.A.mass", "bodies.B.mass"]))
    >>> axes.get_xlabel()
    'share of the variance'
    """
    _check(axes, indices=(indices, pd.DataFrame))
    if indices.index.nlevels > 1:
        outputs = indices.index.get_level_values(0).unique()
        if len(outputs) != 1:
            raise ValueError(f"indices: one output is drawn, not {len(outputs)}: {', '.join(map(str, outputs))}")
        indices = indices.loc[outputs[0]]
        axes.set_ylabel(figure_label(str(outputs[0])), fontsize=9)
    chosen = indices.sort_values("total", ascending=False)[:most][::-1]
    place = np.arange(len(chosen))
    for order, shift, color in (("total", -0.2, "0.75"), ("first", 0.2, LOWERING)):
        value = chosen[order].to_numpy()
        reach = np.abs(np.stack([chosen[f"{order}_low"], chosen[f"{order}_high"]]) - value)
        label = "total" if order == "total" else "first order"
        axes.barh(place + shift, value, 0.4, xerr=reach, color=color, label=label, error_kw={"lw": 0.8, "capsize": 2})
    axes.set_xlabel("share of the variance")
    _style(axes)
    axes.set_yticks(place, [figure_label(str(name)) for name in chosen.index])
    axes.set_xlim(0, None)
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)


def _check(axes: Any, **others: tuple[object, type]) -> None:
    """TypeError, with the name of the argument, for what is no Axes, and for others of another type."""
    drawn = importlib.import_module("matplotlib.axes").Axes  # matplotlib, for those who want figures
    check_types(axes=(axes, drawn), **others)


def _style(axes: Any) -> None:
    importlib.import_module("myoquat.core.figures").plain_axis(axes)  # matplotlib, for those who want figures


def _over_time(results: xr.Dataset, name: str) -> tuple[Array, str]:
    """(samples, times) one coordinate or velocity of the samples that have any, angles in degrees, and its unit."""
    if "q" not in results:
        raise ValueError("the study kept no times: give `times` to the Study")
    names = results.coordinate.values.tolist()
    (place,) = indices_of("coordinate or velocity", [name], [*names, *results.velocity.values])
    array = results.q[..., place] if place < len(names) else results.u[..., place - len(names)]
    finite: Array = array.values[np.isfinite(array.values).any(axis=1)]
    unit = str(array[f"{'coordinate' if place < len(names) else 'velocity'}_unit"].values)
    return np.degrees(finite) if unit.startswith("rad") else finite, unit.replace("rad", "deg")
