"""Questions about a model's muscles: moment arms, whether their powers balance, and how little they can do."""

from myoquat.analysis.motion.inverse_dynamics import Load

from .emg import (
    Calibration,
    CalibrationTrial,
    MomentCalibration,
    MomentPosterior,
    MomentPriors,
    MomentTrial,
    MuscleTorques,
    calibrate_moments,
    calibrate_muscles,
    emg_activations,
    emg_driven,
    emg_effort,
    moment_posterior,
)
from .forward import Tracking, computed_muscle_control, forward_check, track
from .free import free_moment_arms, free_torques
from .joint_loads import JointLoads, joint_loads
from .metabolic_power import MetabolicPower, metabolic_power
from .moment_arms import moment_arm_surface, moment_arms
from .power import PowerCheck, power_check
from .redundancy import (
    Coupled,
    Effort,
    FrameCoupling,
    MetabolicEffort,
    Redundancy,
    Reserve,
    ReserveActuator,
    Sequential,
    WholeTrial,
    consistent_derivatives,
    consistent_motion,
    redundancy,
)
from .residual_reduction import ConsistentMotion, ResidualOptions, dynamically_consistent
from .stability import CentralForce, EllipticCone, JointCone, SearchedRule, SocketMarkers, StabilityRule
from .static_optimization import StaticOptimization, static_optimization

__all__ = [
    "Calibration",
    "CalibrationTrial",
    "CentralForce",
    "ConsistentMotion",
    "Coupled",
    "Effort",
    "EllipticCone",
    "FrameCoupling",
    "JointCone",
    "JointLoads",
    "Load",
    "MetabolicEffort",
    "MetabolicPower",
    "MomentCalibration",
    "MomentPosterior",
    "MomentPriors",
    "MomentTrial",
    "MuscleTorques",
    "PowerCheck",
    "Redundancy",
    "Reserve",
    "ReserveActuator",
    "ResidualOptions",
    "SearchedRule",
    "Sequential",
    "SocketMarkers",
    "StabilityRule",
    "StaticOptimization",
    "Tracking",
    "WholeTrial",
    "calibrate_moments",
    "calibrate_muscles",
    "computed_muscle_control",
    "consistent_derivatives",
    "consistent_motion",
    "dynamically_consistent",
    "emg_activations",
    "emg_driven",
    "emg_effort",
    "forward_check",
    "free_moment_arms",
    "free_torques",
    "joint_loads",
    "metabolic_power",
    "moment_arm_surface",
    "moment_arms",
    "moment_posterior",
    "power_check",
    "redundancy",
    "static_optimization",
    "track",
]
