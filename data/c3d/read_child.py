"""The part of reading a .c3d file that runs in a process of its own.

    python -I read_child.py FILE points|plates|channels SECONDS BYTES PATH ...

The library in C++ ends its process on some damaged files, and on some it takes all memory. In a process of its own it
harms no other work. Nothing of myoquat is imported, which would take longer than the reading. The standard output gets
a line of JSON: `error`, or the properties of the arrays and their `shapes`. Then come the arrays, one after the other,
as float64. PATH are the folders in which the libraries are found.
"""

import importlib
import json
import math
import os
import re
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

try:
    import resource
except ImportError:  # Windows has no such limits: there the time alone is limited, by the process that waits
    resource = None  # type: ignore[assignment]

__all__: list[str] = []

Found = tuple[dict[str, Any], list[Any]]

FORCES = {"n": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1e3}  # keys as `unit_in` looks for them
LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
LENGTHS |= {f"{prefix}met{ending}": LENGTHS[unit] for prefix, unit in (("", "m"), ("centi", "cm"), ("milli", "mm"))
            for ending in ("re", "res", "er", "ers")}  # fmt: skip
MOMENTS = {force + length: FORCES[force] * LENGTHS[length] for force in FORCES for length in LENGTHS}
VOLTS = ("V", "mV", "uV")
WORDS = 2**16  # numbers of 16 bits
INTEGER, REAL = 2, 4  # types of parameters
FRAMES = re.compile(rb"[\x06\xfa].FRAMES..([\x02\x04])(?:\0|\x01\x01)", re.DOTALL)  # POINT:FRAMES up to its value
LONGEST_SHOWN = 5  # letters of a unit, in a message: short spellings are enough there


def limit(seconds: int, memory: int) -> None:
    """End this process after so many seconds more of work, and refuse it more than so many bytes more than it has."""
    if resource is None:
        return
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        lower(resource.RLIMIT_AS, used + memory)


def lower(which: int, value: int) -> None:
    """A limit, where there is not a lower one already."""
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def contents(library: Any, path: str, part: str) -> Iterator[tuple[Any, int]]:
    """What the library reads of a file, then of files that hold the frames beyond 65535. The first comes with the
    number of frames: 0 where 16 bits are enough, and by the space in the file where no parameter tells.

    The library reads as many as the integer POINT:FRAMES says. A greater number stands there as a real number, which
    it refuses, in POINT:LONG_FRAMES or in TRIAL (c3d.org, The C3D frame count).
    """
    with open(path, "rb") as stream:
        data = stream.read()
    order: Any = "big" if data[(data[0] - 1) * 512 + 3] == 86 else "little"
    points, channels, start = (int.from_bytes(data[at : at + 2], order) for at in (2, 4, 16))
    head = bytearray(data[: max(start - 1, 0) * 512])
    place, count, read = FRAMES.search(head), 0, WORDS - 1

    def opened(file: str) -> Any:
        return library.c3d(file, extract_forceplat_data=part == "plates")

    def piece(body: bytes, frames: int) -> Any:
        assert place is not None
        end = place.end()
        if head[place.start(1)] == REAL:  # two of its four bytes and the length of the description become part of that
            head[place.start(1)], head[end + 2 : end + 5] = INTEGER, bytes([head[end + 4] + 2]) + b"  "
        head[end : end + 2] = frames.to_bytes(2, order)
        with tempfile.TemporaryDirectory() as folder:
            with open(file := os.path.join(folder, "piece.c3d"), "wb") as stream:
                stream.write(head + body + bytes(512))
            return opened(file)

    if place and head[place.start(1)] == REAL:
        count = int(struct.unpack_from(">f" if order == "big" else "<f", head, place.end())[0])
        content = piece(data[len(head) :], min(count, read))
    else:
        content = opened(path)
        count = frame_count(content)
    size = (4 * points + channels) * (4 if content["parameters"]["POINT"]["SCALE"]["value"][0] < 0 else 2)
    if content["data"]["points"].shape[2] < read or not place or not size:
        yield content, count
        return
    space = (len(data) - len(head) - 511) // size  # the last block may be filled up
    yield content, count or (space if space > read else 0)
    for at in range(len(head) + read * size, len(head) + count * size, read * size):
        body = data[at : min(at + read * size, len(head) + count * size)]
        if frames := len(body) // size:
            yield piece(body, frames), 0


