"""Writing OpenSim's tables of numbers over time, .mot and .sto."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from myoquat.core.arguments import PATH, check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.data.files import check_output, write_text
from myoquat.data.rows import check_labels, check_times, format_rows

__all__ = ["write_motion"]

RESERVED = ("version", "nrows", "ncolumns", "indegrees", "endheader")  # entries that the writer itself gives


def write_motion(
    frame: "pd.DataFrame",
    path: str | Path,
    *,
    in_degrees: bool | None = None,
    name: str | None = None,
    header: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a table with the index `time` [s] as a .mot or .sto file that reads back equal and opens in OpenSim.

    in_degrees and name are the frame's own (`.attrs`) where they are not given; in_degrees None, if neither states it,
    writes no such line. `header` has further entries. Numbers are written as they are. Raises FileExistsError for an
    existing file unless `overwrite` is True. Raises ValueError for numbers that are not finite, and for labels that are
    empty, repeated or hold a tab. It is raised too for entries that the writer itself gives, and for times that do not
    increase.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from myoquat.data.storage import write_motion
    >>> frame = pd.DataFrame({"knee_angle": [0.1, 0.2]}, index=pd.Index([0.0, 0.1], name="time"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_motion(frame, f"{folder}/knee.mot", in_degrees=False)
    ...     lines = Path(f"{folder}/knee.mot").read_text().splitlines()
    >>> lines[4], lines[-1].split()
    ('inDegrees=no', ['0.1', '0.2'])
    """
    check_types(frame=(frame, "pandas.DataFrame"), path=(path, PATH))
    path = check_output(path, overwrite)
    table = np.column_stack([frame.index.to_numpy(dtype=float), frame.to_numpy(dtype=float)])
    labels = ["time", *map(str, frame.columns)]
    check_labels(path, 0, labels)
    for label in labels:
        if set(label) & set("\t\r\n"):
            raise ValueError(f"the label {label!r} holds a tab or a line end")
    if not np.isfinite(table).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
        raise ValueError(f"{labels[column]!r} is {table[row, column]} in row {row}; finite numbers are needed")
    check_times(path, range(len(table)), table[:, 0])
    degrees = frame.attrs.get("in_degrees") if in_degrees is None else in_degrees
    lines = [name or frame.attrs.get("name") or path.stem, "version=1"]
    lines += [f"nRows={len(table)}", f"nColumns={len(labels)}"]
    lines += [] if degrees is None else [f"inDegrees={'yes' if degrees else 'no'}"]
    lines += [_entry(key, value) for key, value in (header or {}).items()]
    write_text(path, "\n".join([*lines, "endheader", "\t".join(labels)]) + "\n" + format_rows(table))


def _entry(key: str, value: object) -> str:
    """A line of the header; ValueError for a key or a value that would end it."""
    line = f"{key}={value}"
    if "=" in key or set(line) & set("\r\n") or key.lower() in RESERVED:
        raise ValueError(f"the entry {line!r} of the header holds a line end, or a name that the writer itself gives")
    return line
