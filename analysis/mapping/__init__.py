"""The mapping analysis: how the Jacobians of a muscle map between parameterizations, and where they do not."""

from .report import MappingReport
from .run import approach, mapping_analysis

__all__ = ["MappingReport", "approach", "mapping_analysis"]
