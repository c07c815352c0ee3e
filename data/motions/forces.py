"""Forces: external loads on bodies over time, such as ground reactions."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core import Array, ArrayLike, assign, frozen, indices_of, pandas as pd, time_table, xarray as xr
from myoquat.data import c3d
from myoquat.data.files import beside, check_ending, check_output, existing, near_file, write_text
from myoquat.data.rows import AXES
from myoquat.data.storage import read_motion, write_motion
from myoquat.data.xml import Element, add, boolean, complain, document_text, last_name, parse_opensim, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in
from myoquat.muscle.loads import LoadFrames

from .series import (
    TimeRecord,
    axes_rotation,
    check_names,
    check_series,
    check_time,
    frames_in,
    interpolated,
    rows_within,
)

COLUMNS = {"force": "_force_v", "point": "_force_p", "torque": "_torque_"}  # of a load, before the axis
QUANTITIES = {"force": "N", "point": "m", "torque": "N m"}
# what an <ExternalForce> of OpenSim names
FRAMES = ("applied_to_body", "force_expressed_in_body", "point_expressed_in_body")


@frozen(eq=False)
class Forces(TimeRecord):
    """Loads `names` (n,) at `time` (t,) [s]: each a force [N] at a point [m] of a body and a free torque [N m].

    force, point, torque (t, n, 3). `bodies` (n,) are the bodies that they act on, "" if not assigned yet.
    `force_frames` (n,) name the bodies, or the ground, whose axes resolve force and torque. `point_frames` (n,) name
    those whose axes and origin resolve the points. Raises ValueError for times that do not increase,
    names that come twice, other shapes, numbers that are not finite.

    >>> import numpy as np
    >>> from myoquat.data import Forces
    >>> time = [0.0, 0.5, 1.0]
    >>> push = np.zeros((3, 1, 3))
    >>> push[:, 0, 1] = [0.0, 300.0, 600.0]  # N, upwards
    >>> plate = Forces(time, ("plate",), ("calcn_r",), push, np.zeros((3, 1, 3)), np.zeros((3, 1, 3)))
    >>> plate.resampled([0.25]).force[0, 0]
    array([  0., 150.,   0.])
    """

    time: Array
    names: tuple[str, ...]
    bodies: tuple[str, ...]
    force: Array
    point: Array
    torque: Array
    force_frames: tuple[str, ...] = ()
    point_frames: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assign(self, time=check_time(self.time), names=check_names("load", self.names))
        n = len(self.names)
        for quantity in QUANTITIES:
            assign(self, **{quantity: check_series(quantity, getattr(self, quantity), (len(self.time), n, 3))})
        for frames in ("force_frames", "point_frames"):
            assign(self, **{frames: tuple(getattr(self, frames)) or ("ground",) * n})
        for entry in ("bodies", "force_frames", "point_frames"):
            if len(getattr(self, entry)) != n:
                raise ValueError(f"{entry} must name one for each of {n} loads, not {getattr(self, entry)}")

    def __repr__(self) -> str:
        on = ", ".join(f"{name} on {body or '?'}" for name, body in zip(self.names, self.bodies, strict=True))
        return f"<Forces {on}; {frames_in(self.time)}>"

    @property
    def numbers(self) -> Array:
        """(t, 9 n) force, torque and point of each load, one after the other."""
        return np.stack([self.force, self.torque, self.point], axis=2).reshape(len(self.time), 9 * len(self.names))

    def applied_to(self, bodies: Mapping[str, str]) -> "Forces":
        """The loads on these bodies, load -> body; others stay where they are. ValueError for an unknown load."""
        indices_of("load", bodies, self.names)
        return replace(self, bodies=tuple(bodies.get(n, b) for n, b in zip(self.names, self.bodies, strict=True)))

    def turned(self, axes: ArrayLike | str) -> "Forces":
        """Loads of the laboratory in other axes, with R as `axes_rotation` takes it; those given in a body's frame
        stay."""
        R, changes = axes_rotation(axes), dict[str, Any]()
        for quantity in QUANTITIES:
            frames = self.point_frames if quantity == "point" else self.force_frames
            values = getattr(self, quantity)
            changes[quantity] = np.where((np.array(frames, dtype=str) == "ground")[:, None], values @ R.T, values)
        return replace(self, **changes)

    @property
    def frames(self) -> LoadFrames:
        """The bodies and frames, without numbers."""
        return LoadFrames(self.bodies, self.force_frames, self.point_frames)

    def resampled(self, time: ArrayLike) -> "Forces":
        """The loads at other times by straight lines between the rows; ValueError for times outside the record."""
        at = check_time(time)
        if len(at) and (not len(self.time) or not rows_within(at, self.time[0], self.time[-1]).all()):
            span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "nothing"
            raise ValueError(f"the loads cover {span}; they are wanted from {at[0]:g} to {at[-1]:g} s")
        found: dict[str, Any] = {k: interpolated(self.time, getattr(self, k), at, np.inf) for k in QUANTITIES}
        return replace(self, time=at, **found)

    # ---- other forms ----------------------------------------------------------------------------------------

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns (load, "force" | "point" | "torque", axis) in SI units over the index time [s]."""
        columns = pd.MultiIndex.from_product([self.names, QUANTITIES, AXES], names=["load", "quantity", "axis"])
        return time_table(self.time, np.stack([getattr(self, k) for k in QUANTITIES], axis=2), columns)

    def to_table(self) -> "pd.DataFrame":
        """Columns '<load>_force_vx', '<load>_force_px', '<load>_torque_x' and so on, as files of ground reactions have
        them, over the index time [s]."""
        columns = [f"{name}{middle}{axis}" for name in self.names for middle in COLUMNS.values() for axis in AXES]
        return time_table(self.time, self.to_dataframe().to_numpy(), columns)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the loads as .mot, .sto or .xml.

        A .mot or .sto file has the columns of `to_table`. An .xml file is OpenSim's ExternalLoads, with bodies and
        frames, which `load_forces` reads. Its columns are in a .mot file of the same name beside it.

        Raises FileExistsError for a file that exists unless `overwrite` is True, and ValueError for another ending. For
        .mot and .sto, which state no frames, ValueError is also raised for loads in other frames than the ground's.
        """
        path = check_ending("forces are", path, ".xml", ".mot", ".sto")
        if path.suffix.lower() == ".xml":
            check_output(path, overwrite)
            data = path.with_suffix(".mot")
            write_motion(self.to_table(), data, in_degrees=False, overwrite=overwrite)
            write_text(path, _external_loads(self, data.name))
            return
        others = {*self.force_frames, *self.point_frames} - {"ground"}
        if others:
            raise ValueError(f"a {path.suffix} file holds loads in the ground's axes, not in those of {sorted(others)}")
        write_motion(self.to_table(), path, in_degrees=False, overwrite=overwrite)

    def to_xarray(self) -> "xr.Dataset":
        """force, point, torque (time, load, axis), with body and frames of each load."""
        parts = {k: (("time", "load", "axis"), getattr(self, k), {"units": u}) for k, u in QUANTITIES.items()}
        coordinates = {
            "time": ("time", self.time, {"units": "s"}),
            "load": list(self.names),
            "axis": list(AXES),
            "body": ("load", list(self.bodies)),
            "force_frame": ("load", list(self.force_frames)),
            "point_frame": ("load", list(self.point_frames)),
        }
        return xr.Dataset(parts, coordinates)

    @classmethod
    def from_xarray(cls, data: "xr.Dataset") -> "Forces":
        """From a dataset as `to_xarray` makes it."""
        data = data.transpose("time", "load", "axis").sel(axis=list(AXES))
        words = {k: tuple(map(str, data[k].values)) for k in ("load", "body", "force_frame", "point_frame")}
        values = {k: data[k].values for k in QUANTITIES}
        return cls(
            data["time"].values, words["load"], words["body"], **values,
            force_frames=words["force_frame"], point_frames=words["point_frame"],
        )  # fmt: skip


def _external_loads(forces: Forces, data_file: str) -> str:
    """The text of OpenSim's ExternalLoads, .xml, for forces whose numbers are in another file."""
    root = etree.Element("OpenSimDocument", Version="40000")
    loads = add(root, "ExternalLoads", name="external_loads")
    holder = add(loads, "objects")
    for name, *where in zip(forces.names, forces.bodies, forces.force_frames, forces.point_frames, strict=True):
        force = add(holder, "ExternalForce", name=name)
        for tag, body in zip(FRAMES, where, strict=True):
            add(force, tag, body)
        for quantity, middle in COLUMNS.items():
            add(force, f"{quantity}_identifier", name + middle)
    add(loads, "datafile", data_file)
    return document_text(root)


