"""A Kalman filter on the group of poses: markers and inertial sensors of a recording, fused over time."""

from myoquat.analysis.motion.kalman.estimates import FilteredMotion
from myoquat.analysis.motion.kalman.kalman_filter import FilterNoise, kalman_filter

__all__ = ["FilterNoise", "FilteredMotion", "kalman_filter"]
