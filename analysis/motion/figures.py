"""Figures of recorded motion."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.analysis.motion.gait import PERCENT, curves_over_time, over_cycles
from myoquat.core.arguments import check_types, real_array
from myoquat.core.figures import Panel, draw_panels
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.typing import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_cycles"]


def plot_cycles(
    trials: Sequence[Any],
    names: Sequence[str] | None = None,
    *,
    spans: Sequence[tuple[float, float]] | None = None,
    events: Mapping[str, Sequence[float]] | None = None,
    reference: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
) -> "Figure":
    """A Figure of trials over percent of a cycle: the mean of each curve, and a band of one standard deviation.

    trials     motions, whose coordinates are drawn, angles in degrees. Or tables, such as loads or moment arms, over
               the time [s] with the units of their columns in `attrs["units"]`
    names      the curves, all by default
    spans      first and last time [s] of the cycle of each trial, by default the whole trial
    events     by name, the time [s] of an event in each trial: drawn at the average
    reference  mean and standard deviation by the name of a curve, evenly spaced over the cycle: a grey band

    Values between rows are linear. The standard deviation is that of a sample (n - 1); one trial has no band. Raises
    ValueError for unknown names, trials without a row, and spans or events of another number than the trials.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_cycles
    >>> starts = mq.load_model("two_link").start + np.zeros((2, 1))
    >>> runs = mq.simulate(mq.load_model("two_link"), starts, np.array([[0.0] * 6, [0.1] * 6]), 0.1, step=1e-2)
    >>> figure = plot_cycles([runs.to_motion(0), runs.to_motion(1)], ["A.Q0"], events={"late": [0.05, 0.06]})
    >>> figure.axes[0].get_xlabel()
    'cycle [%]'
    """
    check_types(trials=(trials, Sequence))
    if not len(trials):
        raise ValueError("trials: none were given")
    for name, given in (("spans", spans), *((f"events {key!r}", times) for key, times in (events or {}).items())):
        if given is not None and len(given) != len(trials):
            raise ValueError(f"{name}: {len(trials)} are needed, one for each trial, not {len(given)}")
    tables = [curves_over_time(trial, "trials") for trial in trials]
    cycles = [_span(table, None if spans is None else spans[k]) for k, table in enumerate(tables)]
    chosen = list(tables[0].columns) if names is None else list(names)
    for table in tables:
        if unknown := [name for name in chosen if name not in table]:
            raise ValueError(f"names: {unknown[0]!r} does not exist; known: {', '.join(map(str, table.columns))}")
    each = np.concatenate([over_cycles(table[chosen], [cycle]) for table, cycle in zip(tables, cycles, strict=True)])
    spread = each.std(axis=0, ddof=1) if len(trials) > 1 else None
    panels = _panels(chosen, tables[0].attrs["units"], each.mean(axis=0), spread, _bands(reference or {}))
    percents = {
        name: float(np.mean([100 * (t - a) / (b - a) for t, (a, b) in zip(times, cycles, strict=True)]))
        for name, times in (events or {}).items()
    }
    return draw_panels(PERCENT, panels, "cycle [%]", percents)


def _span(table: "pd.DataFrame", span: tuple[float, float] | None) -> tuple[float, float]:
    first, last = (float(table.index[0]), float(table.index[-1])) if span is None else map(float, span)
    if not first < last:
        raise ValueError(f"spans: a cycle from {first:g} to {last:g} s has no length")
    return first, last


def _bands(reference: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> dict[str, tuple[Array, Array]]:
    """The edges of the bands at every percent."""
    found = {}
    for name, (mean, deviation) in reference.items():
        middle, half = (real_array(f"reference {name!r}", values) for values in (mean, deviation))
        x = np.linspace(0.0, 100.0, len(middle))
        edges = [np.interp(PERCENT, x, edge) for edge in (middle - half, middle + half)]
        found[name] = (edges[0], edges[1])
    return found


def _panels(
    names: Sequence[str],
    units: Mapping[str, str],
    mean: Array,
    spread: Array | None,
    bands: dict[str, tuple[Array, Array]],
) -> list[Panel]:
    """An axis for every curve that has a band to compare with, one for the others of each unit."""
    alone = [(name,) for name in names if name in bands]
    rest = [tuple(n for n in names if n not in bands and units[n] == unit) for unit in dict.fromkeys(units.values())]
    found = []
    for group in (*alone, *(group for group in rest if group)):
        columns = [list(names).index(name) for name in group]
        title = group[0] if len(group) == 1 else ""
        own = {name: bands[name] for name in group if name in bands}
        deviation = None if spread is None else spread[:, columns]
        found.append(Panel(title, units[group[0]], group, mean[:, columns], deviation, reference=own))
    return found
