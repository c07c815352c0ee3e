"""Constraints that need muscle paths."""

from .path_length import PathLengthConstraint

__all__ = ["PathLengthConstraint"]
