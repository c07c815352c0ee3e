"""Constructs inside formulas that kernels do not unroll: one file per construct, and derivatives of programs."""
