"""The tree of joints in a graph of bodies."""
