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
import sys
import time
from typing import Any, BinaryIO

try:
    import resource
except ImportError:  # Windows has no such limits: there the time alone is limited, by the process that waits
    resource = None  # type: ignore[assignment]

__all__: list[str] = []

Found = tuple[dict[str, Any], list[Any]]


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


def points(content: Any) -> Found:
    """Points (3, n, t) with what is needed to name them."""
    group = content["parameters"]["POINT"]
    keys = ["LABELS", *sorted((key for key in group if key.startswith("LABELS") and key[6:].isdigit()), key=number)]
    used = int(group["USED"]["value"][0])
    labels = [str(name).strip() for key in keys for name in group.get(key, {}).get("value", [])][:used]
    units = group.get("UNITS", {}).get("value", [])
    header = content["header"]["points"]
    facts = {"rate": header["frame_rate"], "first": header["first_frame"], "labels": labels}
    return facts | {"units": str(units[0]).strip() if len(units) else ""}, [content["data"]["points"][:3]]


def number(key: str) -> int:
    """Of LABELS2, LABELS3, ..., which files with more than 255 points have."""
    return int(key[6:])


def plates(content: Any) -> Found:
    """Force (3, t), free moment and centre of pressure of each plate, with their units."""
    found = content["data"].get("platform") or []
    header = content["header"]
    facts = {
        "rate": header["analogs"]["frame_rate"],
        "points_rate": header["points"]["frame_rate"],
        "first": header["points"]["first_frame"],
        "units": [[str(plate[f"unit_{of}"]) for of in ("force", "moment", "position")] for plate in found],
    }
    return facts, [plate[of] for plate in found for of in ("force", "Tz", "center_of_pressure")]


def channels(content: Any) -> Found:
    """Analog channels (n, t), with their names and units."""
    group = content["parameters"].get("ANALOG", {})
    data = content["data"]["analogs"][0]
    labels, units = ([str(word).strip() for word in group.get(key, {}).get("value", [])] for key in ("LABELS", "UNITS"))
    header = content["header"]
    facts = {
        "rate": header["analogs"]["frame_rate"],
        "points_rate": header["points"]["frame_rate"],
        "first": header["points"]["first_frame"],
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
        content = library.c3d(path, extract_forceplat_data=part == "plates")
        facts, arrays = PARTS[part](content)
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
