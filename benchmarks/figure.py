"""The table of ratios as a figure: a bar per route, grouped by the work, on a logarithmic axis."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

_BAR = 0.24  # inches per row


def draw(comparisons: dict[str, list[dict[str, Any]]], file: Path, caption: str) -> None:
    """Write the figure of all rows that hold a ratio; the ending of `file` says the format."""
    groups = _groups(comparisons)
    count = sum(len(rows) + 0.4 for rows in groups)
    figure = Figure(figsize=(8.0, _BAR * count + 1.2), layout="constrained")
    axes = figure.add_subplot()
    labels: list[tuple[float, str]] = []
    y = 0.0
    for rows in groups:
        axes.text(
            0.0,
            y,
            _title(rows),
            transform=axes.get_yaxis_transform(),
            backgroundcolor="white",
            fontweight="bold",
            va="center",
            size=9,
            zorder=3,
        )
        y -= 1
        for row in rows[1:]:
            _bar(axes, y, row)
            labels.append((y, row["route"]))
            y -= 1
        y -= 0.4
    _frame(axes, labels, y, caption)
    figure.savefig(file, dpi=150)


def _groups(comparisons: dict[str, list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """The rows with a ratio, those of one work together, the reference first, then fastest first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, rows in comparisons.items():
        for row in rows:
            if "ratio" in row:
                groups.setdefault((name, row["work"]), []).append(row)
    return [sorted(rows, key=lambda row: (not _is_reference(row), -row["ratio"])) for rows in groups.values()]


def _is_reference(row: dict[str, Any]) -> bool:
    return row["route"] == row["against"]


def _title(rows: list[dict[str, Any]]) -> str:
    """The work, and what 1 stands for: the reference has no bar of its own."""
    first = rows[0]
    return f"{first['work']} (1 = {first['against']}, {_time(first['median'], first['unit'])})"


def _bar(axes: Any, y: float, row: dict[str, Any]) -> None:
    """From 1 to the ratio, with the middle half of the repeats as a line and the time as text."""
    ratio = row["ratio"]
    color = "0.45" if ratio >= 1 else "0.8"
    axes.barh(y, ratio - 1, left=1, height=0.7, color=color, edgecolor="black", linewidth=0.6)
    spread = [ratio * row["median"] / row[key] for key in ("high", "low")]
    axes.plot(spread, [y, y], color="white", linewidth=3.0, solid_capstyle="butt")
    axes.plot(spread, [y, y], color="black", linewidth=1.2, solid_capstyle="butt")
    text = f"{_digits(ratio)} ×   {_time(row['median'], row['unit'])}"
    axes.annotate(text, (max(ratio, 1, *spread), y), (4, 0), textcoords="offset points", va="center", size=8)


def _time(value: float, unit: str) -> str:
    """A time with three digits, in the unit that shows them without an exponent."""
    units = ["ns", "µs", "ms", "s"]
    k = units.index("µs" if unit == "us" else unit)
    while value >= 999.5 and k + 1 < len(units):
        value, k = value / 1000, k + 1
    return f"{_digits(value)} {units[k]}"


def _digits(x: float) -> str:
    """Three digits, without an exponent where it can be."""
    return f"{x:.0f}" if 99.5 <= x < 1e6 else f"{x:.3g}"


def _frame(axes: Any, labels: list[tuple[float, str]], bottom: float, caption: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_ylim(bottom + 0.5, 0.8)
    axes.axvline(1, color="black", linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** 0.25)  # space for the text beside the longest bar
    axes.set_yticks([y for y, _ in labels], [text for _, text in labels], size=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", which="major", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"times as fast (logarithmic; text: median time per item)\n{caption}", size=8)
