"""OpenSim's tables of numbers over time, .mot and .sto: read and written."""

from myoquat.data.storage.read import read_motion
from myoquat.data.storage.write import write_motion

__all__ = ["read_motion", "write_motion"]