def load_forces(path: str | Path, axes: ArrayLike | str | None = None, *, threshold: float = 10.0) -> Forces:
    """External loads from a file.

    .xml  OpenSim's ExternalLoads: bodies, frames and columns as it says, numbers from its data file. A force without
          a point acts at the origin of the body. Points are zero where they are NaN because the force is zero.
    .c3d  its force plates, "plate1", "plate2", ..., not yet on bodies: `applied_to` says on which. Signs are those of
          the file; where a plate carries less than `threshold` [N] all its numbers are zero.

    axes: how the axes of the laboratory lie in those of the model, a rotation or words such as "x z -y"
    (see `axes_rotation`). Without it they stay the file's. Raises ModelError with file and line for a file that is
    broken or of another type. It is raised too for an identifier that finds no columns, and for data files that do not
    exist.

    >>> import tempfile
    >>> import numpy as np
    >>> from myoquat.data import Forces, load_forces
    >>> push = np.zeros((2, 1, 3))
    >>> push[:, 0, 1] = [500.0, 600.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate = Forces([0.0, 1.0], ("plate",), ("calcn_r",), push, 0 * push, 0 * push)
    ...     plate.save(f"{folder}/walk.xml")  # OpenSim's ExternalLoads, beside walk.mot
    ...     forces = load_forces(f"{folder}/walk.xml")
    >>> forces.bodies, forces.force[:, 0, 1]
    (('calcn_r',), array([500., 600.]))
    """
    path = existing(path)
    suffix = path.suffix.lower()
    if suffix not in (".xml", ".c3d"):
        raise ModelError(
            "forces are read from .xml and .c3d files; a table of forces is named by such an .xml file, ExternalLoads",
            file=path,
        )
    forces = forces_of_loads(path) if suffix == ".xml" else _from_plates(path, threshold)
    return forces if axes is None else forces.turned(axes)


