"""Mapping analysis, studies, figures and the command line."""

from analysis.mapping import MappingReport, mapping_analysis
from analysis.studies import Study, open_results

__all__ = ["MappingReport", "Study", "mapping_analysis", "open_results"]
