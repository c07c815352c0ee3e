"""Muscles whose activity was recorded: activations from EMG, torques from them, and muscles calibrated to a person."""

from .calibration import Calibration, CalibrationTrial, calibrate_muscles
from .driven import MuscleTorques, emg_activations, emg_driven, emg_effort
from .moment_calibration import (
    MomentCalibration,
    MomentPosterior,
    MomentPriors,
    MomentTrial,
    calibrate_moments,
    moment_posterior,
)

__all__ = [
    "Calibration",
    "CalibrationTrial",
    "MomentCalibration",
    "MomentPosterior",
    "MomentPriors",
    "MomentTrial",
    "MuscleTorques",
    "calibrate_moments",
    "calibrate_muscles",
    "emg_activations",
    "emg_driven",
    "emg_effort",
    "moment_posterior",
]
