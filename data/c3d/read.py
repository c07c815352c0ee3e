"""C3D files of motion capture systems, through the library ezc3d: points, and force plates.

The C3D format is described at c3d.org. The library computes the force, the moment and the centre of pressure of force
plates of types 1 to 4, in the laboratory's axes. It takes them from the plates' analog channels, corners, origins and
calibration matrices. It is written in C++ and runs in a process of its own (`read_child`), so that a damaged file ends
that process, not this one.
"""

import json
import math
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from myoquat.core import Array, frozen, indices_of, missing_extra, pandas as pd, subprocess
from myoquat.data.c3d.read_child import LENGTHS, unit_in
from myoquat.data.files import read_start
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.rows import AXES, MAX_BYTES, distinct_labels, text_of
from myoquat.joints import ModelError

__all__ = ["Plate", "read_c3d_channels", "read_c3d_plates", "read_c3d_points"]

BLOCK_BYTES = 512
MIPS_PROCESSOR = 86  # the number of processors with big-endian words
FIRST_BYTES = 2 * 256 * BLOCK_BYTES  # the parameters begin within 255 blocks and take as many at most
SECONDS, SECONDS_PER_BYTE = 1, 1e-6  # of the processor; measured: 0.04 s, and 6e-8 s for a byte
EXTRA_WAIT_S = 60  # seconds by the clock beyond them, on a machine that does much else
MEMORY, MEMORY_PER_BYTE = 3 * 2**28, 32  # bytes beyond those of the libraries; measured: 8 for a byte of the file
VOLTS = {"V": 1.0, "mV": 1e-3, "uV": 1e-6}


@frozen(eq=False)
class Plate:
    """What a force plate measured at its times: the subject's ground reaction, in the laboratory's axes.

    force   (t, 3) [N]
    moment  (t, 3) [N m] about the centre of pressure
    point   (t, 3) [m] the centre of pressure
    """

    time: Array
    force: Array
    moment: Array
    point: Array


EMPTY = "maximum number of frames is 0"  # what ezc3d says of a file that is cut off there