@frozen
class LoadEntry:
    """One ExternalForce: the body, the frames of force and point, and its line in the file.

    `force`, `point` and `torque` are the beginnings of the columns' names, "" for a quantity that it lacks.
    """

    name: str
    body: str
    force_frame: str
    point_frame: str
    force: str
    point: str
    torque: str
    line: int


def read_external_loads(path: str | Path, loads: Element | None = None) -> tuple[list[LoadEntry], Path, int]:
    """The loads that apply, the data file (relative paths start at the file's own folder) and the line that names it.

    loads: an <ExternalLoads> inside the file, which is another document then. ModelError with file and line for another
    document and a missing data file name. A load without force and torque, or with a data source of its own, is an
    error too.
    """
    path = Path(path)
    if loads is None:
        root = parse_opensim(path)
        loads = root.find("ExternalLoads") if root.tag == "OpenSimDocument" else None
        if loads is None:
            raise ModelError("this is no OpenSim document with <ExternalLoads>", file=path, line=root.sourceline)
    with errors_in(path):
        entries = [
            load_entry(force)
            for force in loads.findall("objects/ExternalForce")
            if boolean(force, "appliesForce", True) and not boolean(force, "isDisabled")  # of older documents
        ]
        if not entries:
            complain(loads, "no <ExternalForce> applies")
        name, named = text(loads, "datafile"), loads.find("datafile")
    return entries, beside(path.parent, name), (0 if named is None else named.sourceline) or 0


