"""Smooth fits of muscle paths over a set of poses: `fit_paths`, and how good they are."""

from .basis import FitSettings
from .fit import Certificate, JointForceFits, PathFit, PathFits, certify, fit_joint_forces, fit_paths
from .poses import cloud_poses, range_poses

__all__ = [
    "Certificate",
    "FitSettings",
    "JointForceFits",
    "PathFit",
    "PathFits",
    "certify",
    "cloud_poses",
    "fit_joint_forces",
    "fit_paths",
    "range_poses",
]
