"""The result of inverse kinematics: a motion, and how well it fits."""

from dataclasses import field

import numpy as np

from myoquat.core import Array, Solved, frozen, pandas as pd, time_table
from myoquat.data.motions import Motion

from .problem import PoseProblem

MAX_SAMPLED_FRAMES = 200  # frames from which the sampling is judged


def _empty() -> Array:
    return np.zeros((0, 0))


@frozen(eq=False, repr=False)
class FittedMotion(Motion, Solved):
    """A motion with its residuals.

    marker_error      (t, n) [m] distances to the measured markers, NaN without a measurement
    sensor_error      (t, s) [rad] angles to the measured sensors, NaN without a measurement
    task_error        (t, c) [rad or m] deviations from wanted coordinates
    cost              (t,) the minimised sum
    constraint_error  (t,) the greatest |phi| of the constraints [m, rad]
    converged         (t,) True if a further step moves no coordinate by more than 1e-8
    empty             (t,) marks frames without data, whose pose is that of a neighbouring frame

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1.0, 0.0, 0.0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> seen = np.stack([np.cos(time), np.sin(time), 0 * time], axis=-1)[:, None]
    >>> fit = mo.inverse_kinematics(model, mo.Markers(time, ("hand",), seen))
    >>> fit.marker_names, bool(fit.converged.all()), bool(fit.marker_error.max() < 1e-9)
    (('hand',), True, True)
    """

    problem: PoseProblem | None = None
    data: Array = field(default_factory=_empty)
    marker_error: Array = field(default_factory=_empty)
    sensor_error: Array = field(default_factory=_empty)
    task_error: Array = field(default_factory=_empty)
    cost: Array = field(default_factory=_empty)
    constraint_error: Array = field(default_factory=_empty)
    converged: Array = field(default_factory=_empty)
    empty: Array = field(default_factory=_empty)

    def __repr__(self) -> str:
        worst = f"{np.nanmax(self.marker_rms) * 1e3:.3g} mm RMS at most" if self.marker_error.size else "no markers"
        rest = int((~self.converged & ~self.empty).sum())
        return f"<FittedMotion {len(self.time)} frames, {worst}, {rest} not converged, {int(self.empty.sum())} empty>"

    @property
    def success(self) -> bool:
        """Whether all frames with data converged."""
        return bool((self.converged | self.empty).all())

    @property
    def marker_names(self) -> tuple[str, ...]:
        """The markers that were fitted."""
        return tuple(marker.name for marker in self._fitted.markers)

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """The sensors that were fitted."""
        return tuple(sensor.name for sensor in self._fitted.sensors)

    @property
    def marker_rms(self) -> Array:
        """(t,) root mean square of the distances of the markers seen in each frame [m], without weights; NaN without
        any."""
        squares = pd.DataFrame(self.marker_error**2)  # whose mean leaves out NaN
        return np.sqrt(squares.mean(axis=1).to_numpy(dtype=float))

    def undetermined(self) -> tuple[str, ...]:
        """Velocities on which nothing that was seen in any frame depends: their coordinates keep their start."""
        problem = self._fitted
        frames = len(self.time)
        rows = np.unique(np.linspace(0, frames - 1, min(MAX_SAMPLED_FRAMES, frames), dtype=int))
        q, data = self.q[rows], self.data[rows]
        free = (self.system.velocity_names[k] for k in problem.free)
        return tuple(name for name, known in zip(free, problem.determined(q, data), strict=True) if not known)

    def errors(self) -> "pd.DataFrame":
        """A column per marker [m] and sensor [rad] and a row per frame, over the index time [s]."""
        table = np.concatenate([self.marker_error, self.sensor_error], axis=-1)
        return time_table(self.time, table, [*self.marker_names, *self.sensor_names])

    def covariance(self, marker_noise: float, sensor_noise: float = 0.0) -> tuple[tuple[str, ...], Array]:
        """(names (n,), C (t, n, n)): covariance of the free velocities over unit time, to first order in the noise.

        The errors are independent, with standard deviations marker_noise [m] in each direction and sensor_noise [rad]
        about each axis. With S their variances, C = N^-1 (J^T W S W J) N^-1 and N = J^T W J. C of a ball joint is that
        of its rotation vector in its velocity frame. N and J are those along the constraints of the model. Directions
        that the data leave open have no entry: N^-1 is the pseudo-inverse, with a relative tolerance of 1e-9.
        """
        problem = self._fitted
        noisy = self.data.copy()
        given = problem.unpacked(noisy)  # views
        given.position_weights[:] = (given.position_weights * marker_noise) ** 2
        given.rotation_weights[:] = (given.rotation_weights * sensor_noise) ** 2
        given.value_weights[:] = 0.0
        (along, N), (_, M) = (problem.along(self.q, rows) for rows in (self.data, noisy))
        inverse = np.linalg.pinv(along @ N @ along, rcond=1e-9, hermitian=True)
        names = tuple(self.system.velocity_names[k] for k in problem.free)
        return names, inverse @ M @ inverse

    @property
    def _fitted(self) -> PoseProblem:
        if self.problem is None:
            raise ValueError("this motion was not fitted to anything")
        return self.problem
