"""Figures that notebooks show, and panels of curves."""

import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .labels import figure_label, with_unit
from .records import frozen
from .typing import Array

# ---- Figures that notebooks show, and curves that stay apart without colour ---------------------------------------


FILE_DPI = 300  # of figures in files, as journals ask
NOTEBOOK_DPI = 110  # of figures in notebooks
COLORS = ("#000000", "#1f3b8f", "#b3202c", "#1b7f4d", "#a05eb5", "#3d9bd1", "#e08a1e", "#8cc64b")
DASHES = ("-", "--", "-.", ":", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 1)), (0, (9, 2, 2, 2)))


class Picture(Figure):
    """A matplotlib Figure that a notebook shows also where pyplot has never been imported."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=NOTEBOOK_DPI)
        return content.getvalue()


def curve_styles(count: int) -> list[dict[str, Any]]:
    """Colour and dashes of `count` curves: each lighter than the one before, and with dashes of its own. A grey print
    therefore keeps the order. From the ninth on they come again: divide more curves into groups (`by_unit`).

    >>> [style["linestyle"] for style in curve_styles(3)]
    ['-', '--', '-.']
    """
    return [{"color": COLORS[i % len(COLORS)], "linestyle": DASHES[i % len(DASHES)]} for i in range(count)]


# --------------------------------------------------------------------------------------------------------------
#
# Small multiples in one style: curves over time, an angle or percent of a cycle, with one quantity and one unit per
# axis.
#
# An axis holds at most `MAX_CURVES` curves, which differ in colour, in lightness and in their dashes. More are divided
# into groups, the sides of the body first. Legends stand beside their axis. Curves that are zero throughout are left
# out,
# and a sentence says which.


MAX_CURVES = 8  # of an axis
AXES_PER_ROW, MAX_AXES_IN_NARROW_FIGURE = 2, 8  # with more axes there is one more in a row
WIDTH, HEIGHT = 5.6, 2.3  # [inch] of an axis with its legend
MAX_NAMED_CURVES = 12  # of those left out, in the sentence below the figure
_SENTENCE_WIDTH = 151  # letters in a line of it
MIN_RANGE = 1e-6  # of the greatest value: curves with a smaller range are drawn flat
SIDE = re.compile(r"(?:^|[_. ])(r|l|right|left)(?:$|[_. ])", re.IGNORECASE)
SIDES = {"r": "right", "right": "right", "l": "left", "left": "left"}
TITLES = {"deg": "angles", "deg/s": "angular velocities", "m": "positions", "m/s": "velocities",
          "1": "coordinates without unit", "1/s": "their rates"}  # fmt: skip


@frozen(eq=False)
class Panel:
    """One quantity: the curves `names` with values (t, n) in `unit`, under a title.

    spread     (t, n) standard deviations, shown as bands
    reference  bands (low (t,), high (t,)) by the names of curves
    shared     whether all groups, and other shared panels of the unit, have one vertical scale
    """

    title: str
    unit: str
    names: tuple[str, ...]
    values: Array
    spread: Array | None = None
    shared: bool = False
    reference: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)

    def of(self, columns: Sequence[int], title: str) -> "Panel":
        """The panel with some of its curves."""
        spread = None if self.spread is None else self.spread[:, columns]
        names = tuple(self.names[k] for k in columns)
        return replace(self, title=title, names=names, values=self.values[:, columns], spread=spread)


def by_unit(names: Sequence[str], units: Sequence[str], values: Array) -> list[Panel]:
    """A panel for each unit of the columns of values (t, n), radians in degrees."""
    shown = [unit.replace("rad", "deg") for unit in units]
    scale = np.where([unit.startswith("rad") for unit in units], 180 / np.pi, 1.0)
    found = []
    for unit in dict.fromkeys(shown):
        columns = [k for k, own in enumerate(shown) if own == unit]
        title = TITLES.get(unit, unit)
        found.append(
            Panel(title, "" if unit == "1" else unit, tuple(names[k] for k in columns), (values * scale)[:, columns])
        )
    return found


def draw_panels(
    x: Array, panels: Iterable[Panel], label: str = "time [s]", events: Mapping[str, float] | None = None
) -> Figure:
    """A Figure of the panels over x (t,), as many axes as their groups need; events: vertical lines at x by name. A
    sentence tells which curves are zero, and which panels of several axes are one constant; these are not drawn."""
    moving, still = _without_zeros(panels)
    constant = [_constant(panel) for panel in moving]
    moving = [panel for panel, value in zip(moving, constant, strict=True) if not value]
    flat = [group for panel in moving for group in _groups(panel)]
    across = min(AXES_PER_ROW + (len(flat) > MAX_AXES_IN_NARROW_FIGURE), max(len(flat), 1))
    rows = max(-(-len(flat) // across), 1)
    figure = Picture(figsize=(WIDTH * across, HEIGHT * rows + 0.4), layout="constrained")
    axes = np.ravel(figure.subplots(rows, across, squeeze=False, sharex=True))
    for axis, panel in zip(axes, flat, strict=False):
        _draw(axis, x, panel, events or {})
    for axis in axes[len(flat) :]:
        axis.set_visible(False)
    for axis in axes[max(len(flat) - across, 0) : len(flat)]:
        axis.set_xlabel(label)
        axis.tick_params(labelbottom=True)
    for unit in {panel.unit for panel in flat if panel.shared}:
        _share([axis for axis, panel in zip(axes, flat, strict=False) if panel.shared and panel.unit == unit])
    if left_out := _left_out({"Zero": still, "Constant": [value for value in constant if value]}):
        figure.supxlabel(left_out, fontsize=8, color="0.3", x=0.01, ha="left")
    return figure


def small_axes(
    count: int, per_row: int, width: float, height: float, above: float = 0.0, shared: bool = False
) -> tuple[Figure, list[Any]]:
    """A figure of equal axes in rows that are `height` high [inch], with more space `above`, and these axes. shared:
    they have the same ranges."""
    rows = max(-(-count // per_row), 1)
    figure = Picture(figsize=(width, above + height * rows), layout="constrained")
    axes = list(figure.subplots(rows, per_row, squeeze=False, sharex=shared, sharey=shared).ravel())
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def legend_above(figure: Figure) -> None:
    """One legend for the curves of all axes, by name."""
    curves = {label: h for a in figure.axes for h, label in zip(*a.get_legend_handles_labels(), strict=True)}
    figure.legend(curves.values(), curves, loc="outside upper right", ncols=3, frameon=False, fontsize=9)


def plain_axis(axis: Any, x: str = "", y: str = "", title: str = "") -> None:
    """Labels and a title, numbers of ticks as they are, without a factor or an offset beside the axis, and a light grid
    behind the curves."""
    for place, text in (("xlabel", x), ("ylabel", y), ("title", title)):
        if text:
            getattr(axis, f"set_{place}")(text, fontsize=9, loc="left" if place == "title" else "center")
    for direction in (axis.xaxis, axis.yaxis):
        direction.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\u2212")))
        direction.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 3, 5, 10]))
    axis.grid(True, color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def legend_beside(axis: Any) -> None:
    """The legend at the right of an axis, off the curves."""
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=2.8)


def _without_zeros(panels: Iterable[Panel]) -> tuple[list[Panel], list[str]]:
    """The panels without curves that are zero throughout, and the names of these."""
    moving, still = [], []
    for panel in panels:
        drawn = [k for k in range(len(panel.names)) if np.nanmax(np.abs(panel.values[:, k]), initial=0.0) > 0]
        left = [name for k, name in enumerate(panel.names) if k not in drawn]
        still += [
            f"{panel.title} of {', '.join(left[:MAX_NAMED_CURVES])}"
            + (" and others" if len(left) > MAX_NAMED_CURVES else "")
        ] * bool(left)
        if drawn:
            moving.append(panel.of(drawn, panel.title))
    return moving, still


def _constant(panel: Panel) -> str:
    """The value of a panel that needs several axes, though all its curves are one constant; "" of another panel."""
    low, high = panel.values.min(initial=np.inf), panel.values.max(initial=-np.inf)
    if len(panel.names) <= MAX_CURVES or panel.spread is not None or panel.reference or low != high:
        return ""
    return f"{panel.title} of {len(panel.names)} curves, {low:.4g} {panel.unit}".strip()


def _left_out(curves: Mapping[str, Sequence[str]]) -> str:
    """A sentence for each quality of curves, in lines that fit below a figure."""
    sentences = [
        f"{quality} throughout and not drawn: {'; '.join(map(figure_label, names))}."
        for quality, names in curves.items()
        if names
    ]
    return textwrap.fill(" ".join(sentences), _SENTENCE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _groups(panel: Panel) -> Iterator[Panel]:
    """The panel in parts of at most `MAX_CURVES` curves: the sides of the body apart, each in equal parts in their
    order."""
    if len(panel.names) <= MAX_CURVES:
        yield panel
        return
    sides: dict[str, list[int]] = {}
    for k, name in enumerate(panel.names):
        found = SIDE.findall(name)
        sides.setdefault(SIDES[found[-1].lower()] if found else "", []).append(k)
    for side, columns in sides.items():
        parts = np.array_split(columns, -(-len(columns) // MAX_CURVES))
        for number, part in enumerate(parts, start=1):
            title = ", ".join(filter(None, (panel.title, side)))
            yield panel.of(list(part), f"{title}, {number} of {len(parts)}" if len(parts) > 1 else title)


def _draw(axis: Any, x: Array, panel: Panel, events: Mapping[str, float]) -> None:
    for name, (low, high) in panel.reference.items():
        if name in panel.names:
            axis.fill_between(x, low, high, color="0.85", linewidth=0, label="reference")
    for k, (name, style) in enumerate(zip(panel.names, curve_styles(len(panel.names)), strict=True)):
        axis.plot(x, panel.values[:, k], linewidth=1.3, label=figure_label(name), **style)
        if panel.spread is not None:
            low, high = panel.values[:, k] - panel.spread[:, k], panel.values[:, k] + panel.spread[:, k]
            axis.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    for name, place in events.items():
        axis.axvline(place, color="0.4", linewidth=0.8, linestyle=(0, (2, 2)))
        axis.annotate(figure_label(name), (place, 1), xycoords=("data", "axes fraction"), fontsize=7, color="0.3",
                      xytext=(2, -2), textcoords="offset points", va="top")  # fmt: skip
    plain_axis(axis, "", with_unit("", panel.unit).strip(), figure_label(panel.title))
    _bound(axis, panel)
    if len(x):
        axis.set_xlim(x[0], x[-1] if x[-1] > x[0] else x[0] + 1)
    legend_beside(axis)


def _bound(axis: Any, panel: Panel) -> None:
    """A curve that hardly changes is flat, not a picture of round-off."""
    finite = panel.values[np.isfinite(panel.values)]
    if finite.size and np.ptp(finite) <= MIN_RANGE * np.abs(finite).max():
        middle = float(finite.mean())
        axis.set_ylim(middle - 0.5 * abs(middle), middle + 0.5 * abs(middle))


def _share(axes: Sequence[Any]) -> None:
    low = min(axis.get_ylim()[0] for axis in axes)
    high = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, high)
