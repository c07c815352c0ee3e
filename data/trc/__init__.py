"""Marker files, .trc: read and written."""

from myoquat.data.trc.read import read_markers
from myoquat.data.trc.write import write_markers

__all__ = ["read_markers", "write_markers"]
