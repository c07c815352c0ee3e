"""The table of motion formats: from the suffix of a file to the functions that read and write it."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from myoquat.core import PATH, check_types, frozen, pandas as pd
from myoquat.data.formats import format_of
from myoquat.joints import ModelError


@frozen
class MotionFormat:
    """A format of motion files: its content, its module, which is imported on use, and its functions there.

    >>> from myoquat.data import MOTION_FORMATS
    >>> sorted(MOTION_FORMATS)
    ['.bvh', '.csv', '.mot', '.mvnx', '.sto', '.trc']
    """

    name: str
    module: str
    reads: str
    writes: str = ""

    @property
    def reader(self) -> "Callable[..., pd.DataFrame]":
        """The function that reads: (path, strict=False) -> DataFrame over the index `time` [s]."""
        return getattr(importlib.import_module(self.module), self.reads)

    @property
    def writer(self) -> Callable[..., None]:
        """The function that writes: (frame, path, *, overwrite=False, and options of the format). ValueError without
        one."""
        if not self.writes:
            raise ValueError(f"tables are not written in the format {self.name}; `save_bvh` writes motions as .bvh")
        return getattr(importlib.import_module(self.module), self.writes)


B3D = (
    "a file of AddBiomechanics is not read: its library nimblephysics, where it can be installed, gives the model "
    "(SubjectOnDisk.getOpensimFileText) and the motion (SubjectOnDisk.readFrames)"
)
WRITTEN = (".xlsx", ".mat", ".parquet")  # tables for other programs, by `myoquat.data.tables`
STORAGE = MotionFormat("OpenSim's tables", "myoquat.data.storage", "read_motion", "write_motion")
MOTION_FORMATS = {
    ".mot": STORAGE,
    ".sto": STORAGE,
    ".csv": MotionFormat("columns of numbers", "myoquat.data.tables", "read_columns", "write_columns"),
    ".trc": MotionFormat("markers", "myoquat.data.trc", "read_markers", "write_markers"),
    ".mvnx": MotionFormat("Xsens MVN", "myoquat.data.mvnx", "read_joint_angles"),
    ".bvh": MotionFormat("skeletons", "myoquat.data.bvh", "read_channels"),
}


def motion_format(path: str | Path) -> MotionFormat:
    """The format of a motion file, by its suffix in any case. ModelError for a suffix that is not in the table."""
    if Path(path).suffix.lower() == ".b3d":
        raise ModelError(B3D, file=path)
    return format_of(MOTION_FORMATS, path, "motion")


def load_table(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """The numbers over time in a file of any motion format: a column per label over the index `time` [s].

    .mot, .sto  numbers as the file holds them. `.attrs` keeps the header: "name", "in_degrees" (True, False, or None
                where the file does not say) and "header", a dictionary of its entries.
    .trc        columns (marker, "x" | "y" | "z") in metres, NaN for a missing marker; `.attrs` keeps the header.
    .csv        an empty cell is NaN.
    .mvnx       the joint angles [deg]; see `load_suit`.
    .bvh        the channels of the joints; see `load_bvh`.

    What other programs read though it is odd is read with an ImplausibleWarning, or raises an error if `strict`.
    Raises ModelError with file and line for a broken file, and for another suffix.

    >>> import tempfile
    >>> import pandas as pd
    >>> from myoquat.data import load_table, save_table
    >>> frame = pd.DataFrame({"biceps": [0.1, 0.4]}, index=pd.Index([0.0, 0.5], name="time"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_table(frame, f"{folder}/emg.csv")
    ...     table = load_table(f"{folder}/emg.csv")
    >>> table.biceps.to_list(), table.index.to_list()
    ([0.1, 0.4], [0.0, 0.5])
    """
    check_types(path=(path, PATH))
    reader = motion_format(path).reader
    return reader(path, strict=True) if strict else reader(path)


def save_table(frame: "pd.DataFrame", path: str | Path, *, overwrite: bool = False, **options: Any) -> None:
    """Write numbers over time in the format that the suffix names, with the options of that format.

    .mot, .sto  in_degrees, name: those of the frame's `.attrs` where they are not given; in_degrees None writes no such
                line.
    .trc        units: of the numbers in the file, such as "mm"; columns as `load_table` gives them.
    .csv        units: by column, with which headers tell them, "knee_angle_r [deg]"; {} stands for those of
                `column_units`.
    .xlsx, .mat, .parquet
                headers tell units: those of `column_units`, or `units` by column. A .mat file has the variables `data`
                (rows, columns), `names` and `units` (columns); columns of text are left out.

    Tables whose headers tell units may hold text, and any index; an index with a name is the first column. They serve
    spreadsheets, statistics programs and MATLAB, and `load_table` does not read them. .xlsx and .parquet need the extra
    `tables`.

    Numbers are written as they are. Raises FileExistsError for an existing file unless `overwrite` is True. Raises
    ValueError for numbers that are not finite (.mot, .sto), empty or repeated labels, and times that do not increase.
    Raises MissingExtraError where a library is missing.

    >>> import tempfile
    >>> import pandas as pd
    >>> from myoquat.data import load_table, save_table
    >>> frame = pd.DataFrame({"biceps": [0.1, 0.4]}, index=pd.Index([0.0, 0.5], name="time"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_table(frame, f"{folder}/emg.sto")
    ...     print(load_table(f"{folder}/emg.sto").equals(frame))
    True
    """
    check_types(frame=(frame, "pandas.DataFrame"), path=(path, PATH))
    if Path(path).suffix.lower() in WRITTEN or isinstance(options.get("units"), Mapping):
        importlib.import_module("myoquat.data.tables").write_table(frame, path, overwrite=overwrite, **options)
        return
    motion_format(path).writer(frame, path, overwrite=overwrite, **options)
