"""Tables of trajectories: named columns over the rows of all runs."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.typing import Array

__all__ = ["Columns"]


class Columns:
    """Named columns of arrays (..., t): gathered one group after the other, then made a table."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        self.rows = rows  # the shape (..., t)
        self._columns: dict[str, Array] = {}

    def add(self, names: Sequence[str], values: Array) -> None:
        """Add a column for every entry of the last axis of values, which broadcast to (..., t, len(names))."""
        values = np.broadcast_to(values, (*self.rows, len(names)))
        self._columns |= {name: values[..., k].ravel() for k, name in enumerate(names)}

    def table(self) -> "pd.DataFrame":
        """The table; a batch has its indices as index levels 'run_0', ... before 'row'."""
        table = pd.DataFrame(self._columns)
        if len(self.rows) > 1:
            names = [*(f"run_{k}" for k in range(len(self.rows) - 1)), "row"]
            table.index = pd.MultiIndex.from_product([range(n) for n in self.rows], names=names)
        return table
