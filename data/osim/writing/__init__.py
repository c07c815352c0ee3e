"""From models to .osim files: every part is the mirror of what reads it, and is read back before it is believed."""
