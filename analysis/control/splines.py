"""Recorded motions between their frames: splines of the fifth degree, of quaternions on the sphere."""

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array
from myoquat.data.motions import Motion

__all__ = ["interpolated_pose", "interpolated_rows", "interpolated_velocity"]

SPLINE_DEGREE = 5
TIME_TOLERANCE_S = 1e-9  # [s] by which rounded times of a file may end too early


def interpolated_rows(time: Array, values: Array, at: Array, derivative: int = 0) -> Array:
    """(k, n) rows (t, n) over time at other times, by the interpolating spline of degree 5, or less for fewer rows.

    ValueError for times that the rows do not cover.
    """
    if not len(time) or at[0] < time[0] - TIME_TOLERANCE_S or at[-1] > time[-1] + TIME_TOLERANCE_S:
        span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "nothing"
        raise ValueError(f"the data cover {span}; they are wanted from {at[0]:g} to {at[-1]:g} s")
    degree = min(SPLINE_DEGREE, len(time) - 1)
    if degree < 1:
        return np.repeat(values if derivative == 0 else 0.0 * values, len(at), axis=0)
    if degree % 2 == 0:
        degree -= 1
    spline = scipy.interpolate.make_interp_spline(time, values, k=degree)
    result: Array = spline(np.clip(at, time[0], time[-1]), derivative)
    return result


def interpolated_pose(motion: Motion, at: Array) -> Array:
    """(k, nq) poses of a motion at other times; quaternions are normalized splines of their components."""
    q = interpolated_rows(motion.time, motion.q, at)
    for s in motion.system.quaternion_slices():
        q[:, s] /= np.linalg.norm(q[:, s], axis=1, keepdims=True)
    return q


def interpolated_velocity(motion: Motion, at: Array) -> Array:
    """(k, nu) velocities of a motion at other times: its u, or the derivative of its poses."""
    if motion.u is not None:
        return interpolated_rows(motion.time, motion.u, at)
    rate = interpolated_rows(motion.time, motion.q, at, 1)
    return motion.system.velocities(interpolated_pose(motion, at), rate)
