"""Pictures of muscles."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from myoquat.joints.labels import figure_label
from myoquat.joints.picture import Picture

__all__ = ["plot_surface"]

LINES = ("-", "--", ":", "-.")


def plot_surface(surface: Any, variable: str = "moment_arm") -> Figure:
    """A Figure of `moment_arm_surface`: curves over one coordinate, or a map per muscle over two.

    variable: "moment_arm" or "length". Angles are drawn as they are given, in radians.
    """
    coordinates = [name for name in surface[variable].dims if name != "muscle"]
    label = f"moment arm, {figure_label(surface.attrs['arm'])}" if variable == "moment_arm" else "length"
    label += f" [{surface[variable].attrs['units']}]"
    return (
        _curves(surface, variable, coordinates[0], label)
        if len(coordinates) == 1
        else _maps(surface, variable, coordinates, label)
    )


def _axis_label(surface: Any, name: str) -> str:
    return f"{figure_label(name)} [{surface[name].attrs['units']}]"


def _curves(surface: Any, variable: str, name: str, label: str) -> Figure:
    figure = Picture(figsize=(7.5, 4.5), layout="constrained")
    axis = figure.subplots()
    shades = np.linspace(0, 0.65, max(len(surface.muscle), 1))
    for i, (muscle, shade) in enumerate(zip(surface.muscle.values, shades, strict=True)):
        values = surface[variable].sel(muscle=muscle)
        axis.plot(
            surface[name],
            values,
            LINES[i % len(LINES)],
            color=str(shade),
            linewidth=1.8,
            label=figure_label(str(muscle)),
        )
    axis.set_xlabel(_axis_label(surface, name))
    axis.set_ylabel(label)
    axis.grid(True, color="0.9")
    axis.legend(fontsize=9, frameon=False, ncols=1 + len(surface.muscle) // 12)
    return figure


def _maps(surface: Any, variable: str, names: list[str], label: str) -> Figure:
    count = len(surface.muscle)
    columns = min(count, 3)
    figure = Picture(figsize=(4.2 * columns, 3.6 * -(-count // columns)), layout="constrained")
    axes = figure.subplots(-(-count // columns), columns, squeeze=False, sharex=True, sharey=True)
    for axis in axes.ravel()[count:]:
        axis.set_visible(False)
    for axis, muscle in zip(axes.ravel(), surface.muscle.values, strict=False):
        values = surface[variable].sel(muscle=muscle).transpose(names[1], names[0])
        drawn = axis.contourf(surface[names[0]], surface[names[1]], values, levels=12, cmap="cividis")
        lines = axis.contour(surface[names[0]], surface[names[1]], values, levels=12, colors="white", linewidths=0.4)
        axis.clabel(lines, lines.levels[::3], fontsize=7)
        axis.set_title(figure_label(str(muscle)), fontsize=11)
        axis.set_xlabel(_axis_label(surface, names[0]))
        axis.set_ylabel(_axis_label(surface, names[1]))
        figure.colorbar(drawn, ax=axis, label=label)
    return figure