def frame_count(content: Any) -> int:
    """The number of frames that a file has, 0 where 16 bits are enough for it."""
    last = frame_of(content, "ACTUAL_END_FIELD")
    long = value_of(content["parameters"]["POINT"], "LONG_FRAMES")
    return last - first_frame(content) + 1 if last else int(max(long, default=0))


def points(content: Any) -> Found:
    """Points (3, n, t) with what is needed to name them."""
    group = content["parameters"]["POINT"]
    used = int(group["USED"]["value"][0])
    labels = words(group, "LABELS")[:used]
    units = group.get("UNITS", {}).get("value", [])
    header = content["header"]["points"]
    facts = {"rate": header["frame_rate"], "first": first_frame(content), "labels": labels}
    return facts | {"units": str(units[0]).strip() if len(units) else ""}, [content["data"]["points"][:3]]


def first_frame(content: Any) -> int:
    """The first frame, counted from 0."""
    return frame_of(content, "ACTUAL_START_FIELD") or int(content["header"]["points"]["first_frame"])


def frame_of(content: Any, key: str) -> int | None:
    """A frame, counted from 0, for which the 16 bits of the header are too few, from the low and the high 16 of the 32
    bits of a parameter of TRIAL; None for others."""
    low, high = ([int(x) % WORDS for x in value_of(content["parameters"].get("TRIAL", {}), key)] + [0, 0])[:2]
    return low + WORDS * high - 1 if high else None


def words(group: Any, key: str) -> list[str]:
    """The words of a parameter and of those that go on where it is full, such as LABELS2, LABELS3, ..."""
    more = sorted(int(name[len(key) :]) for name in group if name.startswith(key) and name[len(key) :].isdigit())
    return [str(word).strip() for name in [key, *(f"{key}{n}" for n in more)] for word in value_of(group, name)]


def plates(content: Any) -> Found:
    """Force (3, t) [N], free moment [N m] and centre of pressure [m] of each plate.

    The library takes moments in the unit of forces times that of corners and origins, whatever ANALOG:UNITS says. It
    therefore gets corners and origins in a unit of its own: that of the moments divided by that of the forces.
    """
    library, np = importlib.import_module("ezc3d").ezc3d, importlib.import_module("numpy")
    group = content["parameters"].get("FORCE_PLATFORM", {})
    used = int(next(iter(value_of(group, "USED")), 0))
    units = [units_of_plate(content, k) for k in range(used)]
    for key in ("CORNERS", "ORIGIN"):
        values = np.array(value_of(group, key), dtype=float)
        if values.ndim and values.shape[-1] >= used:  # the library complains of others
            values[..., :used] *= [metre / length for _, _, length, metre in units]
            parameter = library.Parameter(key, "")
            parameter.set(values.ravel(order="F"), values.shape)
            content.c3d_swig.parameter("FORCE_PLATFORM", parameter)
    data, sizes, measured = content["data"], content["data"]["meta_points"], analogs(content)
    count = measured.shape[2]
    if measured is not data["analogs"]:  # the library computes from its own numbers: these frames follow them
        content.c3d_swig.import_numpy_data(data["points"], sizes["residuals"], sizes["camera_masks"], measured, None)
    found = library.ForcePlatforms(content.c3d_swig).forcePlatforms() if used else []
    header = content["header"]
    facts = {
        "rate": header["analogs"]["frame_rate"] or header["points"]["frame_rate"],
        "points_rate": header["points"]["frame_rate"],
        "first": first_frame(content),
    }
    keys = ("force", "Tz", "center_of_pressure")
    arrays = []
    for plate, scales in zip(map(content.PlatForm, found), units, strict=True):
        arrays += [plate[key][:, -count:] * scale for key, scale in zip(keys, scales[:3], strict=True)]
    return facts, arrays


def units_of_plate(content: Any, plate: int) -> tuple[float, float, float, float]:
    """The units of a plate's forces [N], moments [N m], lengths [m], and that of POINT:UNITS [m].

    Forces without a unit are in N, moments without one in the forces' unit times POINT:UNITS. So are the results of a
    calibration matrix that is applied to volts (type 4).
    """
    groups = content["parameters"]
    group, analog = groups["FORCE_PLATFORM"], groups.get("ANALOG", {})
    words = [str(word).strip() for word in value_of(analog, "UNITS")]
    points = next((str(word).strip() for word in value_of(groups["POINT"], "UNITS")), "")
    metre = unit_in(LENGTHS, points, "POINT:UNITS")
    plate_type = int(value_of(group, "TYPE")[plate])
    channels = [int(k) - 1 for k in value_of(group, "CHANNEL")[:, plate]]
    names = [words[k] if 0 <= k < len(words) else "" for k in channels]
    if plate_type == 4:
        names = ["" if name in VOLTS else name for name in names]
    force = shared(names if plate_type == 3 else names[:3], FORCES, 1.0)
    if plate_type == 1:
        return force, shared(names[5:6], MOMENTS, force * metre), shared(names[3:5], LENGTHS, metre), metre
    moment = force * metre if plate_type == 3 else shared(names[3:6], MOMENTS, force * metre)
    return force, moment, moment / force, metre


