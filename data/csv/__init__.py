"""Columns of numbers over time, .csv: read and written."""

from myoquat.data.csv.read import read_columns
from myoquat.data.csv.write import write_columns

__all__ = ["read_columns", "write_columns"]
