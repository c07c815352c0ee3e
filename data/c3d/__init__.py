"""C3D files of motion capture systems: read."""
