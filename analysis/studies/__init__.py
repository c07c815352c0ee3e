"""Studies: a model with varied parameters, simulated thousands of times, nothing lost."""

from analysis.studies.export import export, to_table, to_trajectories
from analysis.studies.recompute import recompute, study_of
from analysis.studies.store import StoreError, open_results
from analysis.studies.study import Study

__all__ = ["StoreError", "Study", "export", "open_results", "recompute", "study_of", "to_table", "to_trajectories"]
