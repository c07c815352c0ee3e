"""Columns of numbers over time, .csv: read and written."""

import csv
from pathlib import Path

import numpy as np

from myoquat.core import pandas as pd

from .files import check_output, write_text
from .rows import NumberFile, check_labels, check_times, time_table

# --------------------------------------------------------------------------------------------------------------
#
# Reading columns of numbers over time, .csv: a line of labels, the first of them `time`, then a row each time.


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


# ---- Writing columns of numbers over time, .csv -------------------------------------------------------------------


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
