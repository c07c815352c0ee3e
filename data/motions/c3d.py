"""C3D files of motion capture systems, through the library ezc3d: points, and force plates.

The C3D format is described at c3d.org. ezc3d computes the force, the moment and the centre of pressure of force plates
of types 1 to 4 from their analog channels, corners, origins and calibration matrices, in the laboratory's axes.
"""

import contextlib
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import ezc3d
import numpy as np
import pandas as pd

from myoquat.data.motions.trc import AXES, METRES
from myoquat.joints.errors import ModelError
from myoquat.kernels.typing import Array

__all__ = ["Plate", "read_c3d_plates", "read_c3d_points"]

BLOCK, MIPS = 512, 86  # bytes of a block; the number of processors whose words begin with the higher byte
FIRST_BYTES = 2 * 256 * BLOCK  # the parameters begin within 255 blocks and take as many at most
NEWTONS = {"N": 1.0}
NEWTON_METRES = {"Nm": 1.0, "Ncm": 1e-2, "Nmm": 1e-3}


@dataclass(frozen=True, eq=False)
class Plate:
    """What a force plate measured at its times: force (t, 3) [N] and moment (t, 3) [N m] of the subject's ground
    reaction, about the centre of pressure point (t, 3) [m], in the laboratory's axes."""

    time: Array
    force: Array
    moment: Array
    point: Array


def read_c3d_points(path: str | Path) -> pd.DataFrame:
    """Columns (marker, "x" | "y" | "z") in metres over the index `time` [s], a gap is NaN; `.attrs["header"]` keeps the
    rate [Hz] and the file's units. ModelError for a file that cannot be read or does not say its units."""
    path = Path(path)
    content = _opened(path)
    points = content["data"]["points"]
    scale = METRES.get(_text(content, "POINT", "UNITS"))
    if scale is None:
        raise ModelError(f"POINT:UNITS is {_text(content, 'POINT', 'UNITS')!r}; m, cm or mm is needed", file=path)
    names = _labels(content)
    if len(names) != points.shape[1] or len(set(names)) != len(names) or not all(names):
        raise ModelError(f"{points.shape[1]} points need as many different POINT:LABELS, not {names}", file=path)
    rate = float(content["header"]["points"]["frame_rate"])
    first = int(content["header"]["points"]["first_frame"])
    time = (first + np.arange(points.shape[2])) / rate
    seen = np.moveaxis(points[:3], 0, -1).swapaxes(0, 1) * scale  # (t, n, 3)
    columns = pd.MultiIndex.from_product([names, AXES], names=["marker", "axis"])
    frame = pd.DataFrame(seen.reshape(len(time), -1), pd.Index(time, name="time"), columns)
    frame.attrs = {"header": {"DataRate": rate, "Units": _text(content, "POINT", "UNITS")}}
    return frame


def read_c3d_plates(path: str | Path) -> list[Plate]:
    """The force plates of a file, in its order, at the rate of its analog channels.

    The point is NaN where the plate is not loaded. ModelError for a file without force plates, one whose corners or
    channels are missing, and units that are not known.
    """
    path = Path(path)
    content = _opened(path, plates=True)
    plates = content["data"].get("platform") or []
    if not plates:
        raise ModelError("the file holds no force plate (FORCE_PLATFORM:USED)", file=path)
    rate = float(content["header"]["analogs"]["frame_rate"])
    start = int(content["header"]["points"]["first_frame"]) / float(content["header"]["points"]["frame_rate"])
    return [_plate(path, plate, start, rate) for plate in plates]


def _plate(path: Path, plate: Any, start: float, rate: float) -> Plate:
    units = plate["unit_force"], plate["unit_moment"], plate["unit_position"]
    for unit, known in zip(units, (NEWTONS, NEWTON_METRES, METRES), strict=True):
        if unit not in known:
            raise ModelError(f"a force plate's unit {unit!r} is not one of {', '.join(known)}", file=path)
    force = plate["force"].T * NEWTONS[units[0]]
    moment = plate["Tz"].T * NEWTON_METRES[units[1]]
    point = plate["center_of_pressure"].T * METRES[units[2]]
    return Plate(start + np.arange(len(force)) / rate, force, moment, point)


def _opened(path: Path, plates: bool = False) -> Any:
    with path.open("rb") as stream:
        _check_parameters(path, stream.read(FIRST_BYTES), path.stat().st_size)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            return ezc3d.c3d(str(path), extract_forceplat_data=plates)
    except (RuntimeError, ValueError, IndexError, KeyError, OSError, MemoryError) as error:
        raise ModelError(f"this .c3d file cannot be read: {error}", file=path) from None


def _check_parameters(path: Path, data: bytes, size: int) -> None:
    """ModelError unless the records of parameters follow each other up to their end, inside the file, and the frames of
    the header fit into it: the library reads on where a file ends too early."""
    if size < BLOCK or data[1:2] != b"\x50":
        raise ModelError("this is no .c3d file: its header block is missing", file=path)
    at = (data[0] - 1) * BLOCK
    if not BLOCK <= at <= len(data) - 4:
        raise ModelError("this .c3d file cannot be read: its parameters are not there", file=path)
    order: Literal["little", "big"] = "big" if data[at + 3] == MIPS else "little"
    at += 4
    while length := abs(int.from_bytes(data[at : at + 1], order, signed=True)):
        place = at + 2 + length  # of the word that says how far the next record is
        step = int.from_bytes(data[place : place + 2], order, signed=True)
        if step == 0 and place + 2 <= len(data):
            break
        if step < 2 or place + step >= len(data) or not _holds(data[at + 1 : place + step], length, step):
            told = f"this .c3d file cannot be read: it ends before its parameters do, or they are damaged at byte {at}"
            raise ModelError(told, file=path)
        at = place + step
    if at >= len(data):
        raise ModelError("this .c3d file cannot be read: it ends before its parameters do", file=path)
    points, analogs, first, last = (int.from_bytes(data[i : i + 2], order) for i in (2, 4, 6, 8))
    if (4 * points + analogs) * 2 * max(last - first + 1, 0) > size:
        raise ModelError(f"this .c3d file cannot be read: it ends before its frames {first} to {last} do", file=path)


def _holds(record: bytes, length: int, step: int) -> bool:
    """Whether a record, from the number of its group on, has space for the values that it announces."""
    if record[0] > 127:
        return True  # a group, which has no values
    kind, dims = record[length + 3 : length + 4], record[length + 4 : length + 5]
    sizes = record[length + 5 : length + 5 + dims[0]] if dims else b""
    width = abs(int.from_bytes(kind, "little", signed=True))
    return bool(dims) and len(sizes) == dims[0] and 4 + dims[0] + width * math.prod(sizes) <= step


def _text(content: Any, group: str, name: str) -> str:
    values = content["parameters"].get(group, {}).get(name, {}).get("value", [])
    return str(values[0]).strip() if len(values) else ""


def _labels(content: Any) -> list[str]:
    """POINT:LABELS, and LABELS2, ... of files with more than 255 points."""
    group = content["parameters"]["POINT"]
    keys = ["LABELS", *sorted((key for key in group if key.startswith("LABELS") and key[6:].isdigit()), key=_number)]
    used = int(content["parameters"]["POINT"]["USED"]["value"][0])
    return [str(name).strip() for key in keys for name in group.get(key, {}).get("value", [])][:used]


def _number(key: str) -> int:
    return int(key[6:])
