"""The result of a Kalman filter: a motion with covariances, and how consistent they are."""

from dataclasses import field

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Motion

__all__ = ["FilteredMotion"]

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
        found: Array = np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=-2, axis2=-1)[:, :nu], 0.0))
        return found

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
