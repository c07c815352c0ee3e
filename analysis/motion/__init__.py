"""From recorded motion to joint torques: inverse kinematics, smoothing, inverse dynamics; gait."""

from myoquat.data.motions import (
    Forces,
    Markers,
    Motion,
    Orientations,
    load_forces,
    load_markers,
    load_motion,
    load_orientations,
    load_suit,
)

from .continuity import continuous
from .fitted import FittedMotion
from .functional_joints import JointAxis, JointCenter, Segment, joint_axis, joint_center
from .gait import (
    GaitCycles,
    GaitEvents,
    GaitParameters,
    gait_cycles,
    gait_events_from_forces,
    gait_events_from_markers,
    gait_parameters,
    landmarks,
)
from .inverse_dynamics import JointTorques, external_wrenches, inverse_dynamics_of_motion
from .inverse_kinematics import MotionWarning, inverse_kinematics
from .joint_angles import JointAngles, joint_angles, swing_twist, tilt_torsion
from .kalman import FilteredMotion, FilterNoise, kalman_filter
from .scale_estimate import ScaleEstimate, ScalePrior, estimate_scale
from .scaling import Measurement, place_markers, scale_factors, scale_model
from .sensors import calibrate_orientations
from .smoothing import differentiate, smooth
from .structure import Sensor

__all__ = [
    "FilterNoise",
    "FilteredMotion",
    "FittedMotion",
    "Forces",
    "GaitCycles",
    "GaitEvents",
    "GaitParameters",
    "JointAngles",
    "JointAxis",
    "JointCenter",
    "JointTorques",
    "Markers",
    "Measurement",
    "Motion",
    "MotionWarning",
    "Orientations",
    "ScaleEstimate",
    "ScalePrior",
    "Segment",
    "Sensor",
    "calibrate_orientations",
    "continuous",
    "differentiate",
    "estimate_scale",
    "external_wrenches",
    "gait_cycles",
    "gait_events_from_forces",
    "gait_events_from_markers",
    "gait_parameters",
    "inverse_dynamics_of_motion",
    "inverse_kinematics",
    "joint_angles",
    "joint_axis",
    "joint_center",
    "kalman_filter",
    "landmarks",
    "load_forces",
    "load_markers",
    "load_motion",
    "load_orientations",
    "load_suit",
    "place_markers",
    "scale_factors",
    "scale_model",
    "smooth",
    "swing_twist",
    "tilt_torsion",
]
