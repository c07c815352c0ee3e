"""A model as lines in space, for figures and viewers."""
