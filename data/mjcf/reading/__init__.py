"""MuJoCo files as models, a file for each type of element."""
