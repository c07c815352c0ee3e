"""Writing columns of numbers over time, .csv."""

from pathlib import Path

import numpy as np

from myoquat.core.lazy_imports import pandas as pd
from myoquat.data.files import check_output, write_text
from myoquat.data.rows import check_labels

__all__ = ["write_columns"]


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
