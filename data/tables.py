"""Tables with units in their headers, for spreadsheets, statistics programs and MATLAB."""

import importlib
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from myoquat.core import PATH, Array, check_types, missing_extra, pandas as pd

from .files import check_output, write_bytes

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


def over_time(time: Array, columns: Mapping[str, Array]) -> "pd.DataFrame":
    """A table of columns (t,), or of one number each, over the index time (t,) [s]."""
    index = pd.Index(time, name="time")
    return pd.DataFrame({name: np.broadcast_to(column, index.shape) for name, column in columns.items()}, index)


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
    return {_name(label): str(given.get(label, _by_name(_name(label)))) for label in table.columns}


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
    write_bytes(path, _WRITERS[suffix](_flat(table, column_units(table) | dict(units or {}))))


def _name(label: object) -> str:
    return ".".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _by_name(name: str) -> str:
    return next((unit for rule, unit in RULES if rule.search(name)), "")


def _flat(table: "pd.DataFrame", units: Mapping[str, str]) -> "pd.DataFrame":
    """The table with its index as columns and units in all names."""
    names = [_name(label) for label in table.columns]
    found = table.set_axis(names, axis=1)
    if any(name is not None for name in table.index.names):
        found = found.reset_index()
    units = {"time": "s", **units}
    return found.set_axis([f"{n} [{units[n]}]" if units.get(n) else n for n in map(str, found.columns)], axis=1)


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
