"""Parts of a model as elements of a URDF."""
