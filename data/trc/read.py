"""Reading marker files, .trc: positions of markers over time, as motion capture systems write them.

A file has three lines of header (file type; names of the entries; their values). Then comes a line with the markers'
names, each over three columns. A line X1 Y1 Z1 X2 ... follows, perhaps an empty one. Then a row for each frame has its
number, the time [s], and x, y, z of each marker.
"""

from itertools import islice
from pathlib import Path

from myoquat.core.arguments import PATH, check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.data.files import read_lines
from myoquat.data.rows import MAX_BYTES, check_labels, check_times, parse_rows, tell
from myoquat.joints.errors import ModelError

__all__ = ["AXES", "METRES", "read_markers"]

AXES = ("x", "y", "z")
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}


def read_markers(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """A .trc file: columns (marker, "x" | "y" | "z") in metres, the index `time` [s]; a gap in a record is NaN.

    `.attrs["header"]` keeps the header's entries, among them the file's own "Units". Raises ModelError with file and
    line for an invalid header, unknown units, and another number of markers than the header states. It is also raised
    for unnamed or repeated markers and a row of another length. An entry that is no number and times that do not
    increase raise it too. All rows are read; another NumFrames raises an ImplausibleWarning, or an error if `strict`. A
    file holds at most 256 MiB.

    >>> import tempfile
    >>> from myoquat.data import Markers
    >>> from myoquat.data.trc import read_markers
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
        problem = "no line 'PathFileType' at the top, or no header after it: this is no .trc file"
        raise ModelError(problem, file=path, line=1)
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


def _header(path: Path, keys: str, values: str) -> dict[str, str]:
    header = dict(zip(keys.split(), values.split(), strict=False))
    missing = [key for key in ("DataRate", "NumFrames", "NumMarkers", "Units") if key not in header]
    if missing:
        raise ModelError(f"the header lacks {', '.join(missing)}", file=path, line=3)
    return header


def _names(path: Path, text: str, count: str) -> list[str]:
    """The markers' names. Each stands over the first of its three columns. In files where they are spaced otherwise, as
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
