"""Mapping analysis, studies, figures and the command line."""

from analysis.mapping import MappingReport, mapping_analysis

__all__ = ["MappingReport", "mapping_analysis"]
