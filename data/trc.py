"""Marker files, .trc: read and written."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from myoquat.core import PATH, check_types, pandas as pd

from .c3d import LENGTHS, METRES, unit_in
from .files import check_output, write_text
from .rows import (
    AXES,
    Line,
    NumberFile,
    check_labels,
    check_times,
    distinct_labels,
    format_rows,
    marker_table,
    named_parts,
)

# ---- Reading marker files, .trc: positions of markers over time, as motion capture systems write them -------------
#
# A file has three lines of header (file type; names of the entries; their values). Then comes a line with the
# markers' names, each over three columns. A line X1 Y1 Z1 X2 ... follows, perhaps an empty one. Then a row for each
# frame has its number, the time [s], and x, y, z of each marker. Columns are separated by tabs, or by blanks.


MAX_RATE_FACTOR = 50.0  # between the header's rate and the times: more is another unit of time
_HEAD = re.compile(r"\s*frame\s*s?\s*#?\s*\btime(\s*[(\[]\s*s\w*\s*[)\]])?(?=\s|$)", re.IGNORECASE)
_OVER_EACH = re.compile(
    r"(?P<base>.+?)[ ._:-]?x\t(?P=base)[ ._:-]?y\t(?P=base)[ ._:-]?z|(?P<name>.*)\t(?P=name)\t(?P=name)", re.IGNORECASE
)


def read_markers(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """A .trc file: columns (marker, "x" | "y" | "z") in metres, the index `time` [s]; a gap in a record is NaN.

    `.attrs["header"]` keeps the header's entries, among them the file's own "Units". Raises ModelError with file and
    line for an invalid header, unknown units, and another number of markers than the header states. A row of another
    length, an entry that is no number and times that do not increase raise it too. All rows are read; another NumFrames
    raises an ImplausibleWarning, or an error if `strict`. So do names that are empty or come again, which get a number,
    and text that is not UTF-8, which is taken as Latin-1. A file holds at most 256 MiB.

    >>> import tempfile
    >>> from myoquat.data import Markers
    >>> from myoquat.data.trc import read_markers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Markers([0.0, 0.01], ("heel",), [[[0.1, 0.02, 0]]] * 2).save(f"{folder}/walk.trc")
    ...     frame = read_markers(f"{folder}/walk.trc")
    >>> frame["heel"].iloc[0].to_dict()
    {'x': 0.1, 'y': 0.02, 'z': 0.0}
    """
    file = NumberFile(path, strict)
    lines: Iterator[Line] = (line for line in file.lines if line[1].strip())
    first = list(islice(lines, 5))
    head = list(map(file.mended, first))
    if len(head) < 5 or not head[0].startswith("PathFileType"):
        raise file.error("no line 'PathFileType' at the top, or no header after it: this is no .trc file", 1)
    keys, words = head[1].split(), head[2].split()
    if len(words) != len(keys) and "\t" in head[2]:  # an entry is empty, or has several words
        words = [word.strip() for word in head[2].split("\t")]
    header = dict(zip(keys, words, strict=False))
    if missing := [key for key in ("DataRate", "NumFrames", "NumMarkers", "Units") if key not in header]:
        raise file.error(f"the header lacks {', '.join(missing)}", 3)
    try:
        metres = unit_in(LENGTHS, header["Units"], "Units")
    except ValueError:
        raise file.error(f"Units is one of m, cm, mm, not {header['Units']!r}", 3) from None
    axes = head[4].split()
    found = _names(file, head[3], _number_in(file, header, "NumMarkers"), len(axes) // 3)
    names = distinct_labels(found, partial(file.tell, first[3][0]))
    labels = ["Frame#", "Time", *(f"{name} {axis}" for name in names for axis in AXES)]
    if axes and axes[0][0].isdigit():  # the first frame, in a file without X1 Y1 Z1 ...
        lines = chain([(first[4][0], head[4])], lines)
    table, rows = file.table(labels, map(_by_tabs, lines), gaps=True)
    check_times(file.path, rows, table[:, 1])
    for key, size in (("NumMarkers", len(names)), ("NumFrames", len(table))):
        count, message = _number_in(file, header, key), f"{key} is {header[key]}, but the table has {size}"
        if count != size and (key == "NumMarkers" or not count.is_integer()):
            raise file.error(message, 3)
        if count != size:
            file.tell(3, f"{message} rows; all of them are read")
    step = float(np.median(np.diff(table[:, 1]))) if len(table) > 1 else 0.0
    rate = _number_in(file, header, "DataRate")
    if step > 0 and not 1 / MAX_RATE_FACTOR < step * rate < MAX_RATE_FACTOR:
        file.tell(3, f"DataRate is {header['DataRate']}, but the times are {step:g} s apart; the times count")
    return marker_table(table[:, 1], table[:, 2:] * metres, names, header=header)


def _number_in(file: NumberFile, header: dict[str, str], key: str) -> float:
    """An entry of the header as a number, also with a decimal comma."""
    try:
        return float(header[key].replace(",", ".").removesuffix("Hz"))
    except ValueError:
        raise file.error(f"{key} must be a number, not {header[key]!r}", 3) from None


def _names(file: NumberFile, text: str, count: float, triples: int) -> list[str]:
    """The markers' names. Each stands over the first of its three columns, or over all. In files where they are spaced
    otherwise, as many names as the header announces are taken in their order, as OpenSim does. Names at the end are
    empty where both the header and the line X1 Y1 Z1 ..., which names so many `triples`, know more markers."""
    head = _HEAD.match(text)
    if head is None:
        begin = text.split("\t")[:2] if "\t" in text else text.split()[:2]
        raise file.error(f"the columns must begin with 'Frame#' and 'Time', not {begin}", 4)
    rest = text[head.end() :].rstrip()
    cells = [cell.strip() for cell in rest.split("\t")][1:] if "\t" in rest else rest.split()
    found = [cell for cell in cells if cell]
    if len(found) == count or (found and "\t" not in rest):
        return found
    names = []
    for group in (cells[i : i + 3] for i in range(0, len(cells), 3)):
        each = _OVER_EACH.fullmatch("\t".join(group))
        stray = next((cell for cell in group[1:] if cell and not each), None)
        if stray is not None:
            raise file.error(f"{stray!r} stands in a column that belongs to another marker", 4)
        names.append(each["base"] or each["name"] if each else group[0])
    return names + [""] * ((triples - len(names)) * (triples == count))


def _by_tabs(line: Line) -> Line:
    """A line with tabs in place of blanks between numbers."""
    number, text = line
    return number, "\t".join("\t".join(cell.split()) for cell in text.split("\t")) if " " in text else text


# ---- Writing marker files, .trc -----------------------------------------------------------------------------------


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


def write_markers(frame: "pd.DataFrame", path: str | Path, *, units: str = "m", overwrite: bool = False) -> None:
    """Write markers, columns (marker, axis) in metres over the index `time` [s], as a .trc file in `units`.

    The data rate is that of evenly spaced times, else the mean one. A gap is written as nan: OpenSim does
    not read an empty cell at the end of a row. Raises FileExistsError for an existing file unless
    `overwrite` is True, ValueError for other columns, unknown units, or times that do not increase.

    >>> import tempfile
    >>> import pandas as pd
    >>> from myoquat.data.trc import read_markers, write_markers
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
    names = named_parts(frame, "marker", AXES)
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
