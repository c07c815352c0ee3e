"""Elements of a URDF as parts of a system."""
