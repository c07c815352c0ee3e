"""`kalman_filter`: an extended Kalman filter whose states are poses on the group and velocities.

State (q, u), error (dq, du): small motions, so that a rotation has a covariance of 3 x 3 in its tangent space. Between
frames velocities are constant but for white accelerations; a correction moves the pose along the group, and the
covariance with it. Sources: R. E. Kalman, J. Basic Eng. 82, 1960; G. Bourmaud, R. Megret, A. Giremus, Y. Berthoumieu,
Discrete extended Kalman filter on Lie groups, EUSIPCO 2013; the symmetric update of P. D. Joseph.

The formulas of the filter: how a pose moves between frames, and what is seen of it, with derivatives.

Errors of a pose are small motions (nu,) from it, three numbers for each quaternion. The covariance of a rotation is one
of its tangent space, where it is not singular and |Q| = 1 needs no constraint.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, content_key, frozen, indices_of, scipy
from myoquat.data.motions import Markers, Motion, Orientations
from myoquat.dynamics.constraints import Constraint, Constraints, constraints_of
from myoquat.joints.constraints import Holonomic
from myoquat.joints.evaluation import compiled
from myoquat.joints.motion import kinematics, world_poses
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.joints.vectors import joined, vecmat
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.model import Model

from .inverse_kinematics import inverse_kinematics
from .problem import PoseProblem
from .structure import Data as FrameData, Sensor

UNCERTAIN_SHARE = 1e-9  # of the greatest variance, below which a direction is known and has no error to judge


def _empty() -> Array:
    return np.zeros(0)


@frozen(eq=False, repr=False)
class FilteredMotion(Motion):
    """A motion q (t, nq), u (t, nu) with the covariance of its errors.

    covariance          (t, 2 nu, 2 nu) of small motions, then velocities
    squared_innovation  (t,) r^T S^-1 r of the residual r between each frame's measurement and its prediction
    degrees             (t,) its expectation where model and noise are right: the number of measured components

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1.0, 0.0, 0.0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> time = np.linspace(0.0, 1.0, 101)
    >>> seen = np.stack([np.cos(time), np.sin(time), 0 * time], axis=-1)[:, None]
    >>> found = mo.kalman_filter(model, mo.Markers(time, ("hand",), seen), noise=mo.FilterNoise(marker=1e-3))
    >>> bool(abs(found.u[-1, 0] - 1) < 0.05), found.covariance.shape
    (True, (101, 2, 2))
    """

    covariance: Array = field(default_factory=_empty)
    squared_innovation: Array = field(default_factory=_empty)
    degrees: Array = field(default_factory=_empty)

    def deviation(self) -> Array:
        """(t, nu) standard deviation of small motions [rad or m]."""
        nu = self.system.nu
        return np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=-2, axis2=-1)[:, :nu], 0.0))

    def squared_error(self, q: ArrayLike, u: ArrayLike) -> tuple[Array, Array]:
        """(t,) e^T P^-1 e of the errors e against a true motion q (t, nq), u (t, nu), and (t,) its expectation.

        The expectation is the number of directions that the filter does not know exactly. A filter whose covariance P
        is right has a mean ratio of 1 [Y. Bar-Shalom, X. R. Li, T. Kirubarajan, Estimation with Applications to
        Tracking and Navigation, Wiley 2001, section 5.4].
        """
        true_q, true_u = self.system.check_q(q), self.system.check_u(u)
        error = joined([self.system.difference(self.q, true_q), true_u - self.u])
        variances, axes = np.linalg.eigh(self.covariance)
        known = variances <= UNCERTAIN_SHARE * variances[:, -1:]
        along = vecmat(error, axes)
        squares = np.where(known, 0.0, along**2 / np.where(known, 1.0, variances))
        return squares.sum(axis=-1), (~known).sum(axis=-1)


def transition(system: ArticulatedSystem) -> Kernel:
    """The kernel of (q, v) -> the pose q' after unit time at constant v (nu,), and its two derivatives.

    They are (nu, nu) each: small motions of q' by a small motion of q, and by a change of v.
    """
    layout, nu = system, system.nu

    def formula(q: Array, v: Array) -> tuple[Array, Array, Array]:
        after = state.integrate(layout, q, v)

        def change(d: Array) -> Array:
            return state.integrate(layout, state.displaced(layout, q, d[..., :nu]), v + d[..., nu:])

        D = state.rate_inverse(layout, after) @ jacobian_at(change, np.zeros(2 * nu), like=q)
        return after, D[..., :nu], D[..., nu:]

    outputs = ["after", "by_pose", "by_motion"]
    return compiled(("pose_transition", system.content_key), formula, {"q": system.nq, "v": nu}, outputs)


def measurement(problem: PoseProblem, constraints: tuple[Constraint, ...] = ()) -> Kernel:
    """The kernel of (t, q, u, positions (n, 3), rotations (s, 4)) -> residuals (m,) and derivatives.

    Residuals are measured less predicted values. The derivatives are those of the prediction by a small motion and by
    u, (m, nu) each. Rows are markers [m] and sensors [rad] of the problem, constraints, which are zero, and their
    rates.
    """
    system = problem.system

    def formula(t: Array, q: Array, u: Array, positions: Array, rotations: Array) -> tuple[Array, Array, Array]:
        nothing, held = np.zeros(()), Constraints(system, constraints)
        seen = FrameData(positions, nothing, rotations, nothing, nothing, nothing, nothing, t)

        def residuals(d: Array) -> Array:
            at = state.displaced(system, q, d)
            poses = world_poses(system.tree, kinematics(system.tree, at))
            rest = [-held.position(at, t), -held.rate(at, u, t)] if constraints else []
            return joined([*problem.marker_residuals(poses, seen), *problem.sensor_residuals(poses, seen), *rest])

        r = residuals(0.0 * u)
        by_pose = -jacobian_at(residuals, np.zeros(system.nu), like=q)
        K = held.jacobian(q, t) if constraints else np.zeros((0, system.nu))
        return r, by_pose, np.concatenate([np.zeros((r.shape[-1] - K.shape[-2], system.nu)), K], axis=-2)

    sizes: dict[str, Any] = {"t": (), "q": system.nq, "u": system.nu}
    sizes |= {"positions": (len(problem.markers), 3), "rotations": (len(problem.sensors), 4)}
    key = "filter_measurements", problem.key, content_key(constraints)
    return compiled(key, formula, sizes, ["residuals", "by_pose", "by_velocity"])


Data = Markers | Orientations | tuple[Markers, Orientations]


@frozen
class FilterNoise:
    """Standard deviations of what is measured, and how fast velocities change.

    marker [m] and sensor [rad]  of each component of a marker's position and of a sensor's rotation vector.
    angular_acceleration [rad/s^1.5], linear_acceleration [m/s^1.5]  square roots of the spectral densities of white
                                 accelerations: a velocity changes by this times the square root of the time.
    start_pose [rad or m], start_velocity [rad/s or m/s]  of the first state.
    constraint [rad or m]        of constraints and couplers, and of their rates.

    Raises ValueError for a number that is not positive and finite.

    >>> from myoquat.analysis.motion import FilterNoise
    >>> FilterNoise(marker=0.002).sensor
    0.03
    """

    marker: Positive = 0.005
    sensor: Positive = 0.03
    angular_acceleration: Positive = 10.0
    linear_acceleration: Positive = 3.0
    start_pose: Positive = 0.1
    start_velocity: Positive = 3.0
    constraint: Positive = 1e-5

    def __post_init__(self) -> None:
        check_ranges(self, None)


def kalman_filter(
    model: Model, data: Data, *, sensors: Sequence[Sensor] = (), noise: FilterNoise | None = None,
    start: ArrayLike | None = None, start_velocity: ArrayLike | None = None,
) -> FilteredMotion:  # fmt: skip
    """The motion of a model that markers and sensors show, frame after frame, with velocities and covariances.

    data            markers, sensor orientations, or both at the same times; what is missing (NaN) is left out.
    sensors         where the sensors are on their bodies, as `calibrate_orientations` finds it.
    noise           `FilterNoise`.
    start           (nq,) pose before the first frame; that of `inverse_kinematics` of the first frame if None.
    start_velocity  (nu,) velocities there, zero if None.

    Each frame uses what was seen until then, so that the filter can run while a recording goes on. Locked coordinates
    keep their value. Couplers and constraints hold to `noise.constraint`. Ranges of coordinates do not act. Raises
    ValueError as `inverse_kinematics` does, and for a recording without frames.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)))
    >>> time = np.linspace(0.0, 1.0, 101)
    >>> turning = np.stack([np.cos(time / 2), 0 * time, 0 * time, np.sin(time / 2)], axis=-1)  # 1 rad/s about z
    >>> seen = mo.Orientations(time, ("ball_imu",), turning[:, None])
    >>> sensor = mo.Sensor("ball_imu", "ball", (1.0, 0.0, 0.0, 0.0))
    >>> mo.kalman_filter(model, seen, sensors=[sensor]).u[-1].round(1) + 0.0
    array([0., 0., 1.])
    """
    check_types(model=(model, Model), data=(data, (Markers, Orientations, tuple)))
    noise, system, nu = noise or FilterNoise(), model.system, model.system.nu
    parts: tuple[Any, ...] = data if isinstance(data, tuple) else (data,)
    time = parts[0].time
    if not len(time):
        raise ValueError("the recording has no frames")
    first = [part.between(float(time[0]), float(time[0])) for part in parts]
    u = np.zeros(nu) if start_velocity is None else system.check_u(start_velocity, "start_velocity")
    fit = inverse_kinematics(model, first[0] if len(first) == 1 else tuple(first), sensors=sensors, start=start)
    assert fit.problem is not None
    q = fit.q[0] if start is None else system.check_q(start)
    problem, positions, rotations = fit.problem, np.zeros((len(time), 0, 3)), np.zeros((len(time), 0, 4))
    for part in parts:
        if isinstance(part, Markers) and problem.markers:
            positions = part.positions[:, indices_of("marker", [m.name for m in problem.markers], part.names)]
        if isinstance(part, Orientations) and problem.sensors:
            rotations = part.quaternions[:, indices_of("sensor", [s.name for s in problem.sensors], part.names)]
    # free velocities, spectral densities of their accelerations, and variances of the measured rows
    free = np.array([k not in problem.locked for k in range(nu)])
    units = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
    slides = np.array([unit == "m/s" for unit in units])
    density = (np.where(slides, noise.linear_acceleration, noise.angular_acceleration) * free) ** 2
    move = transition(system)
    see = measurement(problem, tuple(c for c in constraints_of(model) if isinstance(c, Holonomic)))
    counts = [3 * len(problem.markers), 3 * len(problem.sensors)]
    counts.append(see.outputs["residuals"][0] - sum(counts))
    variances = np.repeat([noise.marker, noise.sensor, noise.constraint], counts) ** 2
    P = np.diag(np.concatenate([noise.start_pose * free, noise.start_velocity * free]) ** 2)
    rows = []
    for frame, t in enumerate(time):
        if frame:
            q, P = _predicted(move, q, u, P, float(t - time[frame - 1]), density)
        residuals, by_pose, by_velocity = see(t, q, u, positions[frame], rotations[frame])
        correction, P, innovation = _corrected(P, residuals, by_pose, by_velocity, variances)
        q, _, G = move(q, correction[:nu])
        u, P = u + correction[nu:], _transported(P, G)
        rows.append((q, u, P, *innovation))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return FilteredMotion(system, time, columns[0], columns[1], None, *columns[2:])


def _predicted(move: Kernel, q: Array, u: Array, P: Array, h: float, density: Array) -> tuple[Array, Array]:
    """The pose after h, and F P F^T + Q: white accelerations make velocities and poses uncertain together."""
    nu = len(u)
    after, by_pose, by_motion = move(q, h * u)
    F = np.block([[by_pose, h * by_motion], [np.zeros((nu, nu)), np.eye(nu)]])
    Q = np.kron([[h**3 / 3, h**2 / 2], [h**2 / 2, h]], np.diag(density))
    return after, F @ P @ F.T + Q


def _corrected(
    P: Array, residuals: Array, by_pose: Array, by_velocity: Array, variances: Array
) -> tuple[Array, Array, tuple[float, int]]:
    """The correction (2 nu,), the covariance after it, and r^T S^-1 r with its expectation."""
    known = ~np.isnan(residuals)
    if not known.any():
        return np.zeros(len(P)), P, (0.0, 0)
    r, R = residuals[known], variances[known]
    H = joined([by_pose[known], by_velocity[known]])
    PH = P @ H.T
    factor = scipy.linalg.cho_factor(H @ PH + np.diag(R))
    K = scipy.linalg.cho_solve(factor, PH.T).T
    keep = np.eye(len(P)) - K @ H
    after = keep @ P @ keep.T + (K * R) @ K.T
    return K @ r, after, (float(r @ scipy.linalg.cho_solve(factor, r)), len(r))


def _transported(P: Array, G: Array) -> Array:
    """The covariance in the tangent space of the corrected pose, in which a small motion is G times one before."""
    nu = len(G)
    whole = np.block([[G, np.zeros((nu, nu))], [np.zeros((nu, nu)), np.eye(nu)]])
    found = whole @ P @ whole.T
    return (found + found.T) / 2
