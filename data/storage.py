"""OpenSim's tables of numbers over time, .mot and .sto: read and written."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from myoquat.core import PATH, Array, check_types, pandas as pd, time_table

from .files import check_output, write_text
from .rows import Line, NumberFile, check_labels, check_times, format_rows

# --------------------------------------------------------------------------------------------------------------
#
# Reading OpenSim's tables of numbers over time, .mot and .sto: a header, a line of labels, a row each time.
#
# The header's first line may be a name. Then come `key=value` (or the older `key value`) lines up to `endheader`.
# `nRows` and `nColumns` (`datarows`, `datacolumns`) should agree with the table. `inDegrees` gives the unit of
# angles. Older files have in its place the sentence "Angles are in degrees." (or "radians."). The rest is kept.


MAX_HEADER_LINES = 10000
REPEATED_ROW_TOLERANCE = 2e-10  # OpenSim writes ten decimals; the last may differ in a row that it writes twice
MAX_LABELS_SHOWN = 5  # in a message
OLD_NAMES = {"datarows": "nRows", "datacolumns": "nColumns"}
SENTENCES = {"angles are in degrees.": True, "angles are in radians.": False}


def read_motion(path: str | Path, strict: bool = False, gaps: bool = False) -> "pd.DataFrame":
    """A .mot or .sto file: a column per label, the index `time` [s], numbers as the file holds them.

    `.attrs` keeps the header: "name", "in_degrees" (True, False, or None where the file does not say) and "header", a
    dictionary of all its entries. Raises ModelError with file and line for a header without end or missing labels, and
    for a row of another length. It is raised too for an entry that is no finite number, and for times that do not
    increase. OpenSim reads some irregular files; these raise an ImplausibleWarning, or an error if `strict`. A row that
    is there twice, as RRA and CMC write their last, counts once, while two different rows of one time are an error. Of
    columns with one label the first is kept. All rows and columns are read whatever nRows and nColumns say. With `gaps`
    a 'nan', in any spelling, is NaN, and `.attrs` keeps the "lines" of the rows. A file holds at most 256 MiB.

    >>> import tempfile
    >>> import pandas as pd
    >>> from myoquat.data.storage import read_motion, write_motion
    >>> frame = pd.DataFrame({"knee_angle": [10.0, 20.0]}, index=pd.Index([0.0, 0.1], name="time"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_motion(frame, f"{folder}/knee.mot", in_degrees=True)
    ...     motion = read_motion(f"{folder}/knee.mot")
    >>> motion.knee_angle.to_list(), motion.attrs["in_degrees"]  # as the file has them
    ([10.0, 20.0], True)
    """
    file = NumberFile(path, strict)
    head, line = read_header(file)
    header, name = _header(file, head)
    content, place = header.get("DataType", ("double", 0))
    if content.strip().lower() != "double":
        message = f"DataType is {content}, whose entries are not numbers; OpenSim's table.flatten() makes them so"
        raise file.error(message, place)
    text = file.mended(line).rstrip()  # a tab at the end of a line is no label
    labels = [label.strip() for label in (text.split("\t") if "\t" in text else text.split())]
    file.check_labels(line[0], list(dict.fromkeys(labels)))
    table, rows = file.table(labels, gaps=gaps, blanks=True)
    for key, count, what in (("nRows", table.shape[0], "rows"), ("nColumns", table.shape[1], "columns")):
        stated, place = header.get(key, (str(count), 0))
        message = f"{key} is {stated}, but the table has {count} {what}"
        if not stated.isdigit():
            raise file.error(message, place)
        if stated != str(count):
            file.tell(place, f"{message}; all of them are read")
    table, rows = _without_repeated_rows(file, table, rows)
    check_times(file.path, rows, table[:, 0])
    again = pd.Index(labels).duplicated()
    if again.any():
        twice = [*dict.fromkeys(label for label, repeated in zip(labels, again, strict=True) if repeated)]
        named = ", ".join(map(repr, twice[:MAX_LABELS_SHOWN])) + (", ..." if len(twice) > MAX_LABELS_SHOWN else "")
        file.tell(line[0], f"several columns are labelled {named}; the first of each is kept, as in OpenSim's Storage")
        table, labels = table[:, ~again], list(dict.fromkeys(labels))
    attrs = {
        "in_degrees": _in_degrees(file, header, head),
        "header": {key: value for key, (value, _) in header.items()},
    }
    attrs |= {"lines": rows.tolist()} if gaps else {}
    return time_table(table[:, 0], table[:, 1:], labels[1:], name=name, **attrs)


def read_header(file: NumberFile) -> tuple[list[Line], Line]:
    """The lines up to 'endheader', and the first after it that is not blank, which holds the labels; ModelError where
    one of both is missing."""
    head: list[Line] = []
    for line in file.lines:
        if line[1].strip().lower() == "endheader":
            labels = next((line for line in file.lines if line[1].strip()), None)
            if labels is None:
                raise file.error("no line of labels after 'endheader'", line[0])
            return head, labels
        if len(head) == MAX_HEADER_LINES:
            break
        head.append(line)
    raise file.error("no line 'endheader' up to here: this is no .mot or .sto file", max(len(head), 1))


def _without_repeated_rows(file: NumberFile, table: Array, lines: Array) -> tuple[Array, Array]:
    """The rows and their lines without those that the next row repeats, which are counted."""
    repeated = np.diff(table[:, 0]) == 0
    same = np.flatnonzero(repeated)
    repeated[same] = np.isclose(table[same + 1], table[same], rtol=1e-9, atol=REPEATED_ROW_TOLERANCE).all(axis=1)
    if not repeated.any():
        return table, lines
    first, count = int(np.argmax(repeated)), int(repeated.sum())
    many = "a row is" if count == 1 else f"{count} rows are"
    file.tell(
        int(lines[first + 1]),
        f"{many} written twice, the first of {table[first, 0]:.10g} s; one of each is kept, as in OpenSim",
    )
    kept = np.append(~repeated, True)
    return table[kept], lines[kept]


def _header(file: NumberFile, lines: list[Line]) -> tuple[dict[str, tuple[str, int]], str]:
    """Entries with their lines, and the name; free text between them is passed over, as OpenSim does."""
    entries: dict[str, tuple[str, int]] = {}
    name = ""
    for number, text in lines:
        key, equals, value = text.partition("=")
        if not equals:
            key, _, value = text.strip().partition(" ")
            if key.lower() not in OLD_NAMES:
                name = name or text.strip()
                continue
        key, value = OLD_NAMES.get(key.strip().lower(), key.strip()), value.strip()
        if key in entries and entries[key][0] != value:
            raise file.error(f"{key} is given twice: {entries[key][0]} and {value}", number)
        entries[key] = (value, number)
    if "name" in entries:
        name = entries["name"][0]
    return entries, name.removeprefix("name ")


def _in_degrees(file: NumberFile, header: dict[str, tuple[str, int]], lines: list[Line]) -> bool | None:
    if "inDegrees" not in header:
        return next((SENTENCES[said] for _, text in lines if (said := text.strip().lower()) in SENTENCES), None)
    value, number = header["inDegrees"]
    if value.lower() not in ("yes", "no"):
        raise file.error(f"inDegrees is 'yes' or 'no', not {value!r}", number)
    return value.lower() == "yes"


# ---- Writing OpenSim's tables of numbers over time, .mot and .sto -------------------------------------------------


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
    for key, value in (header or {}).items():
        lines.append(line := f"{key}={value}")
        if "=" in key or set(line) & set("\r\n") or key.lower() in RESERVED:  # which would end it
            message = f"the entry {line!r} of the header holds a line end, or a name that the writer itself gives"
            raise ValueError(message)
    write_text(path, "\n".join([*lines, "endheader", "\t".join(labels)]) + "\n" + format_rows(table))
