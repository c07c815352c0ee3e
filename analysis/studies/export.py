"""Results as tables: one row per sample, or per sample and time, for CSV, Parquet and statistics programs."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import xarray as xr

from myoquat.core.arguments import PATH, check_types
from myoquat.core.lazy_imports import missing_extra
from myoquat.core.typing import Array
from myoquat.data.files import check_output, write_bytes
from myoquat.kernels import Outcome

__all__ = ["check_export", "export", "to_table", "to_trajectories", "units_of"]

_LABELS = ("parameter", "coordinate", "velocity", "muscle", "body", "actuator", "joint")
_WRITERS = (".csv", ".parquet")


def to_table(results: xr.Dataset) -> pd.DataFrame:
    """One row per sample: the varied values by their names, status and stop, and every final value and summary as
    '<variable>.<label>'. Trajectories are left to `to_trajectories`; `results.to_dataframe()` is xarray's own.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import to_table
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> to_table(results)[["bodies.B.mass", "peak_force.m1"]].shape
    (4, 2)
    """
    check_types(results=(results, "xarray.Dataset"))
    columns: dict[str, object] = {name: values for name, values, _ in _columns(results)}
    columns["status"] = pd.Categorical.from_codes(results.status.values, [outcome.sentence for outcome in Outcome])
    return pd.DataFrame(columns, index=pd.RangeIndex(results.sizes["sample"], name="sample"))


def units_of(results: xr.Dataset) -> dict[str, str]:
    """The unit of every column of `to_table` that has one."""
    return {name: unit for name, _, unit in _columns(results) if unit}


def _columns(results: xr.Dataset) -> Iterator[tuple[str, Array, str]]:
    """Name, values and unit of every column of a table of samples."""
    for name, array in results.data_vars.items():
        if "time" in array.dims or name == "fingerprint":
            continue
        along = next((dim for dim in array.dims if dim in _LABELS), None)
        if along is None:
            yield str(name), array.values, ""
            continue
        unit = str(array.attrs.get("units", "")).removeprefix("see ") if name != "values" else f"{along}_unit"
        own = results[f"{along}_unit"].values if f"{along}_unit" in results.coords else [""] * array.sizes[along]
        prefix = "" if name == "values" else f"{name}."
        for label, one, column in zip(results[along].values, own, array.values.T, strict=True):
            written = unit.replace(f"{along}_unit", str(one)).replace("/s s", "")  # such as 'velocity_unit s'
            yield f"{prefix}{label}", column, written


def to_trajectories(results: xr.Dataset) -> pd.DataFrame:
    """One row per sample and kept time: every coordinate and velocity by its name.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import to_trajectories
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=2, duration=0.01, times=2).run(progress=False)
    >>> to_trajectories(results)["A.Q0"].round(3).to_dict()
    {(0, 0.005): 0.993, (0, 0.01): 0.993, (1, 0.005): 0.993, (1, 0.01): 0.993}
    """
    check_types(results=(results, "xarray.Dataset"))
    if "q" not in results:
        raise ValueError("the study kept no times")
    found: dict[str, object] = {}
    for name, along in (("q", "coordinate"), ("u", "velocity")):
        array = results[name].values
        found |= {str(label): array[:, :, i].reshape(-1) for i, label in enumerate(results[along].values)}
    index = pd.MultiIndex.from_product([range(results.sizes["sample"]), results.time.values], names=["sample", "time"])
    return pd.DataFrame(found, index=index)


def check_export(path: str | Path, overwrite: bool = False) -> Path:
    """The path, if a table may be written there; ValueError for another ending, OSError as `check_output`."""
    if Path(path).suffix not in _WRITERS:
        raise ValueError(f"{path}: a table is written as {' or '.join(_WRITERS)}, not {Path(path).suffix or 'without'}")
    return check_output(path, overwrite)


def export(results: xr.Dataset, path: str | Path, *, overwrite: bool = False) -> None:
    """Write `to_table` as CSV, every number exactly, or Parquet, by the ending of the path.

    Raises as `check_export`: ValueError for another ending, FileExistsError for a file that exists unless `overwrite`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import export
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(results, f"{folder}/table.csv")
    ...     print(Path(f"{folder}/table.csv").read_text().split(",")[:3])
    ['sample', 'bodies.B.mass', 'status']
    """
    check_types(results=(results, "xarray.Dataset"), path=(path, PATH))
    check_export(path, overwrite)
    table = to_table(results)
    if Path(path).suffix == ".csv":
        data = table.to_csv().encode()
    else:
        try:
            data = table.to_parquet()
        except ImportError:  # pandas names its two engines, not the extra that brings one
            raise missing_extra(ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")) from None
    write_bytes(path, data)
