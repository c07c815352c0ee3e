"""`kalman_filter`: an extended Kalman filter whose states are poses on the group and velocities.

State (q, u), error (dq, du): small motions, so that a rotation has a covariance of 3 x 3 in its tangent space. Between
frames velocities are constant but for white accelerations; a correction moves the pose along the group, and the
covariance with it. Sources: R. E. Kalman, J. Basic Eng. 82, 1960; G. Bourmaud, R. Megret, A. Giremus, Y. Berthoumieu,
Discrete extended Kalman filter on Lie groups, EUSIPCO 2013; the symmetric update of P. D. Joseph.

The formulas of the filter: how a pose moves between frames, and what is seen of it, with derivatives.

Errors of a pose are small motions (nu,) from it, three numbers for each quaternion. The covariance of a rotation is one
of its tangent space, where it is not singular and |Q| = 1 needs no constraint.
"""

from collections.abc import Hashable, Sequence
from dataclasses import field, fields
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.motion.inverse_kinematics import inverse_kinematics
from myoquat.analysis.motion.problem import PoseProblem, Sensor, rotation_vector
from myoquat.core.arguments import check_types, indices_of
from myoquat.core.content import content_key
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Markers, Motion, Orientations
from myoquat.dynamics.constraints import Constraint, Constraints, constraints_of
from myoquat.joints import frames
from myoquat.joints.constraints import Holonomic
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import (
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.model import Model

__all__ = ["FilterNoise", "FilteredMotion", "Measurements", "kalman_filter", "transition"]

UNCERTAIN_SHARE = 1e-9  # of the greatest variance, below which a direction is known and has no error to judge


def _empty() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, repr=False)
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
        assert self.u is not None
        true_q, true_u = self.system.check_q(q), self.system.check_u(u)
        error = np.concatenate([self.system.difference(self.q, true_q), true_u - self.u], axis=-1)
        variances, axes = np.linalg.eigh(self.covariance)
        known = variances <= UNCERTAIN_SHARE * variances[:, -1:]
        along = np.einsum("tij,ti->tj", axes, error)
        squares = np.where(known, 0.0, along**2 / np.where(known, 1.0, variances))
        return squares.sum(axis=-1), (~known).sum(axis=-1)


def transition(system: ArticulatedSystem) -> Kernel:
    """The kernel of (q, v) -> the pose q' after unit time at constant v (nu,), and its two derivatives.

    They are (nu, nu) each: small motions of q' by a small motion of q, and by a change of v.
    """
    return kernel_for(("pose transition", system.content_key), lambda content: _transition(system, content))


