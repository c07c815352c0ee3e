"""URDF files: reading with the extensions of articulated-system simulators, and writing."""

from joints.urdf.read import load_urdf
from joints.urdf.write import write_urdf

__all__ = ["load_urdf", "write_urdf"]