def load_entry(force: Any) -> LoadEntry:
    """What an <ExternalForce> says; a force without a point acts at the origin of the body, as in OpenSim.

    ModelError with its line where it has neither force nor torque.
    """
    identifiers = {key: text(force, f"{key}_identifier", "") for key in QUANTITIES}
    identifiers = {key: "" if value == "Unassigned" else value for key, value in identifiers.items()}
    if not identifiers["force"] and not identifiers["torque"]:
        complain(force, "a load needs a <force_identifier> or a <torque_identifier>")
    body, frame, point_frame = (
        last_name(text(force, tag, default)) for tag, default in zip(FRAMES, (None, "ground", "ground"), strict=True)
    )
    return LoadEntry(
        str(force.get("name") or identifiers["force"] or identifiers["torque"]),
        body,
        frame,
        point_frame if identifiers["point"] else body,
        **identifiers,
        line=int(force.sourceline),
    )


def forces_of_loads(path: Path, loads: Element | None = None) -> Forces:
    """The forces of OpenSim's ExternalLoads: a file of them, or their element inside another document."""
    entries, data_file, line = read_external_loads(path, loads)
    if not os.path.isfile(data_file):  # nor names that no file can have
        raise ModelError(f"the data file {data_file} does not exist{near_file(data_file)}", file=path, line=line)
    table = read_motion(data_file, gaps=True)
    columns = [columns_of(path, entry, table, data_file) for entry in entries]
    numbers: Any = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
    named = ((entry.name, entry.body, entry.force_frame, entry.point_frame) for entry in entries)
    names, bodies, *frames = zip(*named, strict=True)
    try:
        return Forces(table.index.to_numpy(dtype=float), names, bodies, *numbers, *frames)
    except ValueError as error:  # two loads of one name
        lines = [entry.line for entry in entries if repr(entry.name) in str(error)]
        raise ModelError(str(error), file=path if lines else data_file, line=lines[-1] if lines else None) from None


def columns_of(path: Path | None, entry: LoadEntry, table: "pd.DataFrame", data: Path) -> list[Array]:
    """force, point, torque (t, 3) of one load in the table of a `data` file; zero where it names no columns. Raises
    ModelError for an identifier that has not three columns. It names the line of the load and the `path` of the load's
    own file, None where the caller adds it. NaN is read as zero where the force is zero, and an error elsewhere."""
    found: list[Array] = []
    for identifier in (entry.force, entry.point, entry.torque):
        names = _labels(identifier, [str(label) for label in table.columns])
        if identifier and len(names) != 3:
            raise ModelError(
                f"the data file {data.name} has {len(names)} columns {identifier!r}..., not three: "
                f"{', '.join(names) or 'none'}",
                file=path, line=entry.line, element=f"load {entry.name!r}",
            )  # fmt: skip
        values = table[names].to_numpy(dtype=float) if identifier else np.zeros((len(table), 3))
        missing = np.isnan(values)
        if found and entry.force:  # programs divide by the force to find its point
            missing &= (found[0] != 0).any(axis=1, keepdims=True)
        if missing.any():
            row, column = np.argwhere(missing)[0]
            rows = missing[:, column]
            times = table.index[rows]
            problem = (
                f"column {names[column]!r} is nan"
                + " where the force is not zero" * bool(found)
                + f", in {len(times)} of {len(rows)} frames, {times[0]:g} to {times[-1]:g} s: "
                "write 0 where nothing pushes, and fill gaps in between"
            )
            raise ModelError(problem, file=data, line=table.attrs["lines"][row])
        found.append(np.nan_to_num(values))
    return found


def _labels(identifier: str, labels: list[str]) -> list[str]:
    """The columns of an identifier, as OpenSim finds them. Their names are the identifier with x, y, z after it, or
    with "_" and these. If there are none, they are all columns that begin with it."""
    for middle in ("", "_"):
        names = [identifier + middle + axis for axis in AXES]
        if set(names) <= set(labels):
            return names
    return [label for label in labels if label.startswith(identifier)]


def _from_plates(path: Path, threshold: float) -> Forces:
    time, numbers = c3d.read_c3d_plates(path)
    force, point, _ = numbers
    loaded = (np.linalg.norm(force, axis=-1) >= threshold) & np.isfinite(point).all(axis=-1)
    names = tuple(f"plate{i + 1}" for i in range(force.shape[1]))
    return Forces(time, names, ("",) * len(names), *np.where(loaded[..., None], numbers, 0.0))
