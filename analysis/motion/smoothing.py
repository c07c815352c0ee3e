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

Projection of q, u and udot of smoothed motions onto the constraints under which they were fitted.

All free coordinates change, as little as possible. `myoquat.analysis.recruitment.redundancy.assembled_motion` lets
dependent coordinates change first.

Smoothing of the file's own angles, as OpenSim's tools do it, for results that are to equal theirs.

Every coordinate of the file is filtered by itself. The filter is a Butterworth filter of third order by the bilinear
transform, run forwards and backwards. The record is continued at both ends by half of its length, turned by half a turn
about its end point. Its first three values stay (Storage::pad and Signal::LowpassIIR of OpenSim 4.6). Values and
derivatives are those of the natural spline of fifth degree through the frames, s''' = s'''' = 0 at its ends [H. J.
Woltring, A Fortran package for generalized, cross-validatory spline smoothing and differentiation, Adv. Eng. Software
8, 1986].

With omega = B(x) xdot in the child's axes, omegadot = B xddot + Bdot xdot. Near a gimbal lock filtered angles are not
those of the filtered motion: `smooth` has no such place.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from myoquat.core import Array, scipy, warn_user
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.angles import BallAngles, angle_table, balls
from myoquat.data.motions.series import check_cutoff, even_times, gaps_of
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.dynamics.constraints.equations import as_constraint, modes_of
from myoquat.dynamics.rows import least_motions
from myoquat.joints.constraints import Constraint, Holonomic, Locked
from myoquat.joints.errors import ModelError
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import child_axes
from myoquat.joints.types.angles import angular_drift
from myoquat.joints.vectors import components, cross, matvec, vecmat
from myoquat.muscle.coordinates import Coupler, follow
from myoquat.muscle.model import Model

from .continuity import check_jumps
from .fitted import FittedMotion
from .inverse_kinematics import MotionWarning
from .structure import PoseStructure, split_couplers
from .task_coordinates import velocity_of

PROJECTION_TOLERANCE = 1e-10  # |phi| [m, rad] up to which a pose is on the constraints
ROUNDING_LEVEL = 1e-12  # of the greatest rate: residual of a change that meets the constraints
MIN_REPORTED_VIOLATION = 1e-4  # |phi| [m, rad] of a recorded motion above which a warning reports the projection


class MotionConstraints:
    """Constraints that a motion satisfies, its couplers among them, and the velocities that they leave alone."""

    def __init__(
        self, system: ArticulatedSystem, couplers: Sequence[Coupler], own: Sequence[Constraint], locked: frozenset[int]
    ) -> None:
        self.system, self.locked = system, locked
        self.couplers, driving_angles = split_couplers(system, couplers)
        self.holonomic = (*driving_angles, *(c for c in own if isinstance(c, Holonomic)))
        everything = (*own, *map(as_constraint, couplers))
        self.all = ConstraintArrays(Constraints(system, everything)) if everything else None
        self.moving = np.array([0.0 if k in locked else 1.0 for k in range(system.nu)])

    def poses(self, time: Array, q: Array) -> Array:
        """(t, nq) poses brought onto the holonomic constraints by the smallest motions that are asked for.

        Raises ValueError for poses that cannot be brought there.
        """
        if not self.holonomic:
            return q
        structure = PoseStructure(self.system, (), (), (), self.couplers, self.locked, (), self.holonomic)
        q = structure.bring(structure.allowed(q), time)
        off = self._violation(time, q)
        if not (off <= PROJECTION_TOLERANCE).all():
            row = int(np.argmax(~(off <= PROJECTION_TOLERANCE)))
            raise ValueError(
                f"frame {row} (time {time[row]:g} s) cannot be brought onto the constraints of the model: they stay "
                f"off by {off[row]:.3g}. Fit the motion with them (inverse_kinematics), or take the model without them"
            )
        return q

    def _violation(self, time: Array, q: Array) -> Array:
        """(t,) the greatest |phi| of the holonomic constraints."""
        if not self.holonomic:
            return np.zeros(len(q))
        phi = ConstraintArrays(Constraints(self.system, self.holonomic))
        return np.abs(phi.position(q, time)).max(axis=-1)

    def projected(self, motion: Motion) -> Motion:
        """The motion with its poses, u and udot on the constraints and couplers."""
        q = motion.q.copy()
        follow(self.couplers, self.system, q)
        return self.with_rates(replace(motion, q=self.poses(motion.time, q)))

    def with_rates(self, motion: Motion) -> Motion:
        """The motion, whose poses are on the constraints, with u and udot that are."""
        return motion if self.all is None else with_consistent_rates(self.all, motion, [self.moving])

    def warn_if_violated(self, motion: Motion) -> None:
        """Warn with MotionWarning of a recorded motion that is off the holonomic constraints by more than 1e-4."""
        off = self._violation(motion.time, motion.q)
        if off.max(initial=0.0) > MIN_REPORTED_VIOLATION:
            row = int(np.argmax(off))
            warn_user(
                f"the motion is off the constraints of the model by up to {off[row]:.3g} (frame {row}, time "
                f"{motion.time[row]:g} s) and is moved onto them",
                MotionWarning,
            )