def read_c3d_points(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """Columns (marker, "x" | "y" | "z") in metres over the index `time` [s], a gap is NaN; `.attrs["header"]` keeps the
    rate [Hz] and the file's units.

    ModelError for a file that cannot be read or does not say its units. An ImplausibleWarning, or an error if `strict`,
    for labels that are missing or come again, which get a number, and for another number of frames than the header's.
    """
    path = Path(path)
    found, arrays = _read(path, "points", strict)
    (points,) = arrays
    try:
        scale = unit_in(LENGTHS, found["units"], "POINT:UNITS")
    except ValueError:
        raise ModelError(f"POINT:UNITS is {found['units']!r}; m, cm or mm is needed", file=path) from None
    names = _labels(path, "POINT", found["labels"], points.shape[1], strict)
    time = (found["first"] + np.arange(points.shape[2])) / found["rate"]
    seen = np.moveaxis(points, 0, -1).swapaxes(0, 1) * scale  # (t, n, 3)
    columns = pd.MultiIndex.from_product([names, AXES], names=["marker", "axis"])
    frame = pd.DataFrame(seen.reshape(len(time), 3 * len(names)), pd.Index(time, name="time"), columns)
    frame.attrs = {"header": {"DataRate": found["rate"], "Units": found["units"]}}
    return frame


def read_c3d_plates(path: str | Path) -> list[Plate]:
    """The force plates of a file, in its order, at the rate of its analog channels.

    Channels are converted from ANALOG:UNITS, corners and origins from POINT:UNITS. The point is NaN where the plate is
    not loaded. ModelError for a file without force plates, one whose corners or channels are missing, and units that
    are not known or that differ among the forces, or the moments, of one plate.
    """
    path = Path(path)
    found, arrays = _read(path, "plates")
    if not arrays:
        raise ModelError("the file holds no force plate (FORCE_PLATFORM:USED)", file=path)
    start = found["first"] / found["points_rate"]
    plates = zip(arrays[::3], arrays[1::3], arrays[2::3], strict=True)
    return [_plate(path, measured, start, found["rate"]) for measured in plates]


def read_c3d_channels(path: str | Path, names: Sequence[str] | None = None) -> "pd.DataFrame":
    """A column per analog channel over the index `time` [s], those in millivolts and microvolts as volts;
    `.attrs["units"]`. ModelError for a file without channels, or channels of several units; ValueError for a name that
    is not there. Labels as in `read_c3d_points`."""
    path = Path(path)
    found, (values,) = _read(path, "channels")
    labels = _labels(path, "ANALOG", found["labels"], len(values))
    chosen = indices_of("channel", labels if names is None else names, labels)
    units = (found["units"] + [""] * len(labels))[: len(labels)]
    scales = np.array([VOLTS.get(units[k], 1.0) for k in chosen])
    own = sorted({"V" if units[k] in VOLTS else units[k] for k in chosen})
    if len(own) > 1:
        raise ModelError(f"the channels have several units, {', '.join(own)}; name those that are wanted", file=path)
    time = found["first"] / found["points_rate"] + np.arange(values.shape[1]) / found["rate"]
    frame = pd.DataFrame(values[chosen].T * scales, pd.Index(time, name="time"), [labels[k] for k in chosen])
    frame.attrs = {"units": (own[0] if own else "") or "V"}
    return frame


def _labels(path: Path, group: str, labels: list[str], count: int, strict: bool = False) -> list[str]:
    """Names of `count` points or channels: those of the file, as far as it has them."""
    warn = partial(_warn, path, strict)
    texts = [text_of(label, lambda text: warn(f"{group}:LABELS holds {text}")) for label in labels]
    clean = ["".join(c for c in text if c.isprintable()).strip() for text in texts]
    return distinct_labels((clean + [""] * (count - len(clean)))[:count], lambda text: warn(f"{group}:LABELS: {text}"))


def _warn(path: Path, strict: bool, message: str) -> None:
    if strict:
        raise ModelError(message, file=path)
    warnings.warn(f"{path}: {message}", ImplausibleWarning, stacklevel=6)


def _plate(path: Path, measured: tuple[Array, ...], start: float, rate: float) -> Plate:
    """The plate of what was measured (3, t): force, free moment and centre of pressure."""
    force, moment, point = (array.T for array in measured)
    if np.isnan(force).any() or np.isnan(moment[np.isfinite(point).all(axis=-1)]).any():
        raise ModelError("a force plate's channels hold what is no number", file=path)
    return Plate(start + np.arange(len(force)) / rate, force, moment, point)


def _read(
    path: Path, part: Literal["points", "plates", "channels"], strict: bool = False
) -> tuple[dict[str, Any], list[Array]]:
    """What `read_child` finds, in a process of its own: the library ends it on some damaged files."""
    if find_spec("ezc3d") is None:
        raise missing_extra(ModuleNotFoundError("No module named 'ezc3d'", name="ezc3d"))
    start, size = read_start(path, FIRST_BYTES, MAX_BYTES)
    announced, bytes_per_frame = _check_parameters(path, start, size)
    seconds = SECONDS + int(SECONDS_PER_BYTE * size)
    limits = [str(seconds), str(MEMORY + MEMORY_PER_BYTE * size)]
    command = [sys.executable, "-I", str(Path(__file__).with_name("read_child.py")), str(path.resolve()), part, *limits]
    try:
        done = _run([*command, *filter(None, sys.path)], EXTRA_WAIT_S + seconds)
    except subprocess.TimeoutExpired:
        raise ModelError(f"this .c3d file cannot be read in {EXTRA_WAIT_S + seconds} s", file=path) from None
    if done.returncode:
        raise ModelError(f"this .c3d file cannot be read: {_ending(done)}", file=path)
    found, arrays = _received(path, done.stdout, part)
    if bytes_per_frame * found["frames"] > size:
        raise ModelError(f"this .c3d file cannot be read: it ends before its {found['frames']} frames do", file=path)
    announced = found["announced"] or announced
    if found["frames"] != announced:
        _warn(path, strict, f"it announces {announced} frames; {found['frames']} are read")
    return found, arrays


def _run(command: list[str], seconds: int) -> "subprocess.CompletedProcess[bytes]":
    """A program's end and output. It limits its own time of the processor, which may be less than `seconds`."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, env=environment, timeout=seconds, check=False)


def _ending(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What ended the process that read."""
    if done.returncode > 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return f"reading ended with status {done.returncode}" + (f": {lines[-1]}" if lines else "")
    name = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
    return f"it is damaged, and the library ezc3d was ended by it ({name})"


def _received(path: Path, data: bytes, part: str) -> tuple[dict[str, Any], list[Array]]:
    """What the process wrote: the arrays are as long as their shapes say, or ModelError."""
    line, _, rest = data.partition(b"\n")
    found = json.loads(line)
    if "error" in found:
        why = "it ends before its first frame" if EMPTY in found["error"] else found["error"]
        raise ModelError(f"this .c3d file cannot be read: {why}", file=path)
    shapes = found["shapes"]
    if part == "channels" and not shapes[0][0]:
        raise ModelError("the file holds no analog channels", file=path)
    for rate in (found[key] for key in ("points_rate", "rate") if key in found):
        if not 0 < rate < math.inf:
            raise ModelError(f"this .c3d file cannot be read: it has {rate} frames in a second", file=path)
    sizes = [math.prod(shape) for shape in shapes]
    if not all(sizes):
        raise ModelError("this .c3d file cannot be read: it holds no points or forces, or no frames of them", file=path)
    if np.isinf(np.frombuffer(rest, "<f8")).any():
        raise ModelError("this .c3d file cannot be read: it holds infinite numbers", file=path)
    parts = np.split(np.frombuffer(rest, "<f8"), np.cumsum(sizes)[:-1]) if sizes else []
    return found, [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _check_parameters(path: Path, data: bytes, size: int) -> tuple[int, int]:
    """The number of frames that the header announces, and the least number of bytes of a frame. ModelError unless the
    records of parameters follow each other up to their end, inside the file: the library reads on where it ends."""
    if size < BLOCK_BYTES or data[1:2] != b"\x50":
        raise ModelError("this is no .c3d file: its header block is missing", file=path)
    at = (data[0] - 1) * BLOCK_BYTES
    if not BLOCK_BYTES <= at <= len(data) - 4:
        raise ModelError("this .c3d file cannot be read: its parameters are not there", file=path)
    order: Literal["little", "big"] = "big" if data[at + 3] == MIPS_PROCESSOR else "little"
    at += 4
    while length := abs(int.from_bytes(data[at : at + 1], order, signed=True)):
        place = at + 2 + length  # of the word that says how far the next record is
        step = int.from_bytes(data[place : place + 2], order, signed=True)
        if step == 0 and place + 2 <= len(data):
            break
        if step < 2 or place + step >= len(data) or not _holds(data[at + 1 : place + step], length, step):
            problem = f"it ends before its parameters do, or they are damaged at byte {at}"
            raise ModelError(f"this .c3d file cannot be read: {problem}", file=path)
        at = place + step
    if at >= len(data):
        raise ModelError("this .c3d file cannot be read: it ends before its parameters do", file=path)
    points, analogs, first, last = (int.from_bytes(data[i : i + 2], order) for i in (2, 4, 6, 8))
    return max(last - first + 1, 0), (4 * points + analogs) * 2


def _holds(record: bytes, length: int, step: int) -> bool:
    """Whether a record, from the number of its group on, has space for the values that it announces."""
    if record[0] > 127:
        return True  # a group, which has no values
    width_byte, dims = record[length + 3 : length + 4], record[length + 4 : length + 5]
    sizes = record[length + 5 : length + 5 + dims[0]] if dims else b""
    width = abs(int.from_bytes(width_byte, "little", signed=True))
    return bool(dims) and len(sizes) == dims[0] and 4 + dims[0] + width * math.prod(sizes) <= step
