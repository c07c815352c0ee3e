"""Elements of an .osim file as parts of a model."""
