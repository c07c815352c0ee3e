"""A .c3d file."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from myoquat.data import load_forces, load_markers
from myoquat.joints.errors import ModelError

CORNERS = np.array([[400, 0, 0], [0, 0, 0], [0, 600, 0], [400, 600, 0]]).T.reshape(3, 4, 1)


def capture(points: Any, units: str = "m", analogs: Any = None, labels: Any = (), units_of_analogs: Any = ()) -> Any:
    """A file of ezc3d: markers A and B (4, n, frames) at 100 Hz, and channels (1, n, samples) at 1000 Hz."""
    content = pytest.importorskip("ezc3d", reason="needs ezc3d").c3d()
    groups = {"POINT": ("points", points, 100.0, ["A", "B"][: points.shape[1]], [units])}
    if analogs is not None:
        groups["ANALOG"] = ("analogs", analogs, 1000.0, labels, units_of_analogs)
    for group, (data, values, rate, *words) in groups.items():
        for key, value in zip(("RATE", "LABELS", "UNITS"), ([rate], *words), strict=True):
            content["parameters"][group][key]["value"] = list(value)
        content["data"][data] = values
    return content


def write_c3d(
    path: str | Path,
    units: str = "mm",
    plate: bool = True,
    points: Any = None,
    channels: tuple[tuple[str, float], tuple[str, float]] = (("N", 1.0), ("Nmm", 1e-3)),
) -> np.ndarray:
    """Two markers over five frames, one lost once, and a plate of type 2 with its z axis downwards. Returns the points.

    points: others (4, 2, 5). channels: the units of forces and moments, with their sizes in N and N m.
    """
    if points is None:
        points = np.ones((4, 2, 5))
        points[:3] = np.arange(30).reshape(3, 2, 5)
        points[:3, 1, 2] = np.nan
    analog = np.zeros((1, 6, 50))
    analog[0, :3, :25] = np.array([20.0, 0.0, -700.0])[:, None] / channels[0][1]
    analog[0, 3:, :25] = np.array([-7.0, 14.0, 0.5])[:, None] / channels[1][1]
    names = ["Fx", "Fy", "Fz", "Mx", "My", "Mz"]
    c = capture(points, units, analog, names, [channels[0][0]] * 3 + [channels[1][0]] * 3)
    if plate:
        _add_plate(c, {"mm": 1.0, "cm": 0.1}.get(units, 1e-3))
    c.write(str(path))
    return points


def add_plates(c: Any, types: Any, channels: Any) -> None:
    """Force plates of these types, whose channels are columns."""
    library = importlib.import_module("ezc3d").ezc3d
    numbers = {"USED": [len(types)], "TYPE": types, "ZERO": [0, 0], "CHANNEL": channels}
    for name, values in numbers.items():
        parameter = library.Parameter(name, "")
        parameter.set(library.VecInt(np.ravel(values, "F").tolist()), np.shape(values))
        c._storage["parameters"].add_parameter("FORCE_PLATFORM", parameter)


def _add_plate(c: Any, millimetre: float) -> None:
    add_plates(c, [2], np.arange(1, 7)[:, None])
    c.add_parameter("FORCE_PLATFORM", "CORNERS", CORNERS * millimetre)
    c.add_parameter("FORCE_PLATFORM", "ORIGIN", np.array([[0.0], [0.0], [-40.0]]) * millimetre)


def read_c3d(path: Path) -> None:
    """The markers, and, also where they could not be read, the plates."""
    try:
        load_markers(path)
    except ModelError:
        load_forces(path)
        raise
    load_forces(path)
