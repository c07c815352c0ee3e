"""Pictures of muscles."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from myoquat.core.typing import Array
from myoquat.joints.labels import figure_label
from myoquat.joints.panels import Panel, draw_panels
from myoquat.joints.picture import Picture

__all__ = ["plot_surface"]


def plot_surface(surface: Any, variable: str = "moment_arm") -> Figure:
    """A Figure of `moment_arm_surface`: curves over one coordinate, or a map per muscle over two.

    variable: "moment_arm" or "length". Angles are drawn in degrees.
    """
    coordinates = [name for name in surface[variable].dims if name != "muscle"]
    title = f"moment arm, {surface.attrs['arm']}" if variable == "moment_arm" else "length"
    unit = surface[variable].attrs["units"]
    if len(coordinates) == 1:
        names = tuple(str(muscle) for muscle in surface.muscle.values)
        values = surface[variable].transpose(coordinates[0], "muscle").values
        panel = Panel(title, unit, names, values, shared=True)
        return draw_panels(_shown_values(surface, coordinates[0]), [panel], _axis_label(surface, coordinates[0]))
    return _maps(surface, variable, coordinates, f"{figure_label(title)} [{unit}]")


def _axis_label(surface: Any, name: str) -> str:
    return f"{figure_label(name)} [{surface[name].attrs['units'].replace('rad', 'deg')}]"


def _shown_values(surface: Any, name: str) -> Array:
    """(k,) the values of a coordinate, angles in degrees."""
    values = np.asarray(surface[name].values, dtype=float)
    return np.degrees(values) if surface[name].attrs["units"] == "rad" else values


def _maps(surface: Any, variable: str, names: list[str], label: str) -> Figure:
    count = len(surface.muscle)
    columns = min(count, 3)
    figure = Picture(figsize=(4.2 * columns, 3.6 * -(-count // columns)), layout="constrained")
    axes = figure.subplots(-(-count // columns), columns, squeeze=False, sharex=True, sharey=True)
    for axis in axes.ravel()[count:]:
        axis.set_visible(False)
    x, y = (_shown_values(surface, name) for name in names)
    for axis, muscle in zip(axes.ravel(), surface.muscle.values, strict=False):
        values = surface[variable].sel(muscle=muscle).transpose(names[1], names[0])
        drawn = axis.contourf(x, y, values, levels=12, cmap="cividis")
        lines = axis.contour(x, y, values, levels=12, colors="white", linewidths=0.4)
        axis.clabel(lines, lines.levels[::3], fontsize=7)
        axis.tick_params(labelsize=8)
        axis.set_title(figure_label(str(muscle)), fontsize=9, loc="left")
        axis.set_xlabel(_axis_label(surface, names[0]), fontsize=9)
        axis.set_ylabel(_axis_label(surface, names[1]), fontsize=9)
        figure.colorbar(drawn, ax=axis, label=label)
    return figure
