"""Elementary functions on the lanes of a vector."""
