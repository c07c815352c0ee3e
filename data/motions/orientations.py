"""Orientations: recorded rotations of inertial sensors over time, as unit quaternions."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, assign, frozen
from myoquat.data.files import check_ending, check_output, existing, write_text
from myoquat.data.mvnx import MvnxContent, read_mvnx
from myoquat.data.rows import NumberFile, check_times
from myoquat.data.storage import read_header
from myoquat.joints import quaternion_exp, quaternion_from_matrix, quaternion_log, quaternion_multiply
from myoquat.joints.errors import errors_in
from myoquat.joints.quaternion import quaternion_conjugate as conjugate

from .series import SpatialRecording, axes_rotation

COMPONENTS = ("Q0", "Q1", "Q2", "Q3")
ORDERS = {"wxyz": [0, 1, 2, 3], "xyzw": [3, 0, 1, 2]}
MAX_ROUNDING = 0.02  # of lengths of quaternions whose numbers have two digits
LENGTH_TOLERANCE = 1e-3  # how far a recorded quaternion may be from length 1: files hold few digits


def slerp(time: Array, Q: Array, at: Array, left: Array, right: Array) -> Array:
    """(s, 4) rotations at times (s,) between rows of Q (t, 4), turning evenly about one axis."""
    share = (at - time[left]) / np.where(right > left, time[right] - time[left], 1.0)
    step = quaternion_multiply(conjugate(Q[left]), Q[right])
    step = quaternion_log(np.where(step[:, :1] < 0, -step, step))
    return quaternion_multiply(Q[left], quaternion_exp(share[:, None] * step))


@frozen(eq=False, repr=False)
class Orientations(SpatialRecording):
    """quaternions (t, n, 4), scalar first, of sensors `names` (n,) at `time` (t,) [s], NaN where a sensor was silent.

    R(Q) takes components in the sensor's axes to components in the axes of `frame`. Hidden entries of a masked array
    become NaN. Lengths may differ from 1 by 1e-3, as files with few digits have it, and are then made 1. Each
    quaternion gets the sign that is nearer to the one before. Raises ValueError for other lengths, times that do not
    increase, names that come twice, other shapes.

    >>> import numpy as np
    >>> from myoquat.data import Orientations
    >>> half = np.sqrt(0.5)
    >>> turning = [[[1.0, 0, 0, 0]], [[half, 0, 0, half]]]  # a quarter turn about z
    >>> sensors = Orientations([0.0, 1.0], ("pelvis",), turning)
    >>> sensors.resampled([0.5], longest_gap=2.0).quaternions[0, 0].round(4)  # an eighth: along the great circle
    array([0.9239, 0.    , 0.    , 0.3827])
    """

    noun: ClassVar[str] = "sensor"
    field: ClassVar[str] = "quaternions"
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"component": COMPONENTS}
    label: ClassVar[str] = "orientation"
    blending: ClassVar[tuple[Any, ...]] = (slerp, len(COMPONENTS))
    units: ClassVar[str] = "1"
    time: Array
    names: tuple[str, ...]
    quaternions: Array
    frame: str = "ground"

    def __post_init__(self) -> None:
        super().__post_init__()
        Q = self.quaternions
        length = np.linalg.norm(Q, axis=-1, keepdims=True)
        wrong = np.abs(length[..., 0] - 1) > LENGTH_TOLERANCE
        if wrong.any():
            row, k = (int(i) for i in np.argwhere(wrong)[0])
            raise ValueError(
                f"the quaternion of {self.names[k]!r} at {self.time[row]:g} s has length {length[row, k, 0]:.6g}, not 1"
            )
        assign(self, quaternions=continuous_quaternions(Q / length))

    def turned(self, axes: ArrayLike | str, frame: str = "ground") -> "Orientations":
        """The same rotations seen from other axes, Q_R Q, with R as `axes_rotation` takes it: a matrix or "x z -y"."""
        Q, seen = self.quaternions.copy(), ~self.missing
        Q[seen] = quaternion_multiply(quaternion_from_matrix(axes_rotation(axes)), Q[seen])
        return replace(self, quaternions=Q, frame=frame)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a .sto file of quaternions, as OpenSim reads them. A gap is written as nan. FileExistsError for an
        existing file unless `overwrite`, ValueError for another ending."""
        path = check_output(check_ending("orientations are", path, ".sto"), overwrite)
        rate = (len(self.time) - 1) / (self.time[-1] - self.time[0]) if len(self.time) > 1 else 1.0
        head = [
            f"DataRate={rate:.9g}",
            "DataType=Quaternion",
            "version=3",
            "endheader",
            "\t".join(["time", *self.names]),
        ]
        rows = (
            "\t".join([repr(float(t)), *(",".join(repr(float(x)) for x in Q) for Q in row)])
            for t, row in zip(self.time, self.quaternions, strict=True)
        )
        write_text(path, "\n".join([*head, *rows]) + "\n")


