"""Writing marker files, .trc."""

from pathlib import Path

import numpy as np

from myoquat.core.arguments import PATH, check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.data.files import check_output, write_text
from myoquat.data.rows import AXES, check_labels, check_times, format_rows

__all__ = ["write_markers"]

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
