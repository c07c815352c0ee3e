"""The articulated system: bodies, the tree of joints, the layout of its state, and its indices."""
