"""Marker files, .trc: positions of markers over time, as motion capture systems write them.

Three lines of header (file type; names of the entries; their values), a line with the markers' names, each over three
columns, a line X1 Y1 Z1 X2 ..., perhaps an empty one, then a row each frame: number, time [s], x, y, z of each marker.
"""

from itertools import islice
from pathlib import Path

import numpy as np

from myoquat.core.arguments import PATH, check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.data.files import check_output, read_lines, write_text
from myoquat.data.motions.rows import check_labels, check_times, format_rows, parse_rows
from myoquat.data.motions.storage import MAX_BYTES, tell
from myoquat.joints.errors import ModelError

__all__ = ["read_markers", "write_markers"]

AXES = ("x", "y", "z")
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
ENTRIES = [
    "DataRate",
    "CameraRate",
    "NumFrames",
    "NumMarkers",
    "Units",
    "OrigDataRate",
    "OrigDataStartFrame",
    "OrigNumFrames",
]


def read_markers(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """A .trc file: columns (marker, "x" | "y" | "z") in metres, the index `time` [s]; a gap in a record is NaN.

    `.attrs["header"]` keeps the header's entries, among them the file's own "Units". Raises ModelError with file and
    line for a header that is not one, unknown units, another number of markers than the header gives, markers without a
    name or with the same, a row of another length, an entry that is no number, times that do not increase. All rows are
    read whatever NumFrames says, with an ImplausibleWarning where it says otherwise, or refused if `strict`. A file
    holds at most 256 MiB.

    >>> import tempfile
    >>> from myoquat.data import Markers
    >>> from myoquat.data.motions.trc import read_markers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Markers([0.0, 0.01], ("heel",), [[[0.1, 0.02, 0]]] * 2).save(f"{folder}/walk.trc")
    ...     frame = read_markers(f"{folder}/walk.trc")
    >>> frame["heel"].iloc[0].to_dict()
    {'x': 0.1, 'y': 0.02, 'z': 0.0}
    """
    check_types(path=(path, PATH))
    path = Path(path)
    lines = read_lines(path, MAX_BYTES)
    head = [text for _, text in islice(lines, 5)]
    if len(head) < 5 or not head[0].startswith("PathFileType"):
        told = "no line 'PathFileType' at the top, or no header after it: this is no .trc file"
        raise ModelError(told, file=path, line=1)
    header = _header(path, head[1], head[2])
    if header["Units"] not in METRES:
        raise ModelError(f"Units is one of {', '.join(METRES)}, not {header['Units']!r}", file=path, line=3)
    names = _names(path, head[3], header["NumMarkers"])
    labels = ["Frame#", "Time", *(f"{name} {axis}" for name in names for axis in AXES)]
    table, rows = parse_rows(path, lines, labels, gaps=True)
    check_times(path, rows, table[:, 1])
    for key, found in (("NumMarkers", len(names)), ("NumFrames", len(table))):
        message = f"{key} is {header[key]}, but the table has {found}"
        if header[key] != str(found) and (key == "NumMarkers" or not header[key].isdigit()):
            raise ModelError(message, file=path, line=3)
        if header[key] != str(found):
            tell(path, strict, 3, f"{message} rows; all of them are read")
    columns = pd.MultiIndex.from_product([names, AXES], names=["marker", "axis"])
    frame = pd.DataFrame(table[:, 2:] * METRES[header["Units"]], pd.Index(table[:, 1], name="time"), columns)
    frame.attrs = {"header": header}
    return frame


def write_markers(frame: "pd.DataFrame", path: str | Path, *, units: str = "m", overwrite: bool = False) -> None:
    """Write markers, columns (marker, axis) in metres over the index `time` [s], as a .trc file in `units`.

    The data rate is that of evenly spaced times, else the mean one. A gap is written as nan: OpenSim does
    not read an empty cell at the end of a row. Raises FileExistsError for an existing file unless
    `overwrite` is True, ValueError for other columns, unknown units, or times that do not increase.

    >>> import tempfile
    >>> import pandas as pd
    >>> from myoquat.data.motions.trc import read_markers, write_markers
    >>> columns = pd.MultiIndex.from_product([["heel"], ["x", "y", "z"]])
    >>> frame = pd.DataFrame([[0.1, 0.02, 0.0]] * 2, index=pd.Index([0.0, 0.01], name="time"), columns=columns)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_markers(frame, f"{folder}/walk.trc", units="mm")
    ...     print(read_markers(f"{folder}/walk.trc")["heel"].iloc[0].to_dict())
    {'x': 0.1, 'y': 0.02, 'z': 0.0}
    """
    check_types(frame=(frame, "pandas.DataFrame"), path=(path, PATH))
    path = check_output(path, overwrite)
    if units not in METRES:
        raise ValueError(f"units is one of {', '.join(METRES)}, not {units!r}")
    names = list(dict.fromkeys(column[0] for column in frame.columns if isinstance(column, tuple)))
    if list(frame.columns) != [(name, axis) for name in names for axis in AXES]:
        raise ValueError("the columns must be (marker, 'x'), (marker, 'y'), (marker, 'z'), marker by marker")
    check_labels(path, 0, names)
    times = frame.index.to_numpy(dtype=float)
    check_times(path, range(len(times)), times)
    rate = repr(float(f"{(len(times) - 1) / (times[-1] - times[0]):.9g}")) if len(times) > 1 else "1"
    values = [rate, rate, str(len(times)), str(len(names)), units, rate, "1", str(len(times))]
    head = [["PathFileType", "4", "(X/Y/Z)", path.name], ENTRIES, values]
    head.append(["Frame#", "Time", *(cell for name in names for cell in (name, "", ""))])
    head.append(["", "", *(f"{axis.upper()}{i + 1}" for i in range(len(names)) for axis in AXES)])
    positions = format_rows(np.column_stack([times, frame.to_numpy(dtype=float) / METRES[units]]))
    rows = "".join(f"{i}\t{row}\n" for i, row in enumerate(positions.splitlines(), start=1))
    write_text(path, "\n".join("\t".join(cells) for cells in head) + "\n\n" + rows)


def _header(path: Path, keys: str, values: str) -> dict[str, str]:
    header = dict(zip(keys.split(), values.split(), strict=False))
    missing = [key for key in ("DataRate", "NumFrames", "NumMarkers", "Units") if key not in header]
    if missing:
        raise ModelError(f"the header lacks {', '.join(missing)}", file=path, line=3)
    return header


def _names(path: Path, text: str, count: str) -> list[str]:
    """The markers' names. Each stands over the first of its three columns; in files where they are spaced otherwise, as
    many names as the header announces are taken in their order, as OpenSim does."""
    cells = [cell.strip() for cell in text.rstrip().split("\t")]
    if cells[:2] != ["Frame#", "Time"]:
        raise ModelError(f"the columns must begin with 'Frame#' and 'Time', not {cells[:2]}", file=path, line=4)
    names, found = cells[2::3], [cell for cell in cells[2:] if cell]
    if names != found and str(len(found)) == count:
        names, cells = found, []
    check_labels(path, 4, names)
    stray = [cell for i, cell in enumerate(cells[2:]) if i % 3 and cell]
    if stray:
        raise ModelError(f"{stray[0]!r} stands in a column that belongs to another marker", file=path, line=4)
    return names
