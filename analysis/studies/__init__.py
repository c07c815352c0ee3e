"""Studies: a model with varied parameters, simulated thousands of times, nothing lost. Needs the extra `studies`."""

from myoquat.core import missing_extra

try:
    import google_crc32c
    import xarray
    import zarr
except ModuleNotFoundError as error:
    raise missing_extra(error) from None

from .durable import LockedError, StoreError
from .figures import plot_bands, plot_heat_map, plot_sobol, plot_tornado
from .results import (
    Verification,
    correlation,
    main_effects,
    recompute,
    sobol_indices,
    study_of,
    to_table,
    verify_results,
)
from .store import open_results
from .study import ProblemStudy, Study
from .study_files import MuscleTrial
from .uncertain_loads import (
    LoadsWanted,
    MotionSteps,
    UncertainCurves,
    UncertainInputs,
    uncertain_angles,
    uncertain_loads,
    uncertain_torques,
)

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
    "main_effects",
    "open_results",
    "plot_bands",
    "plot_heat_map",
    "plot_sobol",
    "plot_tornado",
    "recompute",
    "sobol_indices",
    "study_of",
    "to_table",
    "uncertain_angles",
    "uncertain_loads",
    "uncertain_torques",
    "verify_results",
]

_LIBRARIES = google_crc32c, xarray, zarr  # what the modules above stand on