def with_consistent_rates(held: ConstraintArrays, motion: Motion, moving: Sequence[Array]) -> Motion:
    """The motion, whose poses are on the constraints, with A u = -phi_t and A udot = b by the smallest changes.

    Those velocities change that are 1 in the first (nu,) of `moving` with which it can be done, or else in the last.
    """
    time, q, u = motion.time, motion.q, motion.speeds
    A, udot = held.jacobian(q, time), motion.udot
    for _ in range(2):  # the second takes off the round-off of the first
        u = u - _least_change(A, held.rate(q, u, time), moving)
    if udot is not None:
        bias = held.bias(q, u, time)
        for _ in range(2):
            udot = udot - _least_change(A, matvec(A, udot) - bias, moving)
    return replace(motion, u=u, udot=udot)


def _least_change(A: Array, wanted: Array, moving: Sequence[Array]) -> Array:
    """(t, nu) x with A x = wanted (t, k)."""
    found = np.zeros((len(A), A.shape[-1]))
    size = np.abs(wanted).max(axis=-1, initial=0.0)
    open_ = np.flatnonzero(size > 0)
    for free in moving:
        if len(open_):
            found[open_] = free * least_motions(A[open_] * free, wanted[open_])
            left = np.abs(matvec(A[open_], found[open_]) - wanted[open_]).max(axis=-1)
            open_ = open_[~(left <= ROUNDING_LEVEL * size[open_])]
    return found


def constraints_of_motion(motion: Motion, model: SystemLike | None) -> MotionConstraints:
    """The constraints of a motion of a model; without one, those with which it was fitted."""
    if model is not None:
        system = system_of(model)
        rates = velocity_of(system)
        coordinates = model.coordinates if isinstance(model, Model) else ()
        locked = frozenset(rates[c.name] for c in coordinates if c.locked and c.name in rates)
        own = (*model.constraints, *modes_of(model)) if isinstance(model, Model) else ()
        own = tuple(constraint for constraint in own if not isinstance(constraint, Locked))
        return MotionConstraints(motion.system, tuple(getattr(model, "couplers", ())), own, locked)
    problem = motion.problem if isinstance(motion, FittedMotion) else None
    if problem is None:
        return MotionConstraints(motion.system, (), (), frozenset())
    return MotionConstraints(motion.system, problem.couplers, problem.constraints, problem.locked)


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
    columns = smoothed_columns(time, table.to_numpy(dtype=float), cutoff)

    def curves(names: Sequence[str]) -> list[Array]:
        """Values and derivatives (t, k) of coordinates."""
        return [x[:, table.columns.get_indexer(names)] for x in columns]

    q, u, udot = motion.q.copy(), np.zeros((len(time), system.nu)), np.zeros((len(time), system.nu))
    for i, (body, iq, iu) in enumerate(zip(system.bodies, system.q_slices, system.u_slices, strict=True)):
        names = body.names_of_coordinates
        if i not in named:
            q[:, iq], u[:, iu], udot[:, iu] = curves(names)
            continue
        ball = named[i]
        Q, omega, turned = _turned(ball, *curves(ball.angles.names))
        R = rotation_matrix(Q)
        q[:, ball.quaternion] = Q
        u[:, ball.omega] = omega if ball.in_child else matvec(R, omega)
        udot[:, ball.omega] = turned if ball.in_child else matvec(R, turned)
        if body.joint.span == "all":
            p, v, a = curves(names[:3])
            if ball.in_child:
                v = vecmat(v, R)
                a = vecmat(a, R) - cross(omega, v)
            three = slice(iu.start, iu.start + 3)
            q[:, iq.start : iq.start + 3], u[:, three], udot[:, three] = p, v, a
    return constraints.projected(Motion(system, time, q, u, udot))


def _turned(ball: BallAngles, x: Array, rate: Array, bend: Array) -> tuple[Array, Array, Array]:
    """Q (t, 4), omega and omegadot (t, 3) in the child's axes, of angles and their derivatives."""
    B = ball.angles.rate_matrix(x)
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
    """One pass of the filter over the columns of x (t, n), whose first frames are held."""
    b, a = scipy.signal.butter(FILTER_ORDER, cutoff, fs=rate)
    held, rest = x[:FILTER_ORDER], x[FILTER_ORDER:]
    state = np.stack([scipy.signal.lfiltic(b, a, column, column) for column in held[::-1].T], axis=-1)
    return np.concatenate([held, scipy.signal.lfilter(b, a, rest, axis=0, zi=state)[0]])


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
                 coordinates have no part in these changes.
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
    first, second = stencil_derivatives(time, lambda rows: system.difference(q[:, None], q[rows]))
    return Motion(system, time, q, first, second)


def stencil_derivatives(time: Array, difference: Callable[[Array], Array]) -> tuple[Array, Array]:
    """(t, n) first and second derivatives at even times (t,). difference(rows) is the curve (t, 7, n) at other rows (t,
    7), as seen from each frame."""
    n, h, width = len(time), (time[-1] - time[0]) / (len(time) - 1), STENCIL_HALF_WIDTH
    frames, offsets = np.arange(n), np.arange(-width, width + 1)
    rows = np.clip(frames, width, n - 1 - width)[:, None] + offsets
    # weights of the polynomial through the points of a stencil, as they lie from its frame
    powers = np.vander((offsets + np.arange(-width, width + 1)[:, None]).ravel(), len(offsets), increasing=True)
    weights = np.linalg.inv(powers.reshape(-1, len(offsets), len(offsets)).astype(float))
    weights, x = weights[rows[:, width] - frames + width], difference(rows)
    return np.einsum("tk,tkn->tn", weights[:, 1], x) / h, np.einsum("tk,tkn->tn", weights[:, 2], x) * 2 / h**2


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
