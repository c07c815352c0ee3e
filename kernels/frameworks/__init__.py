"""Compiled formulas as functions of JAX and PyTorch."""
