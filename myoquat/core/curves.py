"""What results over time share: one list of their arrays, from which datasets and figures follow."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .lazy_imports import pandas as pd, xarray as xr
from .typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def time_table(time: Array, values: Any, columns: Any = None, **attrs: Any) -> "pd.DataFrame":
    """A table over the index time (t,) [s], with these `attrs`. It has the values (t, ...) in columns, each row one
    after the other. Without columns, values are columns (t,) by name, which may be one number each."""
    index = pd.Index(time, name="time")
    if columns is None:
        values = {name: np.broadcast_to(column, index.shape) for name, column in values.items()}
    else:
        values = np.reshape(values, (len(index), len(columns)))
    frame = pd.DataFrame(values, index, columns)
    frame.attrs = attrs
    return frame


class Curve(NamedTuple):
    """An array of a result.

    dims    names of its axes: "run_0", ... of a batch, "time" or "pose", then "muscle", "velocity", "coordinate",
            "joint", "axis" and others
    values  the array
    units   its unit, or one for each entry of the last axis, or None for those that are not known
    """

    dims: tuple[str, ...]
    values: Array
    units: str | Sequence[str] | None = "1"


class Curves:
    """Base of results over time: `to_xarray` and `plot`, from the arrays in `curves` and the labels of their axes.

    >>> import myoquat as mq
    >>> from myoquat.analysis.motion import inverse_dynamics_of_motion
    >>> model = mq.load_model("two_link")
    >>> still = mq.data.Motion(model, [0.0, 0.1], [model.start] * 2, [[0.0] * 6] * 2, [[0.0] * 6] * 2)
    >>> data = inverse_dynamics_of_motion(model, still).to_xarray()
    >>> dict(data.torque.sizes), data.torque.units
    ({'time': 2, 'velocity': 6}, 'N m')
    """

    def curves(self) -> dict[str, Curve]:
        """The arrays by name."""
        raise NotImplementedError

    def labels(self) -> Mapping[str, Any]:
        """The labels along each axis by its name: seconds along "time"."""
        raise NotImplementedError

    def to_xarray(self) -> "xr.Dataset":
        """The arrays with labelled axes and units. Where units differ along an axis, '<name>_units' has them."""
        labels = dict(self.labels())
        parts: dict[str, Any] = {}
        for name, (dims, values, units) in self.curves().items():
            each = [units] if isinstance(units, str) else list(units or ())
            parts[name] = (dims, values, {"units": each[0]} if len(set(each)) == 1 else {})
            if len(set(each)) > 1:
                labels[f"{name}_units"] = (dims[-1], each)
        if "time" in labels:
            labels["time"] = ("time", labels["time"], {"units": "s"})
        return xr.Dataset(parts, labels)

    def _table(self, *names: str, **renamed: str) -> "pd.DataFrame":
        """Columns '<label>.<name>' of arrays with labels along their last axis, some of them renamed, and a row for
        each entry of the others: over the index time [s], if that is the other."""
        curves, labels, columns = self.curves(), self.labels(), dict[str, Array]()
        for name, curve in (dict(zip(names, names, strict=True)) | renamed).items():
            dims, values, _ = curves[curve]
            columns |= {f"{label}.{name}": values[..., k].ravel() for k, label in enumerate(labels[dims[-1]])}
        return pd.DataFrame(columns, pd.Index(labels["time"], name="time") if "time" in labels else None)

    def plot(self) -> "Figure":
        """A matplotlib Figure of the arrays over time, a panel for each unit of each, angles in degrees."""
        figures = importlib.import_module("myoquat.core.figures")  # matplotlib takes half a second
        labels, panels = self.labels(), []
        for name, (dims, values, units) in self.curves().items():
            if dims[0] != "time" or len(dims) == 1:
                continue
            names = [str(x) for x in labels[dims[1]]]
            if len(dims) == 3:
                names = [f"{one} {x}" for one in names for x in labels[dims[2]]]
            columns = values.reshape(len(values), len(names))
            each = [units or "1"] * len(names) if units is None or isinstance(units, str) else list(units)
            panels += [replace(panel, title=name) for panel in figures.by_unit(names, each, columns)]
        figure: Figure = figures.draw_panels(np.asarray(labels["time"]), panels)
        return figure
