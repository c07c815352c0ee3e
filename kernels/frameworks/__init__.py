"""Compiled formulas as functions of JAX and PyTorch."""

__all__: list[str] = []