def _transition(system: ArticulatedSystem, content: str | None) -> Kernel:
    layout, nu = system.layout, system.nu

    def formula(q: Array, v: Array) -> tuple[Array, Array, Array]:
        after = state.integrate(layout, q, v)

        def change(d: Array) -> Array:
            return state.integrate(layout, state.displaced(layout, q, d[..., :nu]), v + d[..., nu:])

        D = state.rate_inverse(layout, after) @ jacobian_at(change, np.zeros(2 * nu), like=q)
        return after, D[..., :nu], D[..., nu:]

    sizes = {"q": system.nq, "v": nu}
    return kernels.compile(formula, sizes, ["after", "by_pose", "by_motion"], name="pose_transition", content=content)


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is seen of a state: markers and sensors of a problem, and constraints, which are zero."""

    problem: PoseProblem
    constraints: tuple[Constraint, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal for equal formulas."""
        return ("filter measurements", self.problem.key, content_key(self.constraints))

    @property
    def kernel(self) -> Kernel:
        """The kernel of (t, q, u, positions (n, 3), rotations (s, 4)) -> residuals (m,) and derivatives.

        Residuals are measured less predicted values. The derivatives are those of the prediction by a small motion and
        by u, (m, nu) each. Rows are markers [m], sensors [rad], constraints and their rates.
        """
        return kernel_for(self.key, self._kernel)

    def _kernel(self, content: str | None) -> Kernel:
        problem, system = self.problem, self.problem.system
        sizes: dict[str, Any] = {"t": (), "q": system.nq, "u": system.nu}
        sizes |= {"positions": (len(problem.markers), 3), "rotations": (len(problem.sensors), 4)}
        names = ["residuals", "by_pose", "by_velocity"]
        return kernels.compile(self._formula, sizes, names, name="filter_measurements", content=content)

    def _formula(self, t: Array, q: Array, u: Array, positions: Array, rotations: Array) -> tuple[Array, Array, Array]:
        nu = self.problem.system.nu
        parts = [*self._markers(q, positions), *self._sensors(q, rotations)]
        rest = [(r, H, np.zeros((*H.shape[:-1], nu))) for r, H in parts] + self._constrained(t, q, u)
        r, H, K = zip(*rest, strict=True)
        return np.concatenate(r, axis=-1), np.concatenate(H, axis=-2), np.concatenate(K, axis=-2)

    def _markers(self, q: Array, positions: Array) -> list[tuple[Array, Array]]:
        system, found = self.problem.system, []
        for k, marker in enumerate(self.problem.markers):
            point = np.array(marker.position)
            _, x = frames.pose(system, q, marker.body, point)
            found.append((positions[..., k, :] - x, frames.jacobian(system, q, marker.body, point)[..., :3, :]))
        return found

    def _sensors(self, q: Array, rotations: Array) -> list[tuple[Array, Array]]:
        """theta = log(R^T R_seen R_sensor^T): a small motion delta of the body makes it log(exp(-delta) exp(theta))."""
        system, found = self.problem.system, []
        for k, sensor in enumerate(self.problem.sensors):
            R, _ = frames.pose(system, q, sensor.body, np.zeros(3))
            back = np.swapaxes(R, -1, -2)
            mount = rotation_matrix(np.array(sensor.orientation))
            theta = rotation_vector(back @ rotation_matrix(rotations[..., k, :]) @ mount.T)
            error = quaternion_exp(theta)

            def turned(delta: Array, error: Array = error) -> Array:
                return quaternion_log(quaternion_multiply(quaternion_exp(-delta), error))

            slope = jacobian_at(turned, np.zeros(3), like=q)
            J = back @ frames.jacobian(system, q, sensor.body, np.zeros(3))[..., 3:, :]
            found.append((theta, -slope @ J))
        return found

    def _constrained(self, t: Array, q: Array, u: Array) -> list[tuple[Array, Array, Array]]:
        if not self.constraints:
            return []
        system, nu = self.problem.system, self.problem.system.nu
        held = Constraints(system, self.constraints)
        A = held.jacobian(q, t)
        by_pose = jacobian_at(lambda d: held.rate(system.displaced(q, d), u, t), np.zeros(nu), like=q)
        H = held.position_jacobian(q, t)
        return [(-held.position(q, t), H, np.zeros(H.shape)), (-held.rate(q, u, t), by_pose, A)]


Data = Markers | Orientations | tuple[Markers, Orientations]


@dataclass(frozen=True)
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

    marker: float = 0.005
    sensor: float = 0.03
    angular_acceleration: float = 10.0
    linear_acceleration: float = 3.0
    start_pose: float = 0.1
    start_velocity: float = 3.0
    constraint: float = 1e-5

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not (isinstance(value, (int, float)) and 0 < value < np.inf):
                raise ValueError(f"{part.name} must be positive and finite, not {value!r}")


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
    own = noise or FilterNoise()
    parts: dict[type, Any] = {type(part): part for part in (data if isinstance(data, tuple) else (data,))}
    time = next(iter(parts.values())).time
    if not len(time):
        raise ValueError("the recording has no frames")
    first = [part.between(float(time[0]), float(time[0])) for part in parts.values()]
    shown: Any = first[0] if len(first) == 1 else tuple(first)
    u = np.zeros(model.system.nu) if start_velocity is None else model.system.check_u(start_velocity, "start_velocity")
    fit = inverse_kinematics(model, shown, sensors=sensors, start=start)
    assert fit.problem is not None
    q = fit.q[0] if start is None else model.system.check_q(start)
    estimator = _Filter.of(model, fit.problem, own)
    return estimator.run(time, _Seen.of(fit.problem, parts, len(time)), (np.asarray(q), np.asarray(u)))


@dataclass(frozen=True)
class _Seen:
    """positions (t, n, 3) and rotations (t, s, 4) of the markers and sensors of a problem."""

    positions: Array
    rotations: Array

    @classmethod
    def of(cls, problem: PoseProblem, parts: dict[type, Any], frames: int) -> "_Seen":
        positions, rotations = np.zeros((frames, 0, 3)), np.zeros((frames, 0, 4))
        if problem.markers:
            given = parts[Markers]
            names = [marker.name for marker in problem.markers]
            positions = given.positions[:, indices_of("marker", names, given.names)]
        if problem.sensors:
            given = parts[Orientations]
            names = [sensor.name for sensor in problem.sensors]
            rotations = given.quaternions[:, indices_of("sensor", names, given.names)]
        return cls(positions, rotations)