def load_orientations(path: str | Path, axes: ArrayLike | str | None = None, order: str = "wxyz") -> Orientations:
    """The sensors of a .sto file of quaternions (DataType=Quaternion), four numbers with commas in each cell, or the
    segments of an .mvnx file (see `load_suit`).

    order  "wxyz" where the scalar comes first, as OpenSim writes it, or "xyzw".
    axes   how the axes of the laboratory lie in those of the model, a rotation or words such as "x z -y" (see
           `axes_rotation`). Without it they stay the file's.

    Raises ModelError with file and line for a file that is broken or of another type, and for a quaternion whose length
    is not 1. Quaternions of two digits, whose lengths are off by up to 0.02, are normalised with an ImplausibleWarning.

    >>> import tempfile
    >>> from myoquat.data import Orientations, load_orientations
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Orientations([0.0, 0.01], ("pelvis",), [[[1.0, 0, 0, 0]]] * 2).save(f"{folder}/walk.sto")
    ...     sensors = load_orientations(f"{folder}/walk.sto")
    >>> sensors
    <Orientations 1 sensors, 2 frames, 0 to 0.01 s, axes of ground>
    """
    if order not in ORDERS:
        raise ValueError(f"order is 'wxyz' or 'xyzw', not {order!r}")
    path = existing(path)
    if path.suffix.lower() == ".mvnx":
        found = orientations_in(read_mvnx(path))
    else:
        found = _from_table(path, ORDERS[order])
    return found if axes is None else found.turned(axes)


def orientations_in(content: MvnxContent, owner: str = "segment") -> Orientations:
    """The orientations of the segments, or of the sensors, in an .mvnx file."""
    Q = content.of("orientation" if owner == "segment" else "sensorOrientation")
    with errors_in(content.path):
        return Orientations(content.time, tuple(content.labels[owner]), Q)


def continuous_quaternions(Q: Array) -> Array:
    """(t, ..., 4) quaternions with the sign that is nearer to the last one before that is not NaN."""
    result = np.array(Q, dtype=float)
    if len(result) < 2:
        return result
    columns = result.reshape(len(result), math.prod(result.shape[1:-1]), 4)
    gaps = np.isnan(columns[..., 0]).any(axis=0)
    columns[:, ~gaps] = _with_near_signs(columns[:, ~gaps])
    for k in np.flatnonzero(gaps):
        seen = np.flatnonzero(~np.isnan(columns[:, k, 0]))
        columns[seen, k] = _with_near_signs(columns[seen, k])
    return result


def _with_near_signs(Q: Array) -> Array:
    """(t, ..., 4) quaternions without NaN, with the sign that is nearer to the one before."""
    signs = np.ones(Q.shape[:-1])
    signs[1:] = np.where(np.sum(Q[1:] * Q[:-1], axis=-1) < 0, -1.0, 1.0)
    return Q * np.cumprod(signs, axis=0)[..., None]


def _from_table(path: Path, order: list[int]) -> Orientations:
    """The sensors of a .sto file; ModelError, with the line, for a quaternion that is none."""
    file = NumberFile(path, errors="strict")
    head, (number, text) = read_header(file)
    header = dict(text.strip().partition("=")[::2] for _, text in head)
    if header.get("DataType") != "Quaternion":
        raise file.error("no line 'DataType=Quaternion': this file holds no orientations", len(head) + 1)
    labels = [label.strip() for label in text.rstrip().split("\t")]
    file.check_labels(number, labels)
    wide = [labels[0], *(f"{label} {part}" for label in labels[1:] for part in COMPONENTS)]
    body = ((i, _wide(file, i, line, labels)) for i, line in file.lines if line.strip())
    table, rows = file.table(wide, body, gaps=True)
    check_times(path, rows, table[:, 0])
    Q = table[:, 1:].reshape(len(table), len(labels) - 1, 4)
    length = np.linalg.norm(Q, axis=-1, keepdims=True)
    off = np.abs(length - 1)
    rounded = (off > LENGTH_TOLERANCE) & (off <= MAX_ROUNDING)
    if rounded.any():
        Q = np.where(rounded, Q / np.where(rounded, length, 1.0), Q)
        count, worst = int(rounded.sum()), off[rounded].max()
        line = int(rows[rounded.any(axis=(1, 2)).argmax()])
        file.tell(line, f"{count} quaternions are off length 1 by up to {worst:.2g}, and normalised")
    try:
        return Orientations(table[:, 0], tuple(labels[1:]), Q[..., order])
    except ValueError as error:
        line = int(rows[(off > MAX_ROUNDING).any(axis=(1, 2)).argmax()])
        raise file.error(str(error), line) from None


def _wide(file: NumberFile, number: int, text: str, labels: list[str]) -> str:
    """The row with a cell for each number."""
    cells = text.rstrip().split("\t")
    if len(cells) != len(labels):
        raise file.error(f"{len(cells)} columns; the header names {len(labels)}", number)
    for label, cell in zip(labels[1:], cells[1:], strict=True):
        if cell.count(",") != 3 and cell.strip().lower() != "nan":
            raise file.error(f"{cell!r} is not a quaternion", number, label)
    return "\t".join(
        [cells[0], *(part for cell in cells[1:] for part in (cell if "," in cell else "nan,nan,nan,nan").split(","))]
    )
