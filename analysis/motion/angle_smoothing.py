"""Smoothing of the file's own angles, as OpenSim's tools do it, for results that are to equal theirs.

Every coordinate of the file is filtered by itself. The filter is a Butterworth filter of third order by the bilinear
transform, run forwards and backwards. The record is continued at both ends by half of its length, turned by half a turn
about its end point. Its first three values stay (Storage::pad and Signal::LowpassIIR of OpenSim 4.6). Values and
derivatives are those of the natural spline of fifth degree through the frames, s''' = s'''' = 0 at its ends [H. J.
Woltring, A Fortran package for generalized, cross-validatory spline smoothing and differentiation, Adv. Eng. Software
8, 1986].

With omega = B(x) xdot in the child's axes, omegadot = B xddot + Bdot xdot. Near a gimbal lock filtered angles are not
those of the filtered motion: `smooth` has no such place.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.analysis.motion.constraint_projection import constraints_of_motion
from myoquat.analysis.motion.continuity import check_jumps
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.angles import BallAngles, angle_axes, angle_table, balls
from myoquat.data.motions.series import check_cutoff, even_times
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.stacking import components
from myoquat.joints.types import FloatingJoint
from myoquat.joints.types.successive import angular_drift, child_axes
from myoquat.joints.validation import SystemLike
from myoquat.joints.vectors import cross, matvec, vecmat

__all__ = ["natural_spline", "smooth_angles", "smoothed_columns"]

SPLINE_DEGREE = 5
FILTER_ORDER = 3  # of the Butterworth filter; as many values at the start of a pass stay as they are


def smooth_angles(motion: MotionLike, cutoff: float | None = 6.0, *, model: SystemLike | None = None) -> Motion:
    """The motion with every coordinate of the file filtered at `cutoff` [Hz], and u and udot from splines through them.

    As OpenSim's InverseDynamicsTool and AnalyzeTool do it (see the module), for comparisons with their results.
    Otherwise `smooth`, which filters rotations, is the better choice. cutoff None: no filter, only derivatives, at any
    times. Otherwise times that are even to 5 % of a step are taken as even.

    model: whose couplers and constraints hold afterwards, as in `smooth`; without one those of a fitted motion.

    Raises ValueError for times that a filter cannot take, and for fewer than 16 frames, or 6 without a filter. It is
    raised too for a cutoff outside (0, half the sampling rate) and for angles that jump to others of the same pose.
    Raises ModelError for a quaternion without named angles.
    """
    motion = motion_of(motion)
    check_jumps(motion)
    constraints = constraints_of_motion(motion, model)
    constraints.warn_if_violated(motion)
    system, time = motion.system, motion.time if cutoff is None else even_times(motion.time)
    if len(time) <= SPLINE_DEGREE:
        raise ValueError(f"at least {SPLINE_DEGREE + 1} frames are needed, not {len(time)}")
    named = {ball.body: ball for ball in balls(system)}
    for i, body in enumerate(system.bodies):
        if body.joint.facts.quaternion is not None and i not in named:
            raise ModelError(
                "its quaternion has no named angles; smooth(motion) needs none", element=f"body {body.name!r}"
            )
    table = angle_table(system, time, motion.q, None, in_degrees=False)
    curves = _Curves(
        [str(label) for label in table.columns], *smoothed_columns(time, table.to_numpy(dtype=float), cutoff)
    )
    q, u, udot = motion.q.copy(), np.zeros((len(time), system.nu)), np.zeros((len(time), system.nu))
    for i, (body, iq, iu) in enumerate(zip(system.bodies, system.q_slices, system.u_slices, strict=True)):
        names = body.names_of_coordinates
        if i not in named:
            q[:, iq], u[:, iu], udot[:, iu] = curves.of(names)
            continue
        ball = named[i]
        Q, omega, turned = _turned(ball, *curves.of(ball.angles.names))
        R = rotation_matrix(Q)
        q[:, ball.quaternion] = Q
        u[:, ball.omega] = omega if ball.in_child else matvec(R, omega)
        udot[:, ball.omega] = turned if ball.in_child else matvec(R, turned)
        if isinstance(body.joint, FloatingJoint):
            p, v, a = curves.of(names[:3])
            if ball.in_child:
                v = vecmat(v, R)
                a = vecmat(a, R) - cross(omega, v)
            three = slice(iu.start, iu.start + 3)
            q[:, iq.start : iq.start + 3], u[:, three], udot[:, three] = p, v, a
    return constraints.projected(Motion(system, time, q, u, udot))


@dataclass(frozen=True, eq=False)
class _Curves:
    """Values and derivatives (t, n) of columns by name."""

    names: list[str]
    value: Array
    rate: Array
    bend: Array

    def of(self, names: Sequence[str]) -> tuple[Array, Array, Array]:
        """(t, k) of these columns."""
        k = [self.names.index(name) for name in names]
        return self.value[:, k], self.rate[:, k], self.bend[:, k]


def _turned(ball: BallAngles, x: Array, rate: Array, bend: Array) -> tuple[Array, Array, Array]:
    """Q (t, 4), omega and omegadot (t, 3) in the child's axes, of angles and their derivatives."""
    B = angle_axes(ball.angles, x)
    axes = child_axes(ball.angles.axes, components(ball.angles.rotations(x)))
    drift = angular_drift(axes, components(matvec(ball.angles.matrix, rate)))
    return ball.angles.quaternion(x), matvec(B, rate), matvec(B, bend) + drift


