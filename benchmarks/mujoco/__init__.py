"""MuJoCo, in loops of C."""