@dataclass(frozen=True)
class _Filter:
    """The kernels and the noise.

    free       (nu,) marks velocities that are not locked
    density    (nu,) of the white accelerations of velocities
    variances  (m,) of the measured rows
    """

    model: Model
    noise: FilterNoise
    move: Kernel
    see: Kernel
    free: Array
    density: Array
    variances: Array

    @classmethod
    def of(cls, model: Model, problem: PoseProblem, noise: FilterNoise) -> "_Filter":
        system = model.system
        constraints = tuple(c for c in constraints_of(model) if isinstance(c, Holonomic))
        measurements = Measurements(problem, constraints)
        free = np.array([k not in problem.locked for k in range(system.nu)])
        units = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
        density = np.where([unit != "m/s" for unit in units], noise.angular_acceleration, noise.linear_acceleration)
        kernel = measurements.kernel
        counts = (3 * len(problem.markers), 3 * len(problem.sensors))
        rest = kernel.outputs["residuals"][0] - sum(counts)
        deviations = (noise.marker,) * counts[0] + (noise.sensor,) * counts[1] + (noise.constraint,) * rest
        return cls(model, noise, transition(system), kernel, free, (density * free) ** 2, np.array(deviations) ** 2)

    def run(self, time: Array, seen: _Seen, state: tuple[Array, Array]) -> FilteredMotion:
        """Every frame from the one before."""
        (q, u), nu = state, self.model.system.nu
        start = np.where(self.free, self.noise.start_pose, 0.0), np.where(self.free, self.noise.start_velocity, 0.0)
        P = np.diag(np.concatenate(start) ** 2)
        rows = []
        for frame, t in enumerate(time):
            if frame:
                q, P = self._predicted(q, u, P, float(t - time[frame - 1]))
            found = self.see(t, q, u, seen.positions[frame], seen.rotations[frame])
            correction, P, innovation = self._corrected(P, *found)
            q, _, G = self.move(q, correction[:nu])
            u, P = u + correction[nu:], _transported(P, G)
            rows.append((q, u, P, *innovation))
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return FilteredMotion(self.model.system, time, columns[0], columns[1], None, *columns[2:])

    def _predicted(self, q: Array, u: Array, P: Array, h: float) -> tuple[Array, Array]:
        """The pose after h, and F P F^T + Q: white accelerations make velocities and poses uncertain together."""
        nu = len(u)
        after, by_pose, by_motion = self.move(q, h * u)
        F = np.eye(2 * nu)
        F[:nu, :nu], F[:nu, nu:] = by_pose, h * by_motion
        P = F @ P @ F.T
        k, d = np.arange(nu), self.density
        P[k, k] += d * h**3 / 3
        P[k, nu + k] += d * h**2 / 2
        P[nu + k, k] += d * h**2 / 2
        P[nu + k, nu + k] += d * h
        return after, P

    def _corrected(
        self, P: Array, residuals: Array, by_pose: Array, by_velocity: Array
    ) -> tuple[Array, Array, tuple[float, int]]:
        """The correction (2 nu,), the covariance after it, and r^T S^-1 r with its expectation."""
        known = ~np.isnan(residuals)
        if not known.any():
            return np.zeros(len(P)), P, (0.0, 0)
        r, R = residuals[known], self.variances[known]
        H = np.concatenate([by_pose[known], by_velocity[known]], axis=-1)
        PH = P @ H.T
        factor = scipy.linalg.cho_factor(H @ PH + np.diag(R))
        K = scipy.linalg.cho_solve(factor, PH.T).T
        keep = np.eye(len(P)) - K @ H
        after = keep @ P @ keep.T + (K * R) @ K.T
        return K @ r, after, (float(r @ scipy.linalg.cho_solve(factor, r)), len(r))


def _transported(P: Array, G: Array) -> Array:
    """The covariance in the tangent space of the corrected pose, in which a small motion is G times one before."""
    nu = len(G)
    above = G @ P[:nu, nu:]
    corner = np.concatenate([G @ P[:nu, :nu] @ G.T, above], axis=-1)
    found: Array = np.concatenate([corner, np.concatenate([above.T, P[nu:, nu:]], axis=-1)])
    return (found + found.T) / 2