def smoothed_columns(time: Array, x: Array, cutoff: float | None) -> tuple[Array, Array, Array]:
    """(t, n) values, first and second derivatives of columns x (t, n), filtered at `cutoff` [Hz] unless it is None."""
    at = time
    if cutoff is not None:
        check_cutoff(time, cutoff)
        pad, step = len(time) // 2, (time[-1] - time[0]) / (len(time) - 1)
        x = np.concatenate([2 * x[0] - x[pad:0:-1], x, 2 * x[-1] - x[-2 : -2 - pad : -1]])
        time = time[0] + step * np.arange(-pad, len(at) + pad)
        x = _filtered_angles(_filtered_angles(x, 1 / step, cutoff)[::-1], 1 / step, cutoff)[::-1]
    spline = natural_spline(time, x)
    return spline(at), spline(at, 1), spline(at, 2)


def natural_spline(time: Array, x: Array) -> "scipy.interpolate.BSpline":
    """The natural spline of fifth degree through the columns of x (t, n). Frames that are nearer to the one before than
    1e-9 of a step, which only rounding keeps apart, do not count."""
    steps = np.diff(time)
    kept = np.concatenate([[True], steps > 1e-9 * steps.mean()])
    time, x = time[kept], x[kept]
    ends = [(3, np.zeros(x.shape[1])), (4, np.zeros(x.shape[1]))]
    return scipy.interpolate.make_interp_spline(time, x, k=SPLINE_DEGREE, bc_type=(ends, ends))


def _filtered_angles(x: Array, rate: float, cutoff: float) -> Array:
    """One pass of the filter, sum_k a_k y_{n-k} = sum_k b_k x_{n-k}, whose first frames are held: a triangular band.
    (`scipy.signal` has it too, but takes longer to import than all of the rest takes.)"""
    b, a = _butterworth(np.tan(np.pi * cutoff / rate))
    right = np.array(x)
    right[FILTER_ORDER:] = sum(b[k] * x[FILTER_ORDER - k : len(x) - k] for k in range(FILTER_ORDER + 1))
    band = np.zeros((FILTER_ORDER + 1, len(x)))
    band[0] = 1.0
    for k in range(1, FILTER_ORDER + 1):
        band[k, FILTER_ORDER - k : len(x) - k] = a[k]
    solve = scipy.linalg.blas.dtbsv
    return np.stack([solve(FILTER_ORDER, band, column, lower=1, diag=1) for column in right.T], axis=-1)


def _butterworth(warped: float) -> tuple[Array, Array]:
    """b, a (FILTER_ORDER + 1,) of the low-pass of order FILTER_ORDER: its analog poles at the cutoff tan(pi
    f / rate), by the bilinear transform (A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., sec.
    7.2.2); b sums as a."""
    poles = warped * np.exp(1j * np.pi * (2 * np.arange(FILTER_ORDER) + FILTER_ORDER + 1) / (2 * FILTER_ORDER))
    a = np.poly((1 + poles) / (1 - poles)).real
    b = np.poly(np.full(FILTER_ORDER, -1.0))
    return b * a.sum() / b.sum(), a
