"""Two files of one model beside each other, or a file and the engine that owns its format."""

from .compare import ModelComparison, compare_models
from .sides import Match, Matching

__all__ = ["Match", "Matching", "ModelComparison", "compare_models"]
