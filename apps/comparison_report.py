"""The report of a comparison of two models, on one page of HTML: tables, and curves of the muscles that differ most."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.comparison import ModelComparison
from myoquat.analysis.comparison.matching import SAME
from myoquat.apps.report import Drawn, Numbers, write_report
from myoquat.joints.labels import figure_label
from myoquat.joints.panels import legend_beside, plain_axis
from myoquat.joints.picture import Picture, curve_styles

__all__ = ["write_comparison_report"]

MAX_DRAWN, AXES_PER_ROW, CURVE_POINTS = 6, 3, 61
DRAWN_FROM = 1e-6  # relative differences that are drawn
UNITS = {"length": "m", "moment arm": "m", "force": "N"}


def write_comparison_report(found: ModelComparison, path: Path) -> None:
    """Write the page: what was compared and matched, the muscles, bodies and coordinates, and curves."""
    matched, _, differences = found.to_text().partition("\n\n")
    text = matched.splitlines()
    text += [line for line in differences.splitlines() if not line.startswith("  ") and not line.endswith(":")]
    table = found.muscles
    order = table.filter(like="relative").max(axis=1).sort_values(ascending=False).index
    sections: list[Numbers | Drawn] = []
    worst = _worst(found)
    if worst:
        words = "The muscles with the greatest relative differences; other coordinates are at their starts."
        sections.append(Drawn("Curves", _curves(found, worst), words))
    sections.append(_numbers("Muscles", table.loc[order]))
    sections.append(_numbers("Bodies", found.bodies))
    coordinates = found.coordinates
    coordinates.insert(0, "unit", [found.units.get(str(name), "") for name in coordinates.index])
    sections.append(_numbers("Coordinates", coordinates))
    for what, names in found.unmatched.items():
        sections.append(Numbers(f"Without a partner: {what}", pd.DataFrame(index=pd.Index(names, name=what))))
    write_report(path, f"{found.first} and {found.second}", text, sections)


def _numbers(heading: str, table: pd.DataFrame) -> Numbers:
    """A table; a word in its heading stands for the columns of names where all are the same in both models."""
    if not len(table) or not (table["matched by"] == SAME).all():
        return Numbers(heading, table)
    return Numbers(f"{heading}, all matched by the {SAME}", table.drop(columns=["in B", "matched by"]))


def _worst(found: ModelComparison) -> list[tuple[str, str, str]]:
    """(muscle, quantity, coordinate) of the curves: each muscle's greatest relative difference."""
    scalars = {arm: arm for arm in found.arms if arm in found.names.coordinates.names}
    chosen: dict[str, tuple[str, str, str]] = {}
    over = {r["name"]: r["coordinate"] for r in found.records if r["quantity"] == "moment arm"}
    for row in found.worst(len(found.records)).to_dict("records"):
        name = str(row["name"])
        along = scalars.get(over.get(name, ""))
        differs = row["relative"] > DRAWN_FROM
        if row["part"] == "muscle" and name not in chosen and along and differs:
            chosen[name] = name, str(row["quantity"]), along
    return list(chosen.values())[:MAX_DRAWN]


def _curves(found: ModelComparison, worst: list[tuple[str, str, str]]) -> Figure:
    rows = -(-len(worst) // AXES_PER_ROW)
    figure = Picture(figsize=(15, 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, AXES_PER_ROW, squeeze=False).ravel()
    for axis, (muscle, quantity, over) in zip(axes, worst, strict=False):
        values = np.linspace(*found.ranges[over], CURVE_POINTS)
        turns = found.units[over] == "rad"
        x = np.degrees(values) if turns else values
        both = found.curves(muscle, quantity, over, values)
        for y, label, style in zip(both, "AB", curve_styles(2), strict=True):
            axis.plot(x, y, label=label, **style)
        plain_axis(axis)
        axis.set_xlabel(f"{figure_label(over)} [{'deg' if turns else found.units[over]}]")
        axis.set_ylabel(f"{quantity} [{UNITS[quantity]}]")
        axis.set_title(figure_label(muscle), loc="left")
        legend_beside(axis)
    for axis in axes[len(worst) :]:
        axis.set_visible(False)
    return figure
