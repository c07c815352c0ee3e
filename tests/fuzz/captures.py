"""A .c3d file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from myoquat.data import load_forces, load_markers
from myoquat.joints.errors import ModelError

CORNERS = np.array([[400, 0, 0], [0, 0, 0], [0, 600, 0], [400, 600, 0]]).T.reshape(3, 4, 1)


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
    ezc3d = pytest.importorskip("ezc3d", reason="needs ezc3d")
    c = ezc3d.c3d()
    if points is None:
        points = np.ones((4, 2, 5))
        points[:3] = np.arange(30).reshape(3, 2, 5)
        points[:3, 1, 2] = np.nan
    for key, value in {"RATE": [100.0], "LABELS": ["A", "B"], "UNITS": [units]}.items():
        c["parameters"]["POINT"][key]["value"] = value
    c["data"]["points"] = points
    analog = np.zeros((1, 6, 50))
    analog[0, :3, :25] = np.array([20.0, 0.0, -700.0])[:, None] / channels[0][1]
    analog[0, 3:, :25] = np.array([-7.0, 14.0, 0.5])[:, None] / channels[1][1]
    names = ["Fx", "Fy", "Fz", "Mx", "My", "Mz"]
    for key, value in {"RATE": [1000.0], "LABELS": names, "UNITS": [channels[0][0]] * 3 + [channels[1][0]] * 3}.items():
        c["parameters"]["ANALOG"][key]["value"] = value
    c["data"]["analogs"] = analog
    if plate:
        _add_plate(c, ezc3d.ezc3d, {"mm": 1.0, "cm": 0.1}.get(units, 1e-3))
    c.write(str(path))
    return points


def _add_plate(c: Any, library: Any, millimetre: float) -> None:
    for name, values, shape in (
        ("USED", [1], [1]), ("TYPE", [2], [1]), ("ZERO", [0, 0], [2]), ("CHANNEL", [1, 2, 3, 4, 5, 6], [6, 1]),
    ):  # fmt: skip
        parameter = library.Parameter(name, "")
        parameter.set(library.VecInt(values), shape)
        c._storage["parameters"].add_parameter("FORCE_PLATFORM", parameter)
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
