"""OpenSim's own reference outputs, computed again from its setup files.

FOLDER, or each folder in it, holds setup files of OpenSim's tools and the files `std_NAME` that its tests expect
(opensim-core, Apache-2.0). Each setup runs on a copy. An expected file is compared with the output whose name contains
NAME, or is a part of it. Columns are compared one by one, at the expected times.
"""

import shutil
import tempfile
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.studies import UncertainCurves
from myoquat.apps.opensim_tools import run_setup
from myoquat.core import Array, figure_label, frozen, legend_above, small_axes
from myoquat.data import load_model, load_table
from myoquat.joints.errors import ModelError

PREFIX, SETUPS = "std_", "*[Ss]etup*.xml"
COMPARED = (".sto", ".mot", ".osim")
DRAWN, AXES_PER_ROW = 6, 3
# of OpenSim's tests: words in the name of an expected file, the tolerance, and its unit
TOLERANCES = (("StaticOptimization_activation", 0.025, "1"), ("StaticOptimization_force", 4.0, "N"),
              ("JointReaction", 1e-5, "N, N m, m"), ("InverseDynamics", 2.0, "N, N m"), ("simbody", 1e-6, "m, kg"),
              ("ik", 0.2, "deg, m"))  # fmt: skip


@frozen(eq=False)
class Beside:
    """An expected table and ours (t, n) at its times (t,) [s], of the columns that both have; of a model, one row.
    `setup` is the file of the tool that wrote ours."""

    folder: str
    expected_file: str
    output: str
    names: tuple[str, ...]
    time: Array
    expected: Array
    found: Array
    setup: str = ""

    def worst(self, among: Collection[str]) -> list[str]:
        """The columns that differ the most, among some."""
        order = np.argsort(-np.abs(self.found - self.expected).max(axis=0), kind="stable")
        return [self.names[k] for k in order if self.names[k] in among][:DRAWN]

    @property
    def row(self) -> dict[str, object]:
        """Greatest and RMS difference, the column of the greatest, and the tolerance of OpenSim's test."""
        off = np.abs(self.found - self.expected)
        fitting = [(t, unit) for word, t, unit in TOLERANCES if word in self.expected_file]
        tolerance, unit = fitting[0] if fitting else (np.nan, "")
        return {
            "columns": len(self.names), "rows": len(off),
            "greatest difference": float(off.max()),
            "in": self.names[int(off.max(axis=0).argmax())], "RMS difference": float(np.sqrt(np.mean(off**2))),
            "tolerance of OpenSim's test": tolerance, "unit": unit, "within": bool(off.max() <= tolerance),
        }  # fmt: skip


def compare_folder(folder: Path, tell: Callable[[str], None] = lambda words: None) -> list[Beside]:
    """All setups; ModelError for a folder without expected files."""
    parts = [
        path
        for path in (folder, *sorted(folder.iterdir()))
        if path.is_dir() and any(path.glob(f"{PREFIX}*")) and any(path.glob(SETUPS))
    ]
    if not parts:
        raise ModelError(f"no files {PREFIX}* that OpenSim's tests expect", file=folder)
    found = []
    for part in parts:
        with tempfile.TemporaryDirectory() as place:
            copied = Path(place) / part.name
            shutil.copytree(part, copied, copy_function=shutil.copyfile)
            copied.chmod(0o755)
            found += _of_folder(copied, tell)
    return found


def table_of(compared: list[Beside]) -> pd.DataFrame:
    """A row per expected file."""
    return pd.DataFrame.from_dict({f"{b.folder}/{b.expected_file}": b.row for b in compared}, orient="index")


def difference_figure(beside: Beside, bands: UncertainCurves | None = None) -> Figure:
    """The columns with the greatest differences, among those with bands where there are some: expected and found."""
    worst = beside.worst(beside.names if bands is None else bands.names)
    figure, axes = small_axes(len(worst), AXES_PER_ROW, 11.0, 2.3, 0.5)
    unit = beside.row["unit"]
    for axis, name in zip(axes, worst, strict=True):
        k = beside.names.index(name)
        if bands is not None:
            bands.fill(axis, name)
        axis.plot(beside.time, beside.expected[:, k], color="black", linewidth=3, label="OpenSim")
        axis.plot(beside.time, beside.found[:, k], color="#e08a1e", linestyle="--", label="here")
        axis.set_xlim(beside.time[0], beside.time[-1])
        axis.set_title(figure_label(name), fontsize=9)
        axis.set_xlabel("time [s]", fontsize=8)
        axis.set_ylabel(f"[{unit if bands is None else bands.unit(name)}]", fontsize=8)
        axis.tick_params(labelsize=8)
    legend_above(figure)
    return figure


# ---- parts -----------------------------------------------------------------------------------------------------------


def _of_folder(folder: Path, tell: Callable[[str], None]) -> list[Beside]:
    expected = [path for path in sorted(folder.glob(f"{PREFIX}*")) if path.suffix in COMPARED]
    written: dict[Path, str] = {}
    for setup in sorted(folder.glob(SETUPS)):
        tell(f"{folder.name}/{setup.name}")
        try:
            written |= dict.fromkeys(run_setup(setup), setup.name)
        except ModelError as error:
            tell(f"{folder.name}/{setup.name}: not run, {error.message.partition(' (/')[0]}")
    found = []
    for file in expected:
        own = [path for path in written if path.suffix in (file.suffix, ".sto", ".mot")]
        name = file.name.removeprefix(PREFIX)
        near = [path for path in own if path.stem in Path(name).stem or Path(name).stem in path.stem]
        if not near:
            tell(f"{folder.name}/{file.name}: not compared, no output has such a name")
            continue
        output = max(near, key=lambda path: len(path.stem))
        beside = _models(folder.name, file, output) if file.suffix == ".osim" else _tables(folder.name, file, output)
        found += [] if beside is None else [replace(beside, setup=written[output])]
    return found


def _tables(folder: str, file: Path, output: Path) -> Beside | None:
    """Two tables, by straight lines at the expected times that both cover."""
    expected, found = load_table(file), load_table(output)
    names = [str(name) for name in expected.columns if name in found.columns]
    time, own = expected.index.to_numpy(dtype=float), found.index.to_numpy(dtype=float)
    rows = (time >= own[0] - 1e-9) & (time <= own[-1] + 1e-9)
    if not names or not rows.any():
        return None
    values = np.stack([np.interp(time[rows], own, found[name].to_numpy(dtype=float)) for name in names], axis=-1)
    return Beside(folder, file.name, output.name, tuple(names), time[rows],
                  expected[names].to_numpy(dtype=float)[rows], values)  # fmt: skip


def _models(folder: str, file: Path, output: Path) -> Beside | None:
    """Masses of the bodies and positions of the markers of two models."""
    numbers = []
    for path in (file, output):
        model = load_model(path)
        own = {f"mass of {b.name}": b.mass for b in model.system.bodies}
        own |= {f"{m.name}, {axis}": x for m in model.markers for axis, x in zip("xyz", m.position, strict=True)}
        numbers.append(own)
    names = [name for name in numbers[0] if name in numbers[1]]
    if not names:
        return None
    expected, found = (np.array([[own[name] for name in names]], dtype=float) for own in numbers)
    return Beside(folder, file.name, output.name, tuple(names), np.zeros(1), expected, found)
