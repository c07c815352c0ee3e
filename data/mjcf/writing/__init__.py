"""Parts of a model as elements of MuJoCo files, a file for each type."""
