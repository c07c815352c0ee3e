"""C3D files of motion capture systems: points, analog channels, and force plates of types 1 to 4.

A file has a header of 512 bytes, groups of parameters, and frames. A frame holds every point, and several samples of
every channel, as integers or as real numbers of the processor that wrote it. Source: The C3D File Format, a user guide,
c3d.org.
"""

import math
import struct
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, indices_of, pandas as pd, time_table
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .files import read_bytes
from .rows import MAX_BYTES, distinct_labels, marker_table, tell, text_of

BLOCK_BYTES = 512
INTEL, DEC, MIPS = 84, 85, 86  # processors
WORDS = 2**16  # numbers of 16 bits
TYPES = {1: "i1", 2: "i2", 4: "f4"}  # of the numbers of a parameter
LONGEST_SHOWN = 5  # letters of a unit, in a message: short spellings are enough there

FORCES = {"n": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1e3}  # keys as `unit_in` looks for them
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
PREFIXES = {"": "m", "centi": "cm", "milli": "mm"}
LENGTHS = METRES | {
    f"{prefix}met{ending}": METRES[unit] for prefix, unit in PREFIXES.items() for ending in ("re", "res", "er", "ers")
}
MOMENTS = {force + length: FORCES[force] * LENGTHS[length] for force in FORCES for length in LENGTHS}
VOLTS = {"V": 1.0, "mV": 1e-3, "uV": 1e-6}


def unit_in(known: dict[str, float], name: str, what: str) -> float:
    """The size of a unit, which files spell in many ways; ValueError for one that is not known."""
    word = "".join(letter for letter in name.casefold() if letter.isalnum())
    if word not in known:
        shown = [unit for unit in known if len(unit) < LONGEST_SHOWN]
        raise ValueError(f"{what} is {name!r}, which is not one of {', '.join(shown)}")
    return known[word]


# ---- The content of a file ---------------------------------------------------------------------------------------


