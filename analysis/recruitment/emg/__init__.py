"""Muscles whose activity was recorded: activations from EMG, torques from them, and muscles calibrated to a person."""

from myoquat.analysis.recruitment.emg.activations import emg_activations, emg_effort
from myoquat.analysis.recruitment.emg.calibration import Calibration, Trial, calibrate_muscles
from myoquat.analysis.recruitment.emg.driven import MuscleTorques, emg_driven

__all__ = [
    "Calibration",
    "MuscleTorques",
    "Trial",
    "calibrate_muscles",
    "emg_activations",
    "emg_driven",
    "emg_effort",
]
