"""Low-pass filtering on the sphere, and the velocities and accelerations of a motion.

Filtering. Of a smooth motion s, the steps between frames are rotation vectors of quaternions, in the parent's axes, and
differences of all other coordinates. Their running sum D(s) is a curve in flat space, the development of the motion.
The recorded motion q deviates from it by e = q s^-1, a rotation vector again. Thus x = D(s) + e develops q without
summing up its noise. With H the zero-phase low-pass filter, r = x - H x is what lies above the cutoff, and the new s =
exp(e - r) s. One round from s = q would leave a part |omega| / (2 pi cutoff) of the noise; there are three. About a
fixed axis, and for lengths and hinges, the result is the linear filter itself. It commutes with rotations of the
laboratory and of the body and has no lock. Because r holds no low frequencies, the sums do not drift.

H is a Butterworth filter of half the given order, run forwards and backwards, as in gait laboratories [D. A. Winter,
Biomechanics and Motor Control of Human Movement, 4th ed., 2009, section 3.4.4]. Its attenuation at the cutoff is 1/2.
At both ends the curve is continued by half of its length, turned by half a turn about its end point, as OpenSim does.
Order 6 is the order of OpenSim's filter.

Derivatives. In the chart x_j = q_k^-1 q_{k+j} that is centred on frame k, u = dx/dt and udot = d2x/dt2 exactly. The
derivative of the exponential is the identity at zero, and the further term of its second derivative, [u, u], vanishes.
The derivatives are those of the polynomial of degree 6 through seven frames. Their errors are of order h^6 and h^5, and
at the first and last three frames h^6 and h^5 of one-sided stencils.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from myoquat.analysis.motion.angle_smoothing import smooth_angles
from myoquat.analysis.motion.constraint_projection import constraints_of_motion
from myoquat.analysis.motion.continuity import check_jumps
from myoquat.analysis.motion.fitted import FittedMotion
from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.series import check_cutoff, even_times, gaps_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.validation import SystemLike
from myoquat.muscle.coordinates import follow

__all__ = ["differentiate", "smooth"]

STENCIL_HALF_WIDTH = 3  # frames on each side of a stencil
FILTER_PASSES = 3  # of the filter over a trial


def smooth(
    motion: MotionLike,
    cutoff: float | None = 6.0,
    *,
    order: int = 4,
    longest_gap: float = 0.1,
    model: SystemLike | None = None,
    method: Literal["rotations", "angles"] = "rotations",
) -> Motion:
    """The motion with frequencies above `cutoff` [Hz] filtered out, with u and udot consistent with its q.

    cutoff       where the zero-phase filter halves the amplitude; None for no filter, only derivatives.
    order        of both passes together, even: the amplitude falls with the order-th power of the frequency.
    longest_gap  [s] frames without data of a fitted motion are bridged up to this time, turning and sliding evenly
                 between the frames beside them. Longer gaps, and those at an end, raise an error.
    model        whose couplers and constraints hold after filtering, phi to 1e-10; those of a fitted motion do without
                 it. Poses and rates are moved onto them by the smallest changes: A u = -phi_t, A udot = b. Locked
                 coordinates stay.
    method       "rotations" filters displacements of joints, the same for every description of a rotation. The method
                 "angles" filters coordinates of the file as OpenSim's InverseDynamicsTool and AnalyzeTool do. It has
                 their third-order filter and quintic splines, for comparisons with their results, and bridges no gaps.

    Times that are even to 5 % of a step, as rounded times of a file are, are taken as even. Raises ValueError for other
    times, fewer than 16 frames, a cutoff outside (0, half the sampling rate) and an odd order. It is raised for gaps
    that are not bridged, and for angles that jump to others of the same pose (`continuous` takes them out). It is
    raised for poses that cannot be brought onto the constraints. Warns with MotionWarning of a motion that is off these
    by more than 1e-4.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 2.0, 201)
    >>> q = np.sin(np.pi * time) + 1e-3 * np.sin(80 * np.pi * time)  # 0.5 Hz, and noise of 40 Hz
    >>> found = mo.smooth(mo.Motion(mq.ArticulatedSystem((arm,)), time, q[:, None]), cutoff=6.0)
    >>> bool(abs(found.q[100:110, 0] - np.sin(np.pi * time[100:110])).max() < 1e-4)
    True
    """
    if method not in ("rotations", "angles"):
        raise ValueError(f'method is "rotations" or "angles", not {method!r}')
    if method == "angles":
        if order != 4:
            raise ValueError("order is that of method='rotations'; the filter of method='angles' has the third order")
        return smooth_angles(motion, cutoff, model=model)
    motion = motion_of(motion)
    system, time, constraints = motion.system, even_times(motion.time), constraints_of_motion(motion, model)
    check_jumps(motion)
    constraints.warn_if_violated(motion)
    q = _bridged(motion, longest_gap)
    if cutoff is not None:
        q = _filtered(system, q, time, cutoff, order)
    follow(constraints.couplers, system, q)
    return constraints.with_rates(differentiate(Motion(system, time, constraints.poses(time, q))))


def differentiate(motion: MotionLike) -> Motion:
    """The motion with u and udot found from its q, by derivatives in the chart centred on each frame (see the module).

    Raises ValueError for times that are not even to 5 % of a step, fewer than 16 frames, and angles that jump to others
    of the same pose.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = mo.Motion(mq.ArticulatedSystem((arm,)), time, time[:, None] ** 2)
    >>> found = mo.differentiate(motion)
    >>> found.u[10].round(6), found.udot[10].round(6)  # of the angle t^2 at 0.5 s
    (array([1.]), array([2.]))
    """
    motion = motion_of(motion)
    check_jumps(motion)
    system, time, q = motion.system, even_times(motion.time), motion.q
    n, h = len(q), (time[-1] - time[0]) / (len(q) - 1)
    first, second = np.zeros((n, system.nu)), np.zeros((n, system.nu))
    middle = np.clip(np.arange(n), STENCIL_HALF_WIDTH, n - 1 - STENCIL_HALF_WIDTH)
    for shift in range(-STENCIL_HALF_WIDTH, STENCIL_HALF_WIDTH + 1):
        x = system.difference(q, q[middle + shift])
        for rows in _stencils(n):
            c1, c2 = _weights(int(middle[rows[0]] - rows[0]))
            first[rows] += c1[shift + STENCIL_HALF_WIDTH] / h * x[rows]
            second[rows] += c2[shift + STENCIL_HALF_WIDTH] / h**2 * x[rows]
    return Motion(system, time, q, first, second)


def _stencils(n: int) -> list[Array]:
    """Rows that share a stencil: the middle, and one each near the ends."""
    ends = [np.array([k]) for k in [*range(STENCIL_HALF_WIDTH), *range(n - STENCIL_HALF_WIDTH, n)]]
    return [np.arange(STENCIL_HALF_WIDTH, n - STENCIL_HALF_WIDTH), *ends]


def _weights(offset: int) -> tuple[Array, Array]:
    """Weights of the first and second derivative at 0 of the polynomial through points offset - 3 ... offset + 3."""
    points = np.arange(-STENCIL_HALF_WIDTH, STENCIL_HALF_WIDTH + 1) + offset
    powers = np.vander(points.astype(float), increasing=True)  # value of x^j at each point
    inverse = np.linalg.inv(powers)
    return inverse[1], 2 * inverse[2]


def _filtered(system: ArticulatedSystem, q: Array, time: Array, cutoff: float, order: int) -> Array:
    rate = check_cutoff(time, cutoff)
    if order < 2 or order % 2:
        raise ValueError(f"order must be even, 2 or more, not {order}")
    flat = replace(system, velocity_frame="parent")  # slides of a floating joint along axes that do not turn
    sections = scipy.signal.butter(order // 2, cutoff, fs=rate, output="sos")
    smooth_ = q
    for _ in range(FILTER_PASSES):
        steps = np.cumsum(flat.difference(smooth_[:-1], smooth_[1:]), axis=0)
        beside = flat.difference(smooth_, q)
        curve = beside + np.concatenate([np.zeros((1, system.nu)), steps])
        smooth_ = flat.integrate(
            smooth_, beside - curve + scipy.signal.sosfiltfilt(sections, curve, axis=0, padlen=len(q) // 2)
        )
    return smooth_


def _bridged(motion: Motion, longest: float) -> Array:
    """q with the empty frames of a fitted motion bridged."""
    q = motion.q.copy()
    if not isinstance(motion, FittedMotion) or not motion.empty.any():
        return q
    flat = replace(motion.system, velocity_frame="parent")
    for a, b in gaps_of(motion.empty):
        first, last = motion.time[a], motion.time[b - 1]
        if a == 0 or b == len(q):
            raise ValueError(f"no data from {first:g} to {last:g} s, at an end of the motion; cut it with between(...)")
        length = motion.time[b] - motion.time[a - 1]
        if length > longest:
            raise ValueError(f"a gap of {length:.3g} s from {first:g} to {last:g} s; at most {longest:g} s are bridged")
        share = (motion.time[a:b] - motion.time[a - 1]) / length
        q[a:b] = flat.integrate(q[a - 1], share[:, None] * flat.difference(q[a - 1], q[b]))
    return q
