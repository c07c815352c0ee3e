"""Studies: a model with varied parameters, simulated thousands of times, nothing lost. Needs the extra `studies`."""

from myoquat.core.lazy_imports import missing_extra

try:
    import google_crc32c
    import xarray
    import zarr
except ModuleNotFoundError as error:
    raise missing_extra(error) from None

from myoquat.analysis.studies.definition.trial import MuscleTrial
from myoquat.analysis.studies.export import export, to_table, to_trajectories
from myoquat.analysis.studies.figures import plot_bands, plot_heat_map, plot_sobol, plot_spaghetti, plot_tornado
from myoquat.analysis.studies.problems import ProblemStudy
from myoquat.analysis.studies.recompute import recompute, study_of
from myoquat.analysis.studies.sensitivity import correlation, main_effects, sobol_indices
from myoquat.analysis.studies.storage.errors import StoreError
from myoquat.analysis.studies.storage.lock import LockedError
from myoquat.analysis.studies.storage.store import open_results
from myoquat.analysis.studies.storage.verification import Verification, verify_results
from myoquat.analysis.studies.study import Study
from myoquat.analysis.studies.uncertainty.curves import UncertainCurves
from myoquat.analysis.studies.uncertainty.evaluation import (
    LoadsWanted,
    uncertain_angles,
    uncertain_loads,
    uncertain_torques,
)
from myoquat.analysis.studies.uncertainty.inputs import UncertainInputs
from myoquat.analysis.studies.uncertainty.motions import MotionSteps

__all__ = [
    "LoadsWanted",
    "LockedError",
    "MotionSteps",
    "MuscleTrial",
    "ProblemStudy",
    "StoreError",
    "Study",
    "UncertainCurves",
    "UncertainInputs",
    "Verification",
    "correlation",
    "export",
    "main_effects",
    "open_results",
    "plot_bands",
    "plot_heat_map",
    "plot_sobol",
    "plot_spaghetti",
    "plot_tornado",
    "recompute",
    "sobol_indices",
    "study_of",
    "to_table",
    "to_trajectories",
    "uncertain_angles",
    "uncertain_loads",
    "uncertain_torques",
    "verify_results",
]

_LIBRARIES = google_crc32c, xarray, zarr  # what the modules above stand on