def analogs(content: Any) -> Any:
    """Analog channels (1, n, t): (stored number - OFFSET) SCALE GEN_SCALE. The library subtracts the size of an OFFSET,
    whatever its sign, and takes numbers of the FORMAT UNSIGNED as signed."""
    np, group = importlib.import_module("numpy"), content["parameters"].get("ANALOG", {})
    data, unsigned = content["data"]["analogs"], "UNSIGNED" in map(str.strip, value_of(group, "FORMAT"))
    if not unsigned and all(x >= 0 for x in value_of(group, "OFFSET")):
        return data
    count = data.shape[1]
    offset, scale = (np.array(value_of(group, key)[:count], dtype=float)[:, None] for key in ("OFFSET", "SCALE"))
    scale *= next(iter(value_of(group, "GEN_SCALE")), 1.0)
    stored = np.divide(data[0], scale, out=0.0 * data[0], where=scale != 0) + np.abs(offset)
    if unsigned:
        stored, offset = np.round(stored, 6) % WORDS, offset % WORDS
    return ((stored - offset) * scale)[None]


def value_of(group: Any, key: str) -> Any:
    """The values of a parameter; none where it is missing."""
    return group.get(key, {}).get("value", [])


def shared(names: list[str], known: dict[str, float], otherwise: float) -> float:
    """The unit of channels that must have the same, `otherwise` where none has one."""
    what = "the unit of a force plate's channel, ANALOG:UNITS,"
    scales = {unit_in(known, name, what) if name else None for name in names}
    if len(scales) > 1:
        raise ValueError(f"channels of a force plate have several units: {', '.join(map(repr, names))}")
    return scales.pop() or otherwise if scales else otherwise


def unit_in(known: dict[str, float], name: str, what: str) -> float:
    """The size of a unit, which files spell in many ways."""
    word = "".join(letter for letter in name.casefold() if letter.isalnum())
    if word not in known:
        shown = [unit for unit in known if len(unit) < LONGEST_SHOWN]
        raise ValueError(f"{what} is {name!r}, which is not one of {', '.join(shown)}")
    return known[word]


def channels(content: Any) -> Found:
    """Analog channels (n, t), with their names and units."""
    group = content["parameters"].get("ANALOG", {})
    data = analogs(content)[0]
    labels, units = (words(group, key) for key in ("LABELS", "UNITS"))
    header = content["header"]
    facts = {
        "rate": header["analogs"]["frame_rate"],
        "points_rate": header["points"]["frame_rate"],
        "first": first_frame(content),
        "labels": labels[: len(data)],
        "units": units[: len(data)],
    }
    return facts, [data]


PARTS = {"points": points, "plates": plates, "channels": channels}


def main(path: str, part: str, seconds: int, memory: int, out: BinaryIO) -> None:
    """Read, and write what was found or what was wrong."""
    library, np = importlib.import_module("ezc3d"), importlib.import_module("numpy")
    limit(seconds, memory)
    try:
        parts, frames, announced = [], 0, 0
        for content, count in contents(library, path, part):
            parts.append(PARTS[part](content))
            frames, announced = frames + content["data"]["points"].shape[2], announced or count
        facts = parts[0][0] | {"frames": frames, "announced": announced}
        arrays = [np.concatenate(pieces, axis=-1) for pieces in zip(*(found for _, found in parts), strict=True)]
        arrays = [np.ascontiguousarray(array, dtype="<f8") for array in arrays]
        facts["shapes"] = [array.shape for array in arrays]
    except Exception as error:  # whatever it is, it is the file's: the other process says so
        facts, arrays = {"error": str(error) or type(error).__name__}, []
    out.write(json.dumps(facts).encode() + b"\n")
    for array in arrays:
        out.write(array.data)
    out.flush()


if __name__ == "__main__":
    sys.path += sys.argv[5:]  # after the standard library, which nothing there replaces
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the library itself prints
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), pipe)
    os._exit(0)  # the library's destructors of a damaged file are not waited for