class Capture:
    """The content of a file; ModelError for one that is damaged or of another type.

    groups   its parameters, {group: {name: values}}: texts, or numbers whose axes are in the opposite order
    rate     [Hz] of the frames
    first    the number of the first one, counted from 0
    points   (t, n, 3) in the file's units, NaN where a point was not seen
    samples  (t, k, channels) the stored numbers, k of every channel in a frame
    """

    def __init__(self, path: Path, strict: bool = False) -> None:
        self.path = path
        data = read_bytes(path, MAX_BYTES)
        if len(data) < BLOCK_BYTES or data[1] != 0x50:
            raise ModelError("this is no .c3d file: its header block is missing", file=path)
        at = (data[0] - 1) * BLOCK_BYTES
        self.processor = data[at + 3] if BLOCK_BYTES <= at <= len(data) - 4 else 0
        if self.processor not in (INTEL, DEC, MIPS):
            raise self.damaged("its parameters are not there")
        self.groups = self._parameters(data, at + 4)
        points, analogs, first, last, _, _, _, start, each = map(int, self._stored("u2", data[2:20]))
        header_scale, header_rate = self._stored("f4", data[12:16] + data[20:24])
        self.rate = self.number("POINT", "RATE") or float(header_rate)
        if not 0 < self.rate < math.inf:
            raise self.damaged(f"it has {self.rate} frames in a second")
        points = int(self.number("POINT", "USED", points))
        each = round(self.number("ANALOG", "RATE") / self.rate) or each
        channels = int(self.number("ANALOG", "USED", analogs // max(each, 1)))
        each = each if channels else 0
        scale = self.number("POINT", "SCALE", header_scale)
        self.first = self._trial("ACTUAL_START_FIELD") or max(first - 1, 0)
        number_type, width = ("f4", 4) if scale < 0 else ("i2", 2), 4 * points + each * channels
        if min(points, each, channels) < 0 or not width:
            raise self.damaged("it holds no points or forces")
        if start in (0, 1, data[0]):
            raise self.damaged(f"its frames are said to begin in block {start}, where they cannot be")
        body = data[(start - 1) * BLOCK_BYTES :]
        frames = self._frames(last - first + 1, len(body), width * number_type[1], strict)
        with np.errstate(invalid="ignore"):  # the fourth number of a point may be a NaN that signals
            numbers = self._stored(number_type[0], body[: frames * width * number_type[1]]).astype(float)
        rows = numbers.reshape(frames, width)
        stored = rows[:, : 4 * points].reshape(frames, points, 4)
        residual, size = stored[..., 3:], 1.0 if scale < 0 else scale  # that of a point that was not seen is negative
        self.points = np.where(np.signbit(residual) & (residual != 0), np.nan, stored[..., :3] * size)
        self.samples = rows[:, 4 * points :].reshape(frames, each, channels)

    def damaged(self, problem: str) -> ModelError:
        """The error of a file that cannot be read."""
        return ModelError(f"this .c3d file cannot be read: {problem}", file=self.path)

    def finite(self, values: Array) -> Array:
        """The values, of which some may be missing."""
        if np.isinf(values).any():
            raise self.damaged("it holds infinite numbers")
        return values

    def _stored(self, number_type: str, data: bytes) -> Array:
        """The numbers that bytes stand for. Real ones of DEC have their halves exchanged, and are four times as
        large as IEEE's."""
        if self.processor == DEC and number_type == "f4":
            return np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1].ravel().view("<f4") / 4
        return np.frombuffer(data, (">" if self.processor == MIPS else "<") + number_type)

    def _parameters(self, data: bytes, at: int) -> dict[str, dict[str, Any]]:
        """The groups. A record has the length of its name, the number of its group, negative for the group itself, the
        name, and the number of bytes from there to the next record, 0 in the last."""
        names, found, step = dict[int, str](), dict[int, dict[str, Any]](), -1
        try:
            while step and (length := abs(struct.unpack_from("b", data, at)[0])):
                (group,), place = struct.unpack_from("b", data, at + 1), at + 2 + length
                name = data[at + 2 : place].decode("latin-1").upper()
                step = int(self._stored("u2", data[place : place + 2])[0])
                record = data[place + 2 : place + step if step else None]
                if group < 0:
                    names[-group] = name
                else:
                    found.setdefault(group, {})[name] = self._values(record)
                at = place + step
        except (ValueError, IndexError, KeyError, struct.error):
            raise self.damaged(f"it ends before its parameters do, or they are damaged at byte {at}") from None
        return {names.get(group, ""): values for group, values in found.items()}

    def _values(self, record: bytes) -> Any:
        """The values of a parameter: their type, -1 for characters, the number of axes, their lengths, the values."""
        value_type, axes = struct.unpack_from("bB", record)
        sizes = struct.unpack_from(f"{axes}B", record, 2)
        content, count = record[2 + axes :], math.prod(sizes)
        if value_type != -1:
            number_type = TYPES[value_type]
            return self._stored(number_type, content[: count * int(number_type[1])]).reshape(sizes[::-1] or 1)
        if len(content) < count:
            raise ValueError("texts are missing")
        width = (*sizes, 1)[0] or 1
        texts = (content[k : k + width].decode("utf-8", "surrogateescape") for k in range(0, count, width))
        return [text.strip("\0 ") for text in texts]

    def _frames(self, announced: int, space: int, size: int, strict: bool) -> int:
        """The number of frames, each of so many bytes. The integer POINT:FRAMES tells it. A greater number than 16 bits
        hold stands there as a real number, in POINT:LONG_FRAMES or in TRIAL (c3d.org, The C3D frame count). Else the
        space in the file tells it, whose last block may be filled up."""
        stored = int(self.number("POINT", "FRAMES"))
        frames, last = stored + WORDS * (stored < 0) or max(announced, 0), self._trial("ACTUAL_END_FIELD")
        long = last - self.first + 1 if last else int(self.number("POINT", "LONG_FRAMES"))
        if frames == WORDS - 1:
            frames = long or max(frames, (space - BLOCK_BYTES + 1) // size)
        announced, frames = long or (frames if frames >= WORDS - 1 else max(announced, 0)), min(frames, space // size)
        if frames < 1:
            raise self.damaged("it ends before its first frame")
        if frames != announced:
            tell(self.path, strict, None, f"it announces {announced} frames; {frames} are read")
        return frames

    def _trial(self, key: str) -> int:
        """A frame, counted from 0, for which the 16 bits of the header are too few, from the low and the high 16 of the
        32 bits of a parameter of TRIAL; 0 for others."""
        low, high = ([int(x) % WORDS for x in self.numbers("TRIAL", key).ravel()] + [0, 0])[:2]
        return low + WORDS * high - 1 if high else 0

    # ---- its parameters -----------------------------------------------------------------------------------------

    def _parts(self, group: str, key: str, part_type: type) -> list[Any]:
        """A parameter and those that go on where it is full, such as LABELS2; none where it is missing."""
        found = self.groups.get(group, {})
        more = sorted(int(name[len(key) :]) for name in found if name.startswith(key) and name[len(key) :].isdecimal())
        parts = [found[name] for name in (key, *(f"{key}{n}" for n in more)) if name in found]
        if not all(isinstance(part, part_type) for part in parts):
            raise self.damaged(f"{group}:{key} is no {'text' if part_type is list else 'number'}")
        return parts

    def texts(self, group: str, key: str) -> list[str]:
        """The texts of a parameter; none where it is missing."""
        return [text for part in self._parts(group, key, list) for text in part]

    def numbers(self, group: str, key: str) -> Array:
        """The numbers of a parameter; none where it is missing."""
        parts = self._parts(group, key, np.ndarray)
        found = parts[0].astype(float) if len(parts) == 1 else np.concatenate([np.zeros(0), *map(np.ravel, parts)])
        if not (np.abs(found) < WORDS**2).all():
            raise self.damaged(f"{group}:{key} is out of range")
        return found

    def number(self, group: str, key: str, otherwise: float = 0.0) -> float:
        """The first number of a parameter; `otherwise` where it is missing."""
        return float(next(iter(self.numbers(group, key).ravel()), otherwise))

    def labels(self, group: str, count: int, strict: bool = False) -> list[str]:
        """Names of `count` points or channels: those of the file, as far as it has them."""
        warn = partial(tell, self.path, strict, None)
        texts = [
            text_of(label, lambda text: warn(f"{group}:LABELS holds {text}")) for label in self.texts(group, "LABELS")
        ]
        clean = ["".join(c for c in text if c.isprintable()).strip() for text in texts]
        padded = (clean + [""] * (count - len(clean)))[:count]
        return distinct_labels(padded, lambda text: warn(f"{group}:LABELS: {text}"))

    @cached_property
    def channels(self) -> tuple[Array, Array, list[str]]:
        """Times (t k,) [s], values (t k, channels), (stored number - OFFSET) SCALE GEN_SCALE, and their units."""
        frames, each, count = self.samples.shape
        stored = self.samples.reshape(frames * each, count)
        offset, scale = (self.numbers("ANALOG", key).ravel()[:count] for key in ("OFFSET", "SCALE"))
        if min(len(offset), len(scale)) < count:
            raise self.damaged(f"ANALOG:OFFSET and SCALE have {len(offset)} and {len(scale)} of {count} channels")
        if "UNSIGNED" in self.texts("ANALOG", "FORMAT"):
            stored, offset = stored % WORDS, offset % WORDS
        values = (stored - offset) * scale * self.number("ANALOG", "GEN_SCALE", 1.0)
        self.finite(values)
        time = self.first / self.rate + np.arange(frames * each) / (self.rate * max(each, 1))
        return time, values, (self.texts("ANALOG", "UNITS") + [""] * count)[:count]


# ---- Points and channels -----------------------------------------------------------------------------------------


def read_c3d_points(path: Path, strict: bool = False) -> "pd.DataFrame":
    """Columns (marker, "x" | "y" | "z") in metres over the index `time` [s], a gap is NaN; `.attrs["header"]` keeps the
    rate [Hz] and the file's units.

    ModelError for a file that cannot be read or does not say its units. An ImplausibleWarning, or an error if `strict`,
    for labels that are missing or come again, which get a number, and for another number of frames than the header's.
    """
    capture = Capture(path, strict)
    frames, count, _ = capture.points.shape
    if not count:
        raise ModelError("the file holds no points", file=path)
    units = next(iter(capture.texts("POINT", "UNITS")), "")
    with errors_in(path):
        positions = capture.finite(capture.points) * unit_in(LENGTHS, units, "POINT:UNITS")
    time, header = (capture.first + np.arange(frames)) / capture.rate, {"DataRate": capture.rate, "Units": units}
    return marker_table(time, positions, capture.labels("POINT", count, strict), header=header)


def read_c3d_channels(path: Path, names: Sequence[str] | None = None) -> "pd.DataFrame":
    """A column per analog channel over the index `time` [s], those in millivolts and microvolts as volts;
    `.attrs["units"]`. ModelError for a file without channels, or channels of several units; ValueError for a name that
    is not there. Labels as in `read_c3d_points`."""
    capture = Capture(path)
    time, values, units = capture.channels
    if not values.size:
        raise ModelError("the file holds no analog channels", file=path)
    labels = capture.labels("ANALOG", values.shape[1])
    chosen = indices_of("channel", labels if names is None else names, labels)
    scales = np.array([VOLTS.get(units[k], 1.0) for k in chosen])
    own = sorted({"V" if units[k] in VOLTS else units[k] for k in chosen})
    if len(own) > 1:
        raise ModelError(f"the channels have several units, {', '.join(own)}; name those that are wanted", file=path)
    return time_table(time, values[:, chosen] * scales, [labels[k] for k in chosen], units="".join(own) or "V")


# ---- Force plates ------------------------------------------------------------------------------------------------


def read_c3d_plates(path: Path) -> tuple[Array, Array]:
    """Times (t,) [s] of the analog channels, and (3, t, n, 3) what the force plates of a file measured, in its order:
    the subject's ground reaction in the laboratory's axes.

    force   [N]
    point   [m] the centre of pressure, NaN where the plate is not loaded
    moment  [N m] about the centre of pressure

    Channels are converted from ANALOG:UNITS, corners and origins from POINT:UNITS. ModelError for a file without force
    plates, one whose corners or channels are missing, and units that are not known or that differ among the forces, or
    the moments, of one plate.
    """
    capture = Capture(path)
    used = int(capture.number("FORCE_PLATFORM", "USED"))
    if used < 1:
        raise ModelError("the file holds no force plate (FORCE_PLATFORM:USED)", file=path)
    with errors_in(path):
        plates = [_plate(capture, k) for k in range(used)]
        return capture.channels[0], np.stack(plates, axis=2)


def _plate(capture: Capture, k: int) -> Array:
    """(3, t, 3) force, point and moment of plate k.

    Forces without a unit are in N, moments without one in the forces' unit times POINT:UNITS. So are the results of a
    calibration matrix that is applied to volts (type 4).
    """

    def entries(key: str, width: int) -> Array:
        found = capture.numbers("FORCE_PLATFORM", key).ravel()[width * k : width * (k + 1)]
        if len(found) < width:
            raise ValueError(f"FORCE_PLATFORM:{key} lacks force plate {k + 1}")
        return found

    plate_type = int(entries("TYPE", 1)[0])
    if plate_type not in (1, 2, 3, 4):
        raise ValueError(f"force plate {k + 1} is of type {plate_type}; types 1 to 4 are read")
    count, width = 8 if plate_type == 3 else 6, capture.numbers("FORCE_PLATFORM", "CHANNEL").shape[-1]
    chosen = entries("CHANNEL", width)[:count].astype(int) - 1
    _, values, units = capture.channels
    if len(chosen) < count or not all(0 <= at < len(units) for at in chosen):
        raise ValueError(f"FORCE_PLATFORM:CHANNEL of force plate {k + 1} names channels that are not there")
    stored, names = values[:, chosen], [units[at] for at in chosen]
    if plate_type == 4:
        matrix = capture.numbers("FORCE_PLATFORM", "CAL_MATRIX")
        if matrix.size or matrix.ndim < 3:  # that of no entries says that the channels need none
            stored = stored @ entries("CAL_MATRIX", 36).reshape(6, 6)
        names = ["" if name in VOLTS else name for name in names]
    metre = unit_in(LENGTHS, next(iter(capture.texts("POINT", "UNITS")), ""), "POINT:UNITS")
    newton = _shared(names if plate_type == 3 else names[:3], FORCES, 1.0)
    corners, origin = entries("CORNERS", 12).reshape(4, 3) * metre, entries("ORIGIN", 3) * metre
    origin = -origin if origin[2] > 0 else origin  # some programs write the opposite vector
    zero = np.zeros(len(stored))
    with np.errstate(divide="ignore", invalid="ignore"):
        if plate_type == 1:  # force, centre of pressure, moment about it
            force = newton * stored[:, :3]
            point = np.column_stack([_shared(names[3:5], LENGTHS, metre) * stored[:, 3:5], zero])
            free = np.column_stack([zero, zero, _shared(names[5:], MOMENTS, newton * metre) * stored[:, 5]])
        else:
            if plate_type == 3:  # horizontal forces of two sensors each, vertical ones of four at (+-a, +-b)
                x12, x34, y14, y23, z1, z2, z3, z4 = newton * stored.T
                a, b, _ = origin
                force = np.stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4], axis=1)
                horizontal = b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4)
                moment, origin = np.stack([*horizontal, b * (x34 - x12) + a * (y14 - y23)], axis=1), origin * [0, 0, 1]
            else:
                force, moment = newton * stored[:, :3], _shared(names[3:], MOMENTS, newton * metre) * stored[:, 3:]
            moment = moment + np.cross(force, origin)  # about the middle of the surface
            vertical = np.where(force[:, 2] == 0, np.nan, force[:, 2])
            point = np.stack([-moment[:, 1] / vertical, moment[:, 0] / vertical, zero], axis=1)
            free = moment + np.cross(force, point)
        x, y = corners[0] - corners[1], corners[0] - corners[3]
        axes = np.stack([x, np.cross(np.cross(x, y), x), np.cross(x, y)])
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    force, free, point = force @ axes, free @ axes, point @ axes + corners.mean(axis=0)
    if np.isnan(force).any() or np.isnan(free[np.isfinite(point).all(axis=-1)]).any():
        raise ValueError("a force plate's channels hold what is no number")
    return np.stack([force, point, free])


def _shared(names: list[str], known: dict[str, float], otherwise: float) -> float:
    """The unit of channels that must have the same, `otherwise` where none has one."""
    scales = {
        unit_in(known, name, "the unit of a force plate's channel, ANALOG:UNITS,") if name else None for name in names
    }
    if len(scales) > 1:
        raise ValueError(f"channels of a force plate have several units: {', '.join(map(repr, names))}")
    return scales.pop() or otherwise
