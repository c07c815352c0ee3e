"""Constraints that need muscle paths."""

from myoquat.muscle.constraints.path_length import PathLengthConstraint

__all__ = ["PathLengthConstraint"]
