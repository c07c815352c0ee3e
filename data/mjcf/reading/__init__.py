"""MuJoCo files as models, a file for each kind of element."""
