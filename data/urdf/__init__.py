"""URDF files: reading with the extensions of articulated-system simulators, and writing."""

from myoquat.data.urdf.read import load_urdf, read_model
from myoquat.data.urdf.reading.drives import CHANGES
from myoquat.data.urdf.write import write_model, write_urdf

__all__ = ["CHANGES", "load_urdf", "read_model", "write_model", "write_urdf"]
