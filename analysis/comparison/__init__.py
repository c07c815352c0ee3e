"""Two files of one model beside each other, or a file and the engine that owns its format."""

from myoquat.analysis.comparison.compare import compare_models, compare_with_engine
from myoquat.analysis.comparison.matching import Match, Matching
from myoquat.analysis.comparison.report import ModelComparison

__all__ = ["Match", "Matching", "ModelComparison", "compare_models", "compare_with_engine"]
