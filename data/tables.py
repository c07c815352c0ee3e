"""Columns of numbers over time, .csv, and tables with units in their headers for spreadsheets, statistics programs and
MATLAB."""

import csv
import importlib
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from myoquat.core import PATH, Array, check_types, missing_extra, pandas as pd, time_table

from .files import check_output, write_bytes, write_text
from .rows import NumberFile, check_labels, check_times

TABLE_FILES = (".csv", ".xlsx", ".mat", ".parquet")
RULES = (  # of names of columns as OpenSim and this package write them
    (re.compile(r"_moment$|_m[xyz]$|\.torque$"), "N m"),
    (re.compile(r"_force$|_f[xyz]$|\.force$|\.reserve$"), "N"),
    (re.compile(r"_p[xyz]$|\.length$|\.fiber_length$|fiber_length$"), "m"),
    (re.compile(r"\.activation$|\.excitation$|\.control$|/activation$"), "1"),
)


def labelled(names: Iterable[str], values: Array) -> dict[str, Array]:
    """The columns (t,) of values (t, n) by the names (n,)."""
    return dict(zip(names, values.T, strict=True))


def column_units(table: "pd.DataFrame") -> dict[str, str]:
    """The unit of every column by its name, as text.

    It is that in `attrs["units"]`. Otherwise it follows from the names of forces, moments, points, lengths and
    activations, else it is "".

    >>> import pandas as pd
    >>> from myoquat.data import column_units
    >>> column_units(pd.DataFrame({"knee_angle_r_moment": [1.0], "soleus_r.length": [0.3], "mass": [2.0]}))
    {'knee_angle_r_moment': 'N m', 'soleus_r.length': 'm', 'mass': ''}
    """
    check_types(table=(table, "pandas.DataFrame"))
    known = table.attrs.get("units", {})
    given = known if isinstance(known, Mapping) else dict.fromkeys(table.columns, str(known))
    names = {label: _name(label) for label in table.columns}
    by_name = {name: next((unit for rule, unit in RULES if rule.search(name)), "") for name in names.values()}
    return {name: str(given.get(label, by_name[name])) for label, name in names.items()}


def write_table(
    table: "pd.DataFrame", path: str | Path, units: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> None:
    """Write a table whose headers tell units, as `myoquat.data.save_table` does for these formats: `units` by column,
    those of `column_units` for columns that are not named. ValueError for another ending."""
    check_types(table=(table, "pandas.DataFrame"), path=(path, PATH))
    suffix = Path(path).suffix.lower()
    if suffix not in TABLE_FILES:
        raise ValueError(f"{path}: a table is written as {', '.join(TABLE_FILES)}, not {suffix or 'without an ending'}")
    path = check_output(path, overwrite)
    named = {"time": "s"} | column_units(table) | dict(units or {})
    flat = table.set_axis([_name(label) for label in table.columns], axis=1)
    if any(name is not None for name in table.index.names):
        flat = flat.reset_index()
    headers = [f"{name} [{named[name]}]" if named.get(name) else name for name in map(str, flat.columns)]
    write_bytes(path, _WRITERS[suffix](flat.set_axis(headers, axis=1)))


def _name(label: object) -> str:
    return ".".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _csv(table: "pd.DataFrame") -> bytes:
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text.encode()


def _xlsx(table: "pd.DataFrame") -> bytes:
    try:
        importlib.import_module("openpyxl")
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None
    data = io.BytesIO()
    table.to_excel(data, index=False, engine="openpyxl", freeze_panes=(1, 0))
    return data.getvalue()


def _parquet(table: "pd.DataFrame") -> bytes:
    try:
        return bytes(table.to_parquet(index=False))
    except ImportError:  # pandas names its two engines, not the extra that brings one
        raise missing_extra(ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")) from None


def _mat(table: "pd.DataFrame") -> bytes:
    numbers = table.select_dtypes("number")
    parts = [re.fullmatch(r"(.*?)(?: \[([^\]]*)\])?", str(name)) for name in numbers.columns]
    names, units = ([(part[k] or "") if part else "" for part in parts] for k in (1, 2))
    data = io.BytesIO()
    cells = {key: np.array(texts, dtype=object) for key, texts in (("names", names), ("units", units))}
    importlib.import_module("scipy.io").savemat(data, {"data": numbers.to_numpy(dtype=float), **cells})
    return data.getvalue()


_WRITERS = {".csv": _csv, ".xlsx": _xlsx, ".mat": _mat, ".parquet": _parquet}


# ---- Columns of numbers over time, .csv: a line of labels, the first of them `time`, then a row each time ----------


def read_columns(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """A .csv file: a column per label over the index `time` [s]; an empty cell is NaN.

    A label that is not UTF-8 is taken as Latin-1, with an ImplausibleWarning, or an error if `strict`.

    Raises ModelError with the line of a first column that is not `time` and of a missing or repeated label. It is also
    raised for a cell that is no number and times that do not increase.
    """
    file = NumberFile(path, strict)
    head = file.mended(next(file.lines))
    labels = [label.strip() for label in next(csv.reader([head], skipinitialspace=True))]
    file.check_labels(1, labels)
    table, rows = file.table(labels, ((number, text.replace(",", "\t")) for number, text in file.lines), gaps=True)
    check_times(file.path, rows, table[:, 0])
    return time_table(table[:, 0], table[:, 1:], labels[1:])


def write_columns(frame: "pd.DataFrame", path: str | Path, *, overwrite: bool = False) -> None:
    """Write a table over the index `time` [s] as a .csv file that reads back equal.

    Raises FileExistsError for an existing file unless `overwrite` is True, ValueError for columns on several levels.
    """
    path = check_output(path, overwrite)
    if frame.columns.nlevels > 1 or frame.index.nlevels > 1:
        raise ValueError("a .csv file holds plain columns over time; the table's columns or rows have several levels")
    labels = ["time", *map(str, frame.columns)]
    check_labels(path, 0, labels)
    for label in labels:
        if set(label) & set(',"\t\r\n'):
            raise ValueError(f"the label {label!r} holds a comma, a quotation mark, a tab or a line end")
    write_text(path, frame.astype(np.float64).to_csv(index_label="time"))
