"""Muscles in the size of a person: strengths, optimal and slack lengths under which measured activations give the
torques of recorded trials.

minimise sum ((torque - needed) / torque_error)^2 + sum (log factor / prior)^2 within bounds. These are the most
probable factors if torques have independent normal errors and factors are log-normal about 1 [after D. G. Lloyd, T. F.
Besier, An EMG-driven musculoskeletal model to estimate muscle forces and knee joint moments in vivo, J. Biomech. 36,
2003]. The force of a muscle depends on its own factors alone, so that a column of the Jacobian costs one muscle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy.equations import least_activations
from myoquat.core import Array, ArrayLike, Solved, check_types, frozen, indices_of, pandas as pd, real_array, scipy
from myoquat.data.motions import Forces, Motion
from myoquat.joints.vectors import matvec, vecmat, vector
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.model import Model, check_laws

FACTORS = {"strength": "max_isometric_force", "optimal_length": "optimal_fiber_length",
         "slack_length": "tendon_slack_length"}  # fmt: skip
BOUNDS = {"strength": (0.5, 2.0), "optimal_length": (0.85, 1.15), "slack_length": (0.85, 1.15)}
DIFFERENCE_STEP = 1e-6  # of the logarithm of a factor
INNER_EVALUATIONS = 100  # of the search inside the bounds, before the one along them
BOUND_EVALUATIONS = 500  # of the search along the bounds
BOUND_TOLERANCE = 1e-3  # of the range of logarithms: factors that close to a bound are at it


@frozen(eq=False)
class CalibrationTrial:
    """A motion (q, u, udot) with the activations (t, m) of all muscles, in the model's order, and its external loads.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import CalibrationTrial
    >>> from myoquat.data import Motion
    >>> sled = mq.ArticulatedSystem((mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0),))
    >>> still = [[0.0]] * 2
    >>> CalibrationTrial(Motion(sled, [0.0, 0.1], still, still, still), [[]] * 2).loads is None
    True
    """

    motion: Motion
    activation: ArrayLike
    loads: Forces | None = None


@frozen(eq=False)
class Calibration(Solved):
    """Result of `calibrate_muscles`.

    model       with the calibrated numbers
    factors     a table of muscles by "strength", "optimal_length" and "slack_length", NaN where a law has no such
                number
    deviations  standard deviations of the logarithms of the factors, to first order
    errors      per velocity the root mean squares [N m, N] of the needed torques, and of torque - needed before and
                after
    bounds      of the factors
    converged   whether no further step would help

    >>> from myoquat.analysis.recruitment import Calibration
    >>> Calibration.__dataclass_fields__.keys() >= {"model", "factors", "errors"}  # see calibrate_muscles
    True
    """

    model: Model
    factors: "pd.DataFrame"
    deviations: "pd.DataFrame"
    errors: "pd.DataFrame"
    bounds: Mapping[str, tuple[float, float]]
    converged: bool

    def __repr__(self) -> str:
        before, after = (float(np.sqrt(np.mean(self.errors[c] ** 2))) for c in ("before", "after"))
        end = "" if self.converged else ", not converged"
        return f"<Calibration {len(self.factors)} muscles, RMS error {before:.3g} before, {after:.3g} after{end}>"

    @property
    def success(self) -> bool:
        """Whether the search converged."""
        return self.converged

    def at_bounds(self) -> list[tuple[str, str]]:
        """(muscle, quantity) of the factors at a bound: there the optimum may be outside the bounds."""
        found = []
        for quantity, (low, high) in self.bounds.items():
            near = BOUND_TOLERANCE * np.log(high / low)
            for muscle, factor in self.factors[quantity].dropna().items():
                if not np.log(low) + near < np.log(factor) < np.log(high) - near:
                    found.append((str(muscle), quantity))
        return found


def calibrate_muscles(
    model: Model,
    trials: Sequence[CalibrationTrial],
    *,
    velocities: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    prior: float | Mapping[str, float] = 0.1,
    torque_error: float = 1.0,
) -> Calibration:
    """Factors on strengths, optimal fiber lengths and tendon slack lengths of all muscles from trials.

    velocities    free velocities whose torques are compared; all by default. They should be moved by the measured
                  muscles only.
    bounds        of the factors by quantity, (0.5, 2) for "strength" and (0.85, 1.15) for "optimal_length" and
                  "slack_length" by default; (1, 1) keeps a quantity.
    prior         standard deviation of the logarithm of a factor, one for all, or by quantity (0.1 for others).
    torque_error  standard deviation [N m, N] of the errors of torques.

    Elastic tendons count as rigid. Factors that the trials do not determine stay at 1; `Calibration.deviations` says
    how well a factor is known. Raises ValueError as `inverse_dynamics_of_motion` does, and for no trials, activations
    of another shape or outside [0, 1], and velocities that are not free in every trial. It is raised too for bounds
    that do not hold 1 or have an unknown quantity, and for sizes that are not positive. Raises ModelError for muscles
    without a law.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import CalibrationTrial, calibrate_muscles
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import CubicExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, CubicExponentialMuscle(0.5, 100.0)),))
    >>> held = Motion(model, [0.0, 0.1], [[0.0]] * 2, [[0.0]] * 2, [[0.0]] * 2)  # needs 9.81 N m
    >>> found = calibrate_muscles(model, [CalibrationTrial(held, [[0.3]] * 2)], prior=1.0, torque_error=0.01)
    >>> round(float(found.factors.strength["biceps"]), 2)
    1.33
    """
    check_types(model=(model, Model), trials=(trials, (list, tuple)))
    limits = _limits(bounds)
    sigma = _deviations(prior, torque_error)
    if not trials:
        raise ValueError("at least one trial is needed")
    check_laws(model)
    rigid = model.with_rigid_tendons()
    records = [_record(rigid, trial, velocities) for trial in trials]
    problem = _Problem(rigid, records, limits, sigma, torque_error)
    found = problem.solved()
    covariance = np.linalg.inv(found.jac.T @ found.jac)
    return Calibration(
        model=with_factors(model, np.exp(problem.table(found.x))),
        factors=problem.labelled(np.exp(found.x)),
        deviations=problem.labelled(np.sqrt(np.diag(covariance))),
        errors=problem.errors(found.x),
        bounds=limits,
        converged=bool(found.success),
    )


def _deviations(prior: float | Mapping[str, float], torque_error: float) -> dict[str, float]:
    """Standard deviations of the logarithms by quantity."""
    sigma = {quantity: prior if isinstance(prior, (int, float)) else prior.get(quantity, 0.1) for quantity in FACTORS}
    sizes = {f"prior of {quantity!r}": s for quantity, s in sigma.items()} | {"torque_error": torque_error}
    for name, value in sizes.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive, not {value}")
    return sigma


class _Record(NamedTuple):
    """Velocities by name, lengths and speeds (t, m) of paths, torques (t, e, m) of unit tensions, activations (t, m),
    and the torques (t, e) that the motion needs."""

    names: tuple[str, ...]
    lengths: Array
    speeds: Array
    arms: Array
    activation: Array
    needed: Array


def _limits(given: Mapping[str, tuple[float, float]] | None) -> dict[str, tuple[float, float]]:
    given = given or {}
    indices_of("factor", list(given), list(FACTORS))
    limits = {**BOUNDS, **given}
    for quantity, (low, high) in limits.items():
        if not 0 < low <= 1 <= high < np.inf:
            raise ValueError(f"the bounds of {quantity!r} must be positive and hold 1, not {low} and {high}")
    return limits


def _record(model: Model, trial: CalibrationTrial, velocities: Sequence[str] | None) -> _Record:
    motion, shape = trial.motion, (len(trial.motion.time), len(model.muscles))
    model = motion.check_system(model)
    activation = real_array("activation of a trial", trial.activation, shape)
    activation = np.maximum(model.check_activation(activation), least_activations(model))
    needed = inverse_dynamics_of_motion(model, motion, trial.loads).torque
    names, C, lengths, speeds, arms = muscles_along(model, motion, velocities)
    return _Record(names, lengths, speeds, arms, activation, vecmat(needed, C))


def muscles_along(
    model: Model, motion: Motion, velocities: Sequence[str] | None = None
) -> tuple[tuple[str, ...], Array, Array, Array, Array]:
    """Free velocities by name, all by default, and C (t, nu, e) of them; lengths and speeds (t, m) of paths; and
    torques (t, e, m) of unit tensions."""
    names, C = free_velocities(model, motion.q, motion.time)
    chosen = names if velocities is None else tuple(velocities)
    C, J = C[..., indices_of("free velocity", chosen, names)], path_jacobian(model, motion.q)
    return chosen, C, path_lengths(model, motion.q), matvec(J, motion.speeds), -(J @ C).mT


def with_factors(model: Model, factors: Array) -> Model:
    """A model with the numbers of its laws times factors (m, 3); a number whose factor is NaN stays."""
    muscles = []
    for muscle, row in zip(model.muscles, factors, strict=True):
        law: Any = muscle.law
        known = zip(FACTORS.values(), row, strict=True)
        numbers = {field: float(getattr(law, field) * factor) for field, factor in known if np.isfinite(factor)}
        muscles.append(replace(muscle, law=replace(law, **numbers)))
    return replace(model, muscles=tuple(muscles))


class _Problem:
    """Residuals of the logarithms of those factors (m, 3), by muscle and quantity, that are `varied`."""

    def __init__(
        self,
        model: Model,
        records: Sequence[_Record],
        limits: Mapping[str, tuple[float, float]],
        sigma: Mapping[str, float],
        torque_error: float,
    ) -> None:
        self.model, self.records, self.error = model, records, torque_error
        has = [[bool(getattr(muscle.law, field, None)) for field in FACTORS.values()] for muscle in model.muscles]
        low, high = (np.log([limits[quantity][k] for quantity in FACTORS]) for k in (0, 1))
        self.varied = np.array(has).reshape(-1, len(FACTORS)) & (low < high)
        self.low, self.high, self.sigma = (np.broadcast_to(x, self.varied.shape)[self.varied]
                                           for x in (low, high, [sigma[quantity] for quantity in FACTORS]))  # fmt: skip
        if not self.varied.any():
            raise ValueError("there is no number to calibrate: no muscle has one whose bounds leave it free")

    def solved(self) -> "scipy.optimize.OptimizeResult":
        """By SciPy's "trf", which takes thousands of steps where many factors are at bounds. "dogbox" does not, but may
        end in a worse minimum: it counts where it does not."""
        fit = partial(
            scipy.optimize.least_squares, self.residual, jac=self.jacobian, bounds=(self.low, self.high),
            xtol=1e-10, ftol=1e-12, gtol=1e-10,
        )  # fmt: skip
        inner = fit(0 * self.sigma, max_nfev=INNER_EVALUATIONS)
        if inner.success:
            return inner
        along = fit(0 * self.sigma, method="dogbox", max_nfev=BOUND_EVALUATIONS)
        return along if along.success and along.cost <= inner.cost else fit(inner.x)

    def table(self, values: Array) -> Array:
        """(m, 3) values of the factors that are varied, NaN for others."""
        found = np.full(self.varied.shape, np.nan)
        found[self.varied] = values
        return found

    def labelled(self, values: Array) -> "pd.DataFrame":
        return pd.DataFrame(self.table(values), pd.Index(self.model.muscle_names), pd.Index(list(FACTORS)))

    def tensions(self, r: _Record, x: Array) -> Array:
        """(t, m) [N]."""
        laws: list[Any] = [muscle.law for muscle in with_factors(self.model, np.exp(x)).muscles]
        along = zip(laws, r.lengths.T, r.speeds.T, r.activation.T, strict=True)
        return vector([law.force(l, v, a) for law, l, v, a in along])

    def missing(self, r: _Record, x: Array) -> Array:
        """(t, e) [N m, N] by how much the muscles give more than is needed."""
        return matvec(r.arms, self.tensions(r, x)) - r.needed

    def residual(self, z: Array) -> Array:
        x = self.table(z)
        return np.concatenate([*((self.missing(r, x) / self.error).ravel() for r in self.records), z / self.sigma])

    def jacobian(self, z: Array) -> Array:
        x, blocks = self.table(z), []
        for r in self.records:  # a step of one quantity of all muscles at a time: each tension has its own factors
            slopes = [(self.tensions(r, x + h) - self.tensions(r, x - h)) / (2 * DIFFERENCE_STEP)
                      for h in DIFFERENCE_STEP * np.eye(len(FACTORS))]  # fmt: skip
            rows = r.arms[..., None] * vector(slopes)[:, None] / self.error
            blocks.append(rows[..., self.varied].reshape(-1, len(z)))
        return np.concatenate([*blocks, np.diag(1 / self.sigma)])

    def errors(self, z: Array) -> "pd.DataFrame":
        """Root mean squares by velocity; trials may have others."""
        parts = []
        for r in self.records:
            off = {"before": self.missing(r, self.table(0 * z)), "after": self.missing(r, self.table(z))}
            named = {
                name: pd.DataFrame(x, columns=pd.Index(r.names)) for name, x in {"needed": r.needed, **off}.items()
            }
            parts.append(pd.concat(named) ** 2)
        return np.sqrt(pd.concat(parts).groupby(level=0, sort=False).mean().T)
