"""Two files of one model beside each other, or a file and the engine that owns its format."""

from myoquat.analysis.comparison.compare import compare_models
from myoquat.analysis.comparison.report import ModelComparison
from myoquat.analysis.comparison.sides import Match, Matching

__all__ = ["Match", "Matching", "ModelComparison", "compare_models"]
