"""Calibration of signals and muscles together: delay, gains, shapes, strengths, lengths and passive moments with which
recorded EMG gives the measured joint moments.

- activation a = (exp(A u) - 1) / (exp(A) - 1) of u = min(gain e(t - delay), 1)
- tension of the muscle's law with a rigid tendon
- moment = moment arm times tension, and a passive moment that is affine in angle and speed

minimise 1/2 sum w ((moment - measured) / error)^2 + 1/2 |z|^2 over standardized parameters z. These are the most
probable ones if errors are normal and the parameters have the distributions of `MomentPriors`. Errors of neighbouring
instants are alike: w = step / error_time counts one independent error per `error_time`. Source: D. G. Lloyd, T. F.
Besier, An EMG-driven musculoskeletal model to estimate muscle forces and knee joint moments in vivo, J. Biomech. 36,
2003, eqs. 1 to 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.motion.task_coordinates import velocity_of
from myoquat.analysis.recruitment.convex.terms import ratio
from myoquat.core import (
    Array,
    ArrayLike,
    Solved,
    check_types,
    frozen,
    indices_of,
    pandas as pd,
    real_array,
    scipy,
    unchecked,
)
from myoquat.data.motions import Emg, Motion
from myoquat.data.motions.series import check_series
from myoquat.joints.errors import ModelError
from myoquat.joints.evaluation import compiled, kernel_for
from myoquat.joints.vectors import joined, vecmat, vector
from myoquat.kernels import Kernel
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.laws.shared_structure import law_type_of, numbers_of
from myoquat.muscle.model import Model, check_laws

from .calibration import FACTORS, muscles_along, with_factors
from .driven import check_normalized

PARAMETERS = ("gain", "shape", "strength", "optimal_length", "slack_length")
PASSIVE = ("offset", "stiffness", "damping")
STRONGEST_SHAPE = 5.0  # of -A, as in the source


@frozen
class MomentPriors:
    """Normal distributions of what an EMG-driven model is calibrated in, each independent.

    delay                         mean and standard deviation [s] of the one between all signals and activations.
    gain                          standard deviation of the logarithm of the factor on a normalized envelope, about 1.
    shape                         mean and standard deviation of x in A = -5 / (1 + exp(-x)), between -5 and 0.
    strength, optimal_length,     standard deviations of the logarithms of the factors on the model's numbers, about 1.
    slack_length
    passive                       standard deviations of a joint's constant moment [N m], stiffness [N m / rad] and
                                  damping [N m s / rad], about 0.

    Raises ValueError for deviations that are not positive; 1e-9 keeps a parameter.

    >>> from myoquat.analysis.recruitment import MomentPriors
    >>> MomentPriors(gain=0.3).delay
    (0.06, 0.03)
    """

    delay: tuple[float, float] = (0.06, 0.03)
    gain: float = 0.5
    shape: tuple[float, float] = (-1.0, 1.0)
    strength: float = 0.5
    optimal_length: float = 0.1
    slack_length: float = 0.03
    passive: tuple[float, float, float] = (2.0, 10.0, 1.0)

    def __post_init__(self) -> None:
        for f in fields(self):
            given = np.atleast_1d(np.asarray(getattr(self, f.name), dtype=float))
            spread = given if f.name == "passive" else given[-1:]
            if not (np.isfinite(given).all() and (spread > 0).all()):
                raise ValueError(f"standard deviations of {f.name} must be positive, not {getattr(self, f.name)}")

    @property
    def unbounded(self) -> tuple[Array, Array]:
        """(5,) means and standard deviations of the logarithms of `PARAMETERS`, of the shape those of x."""
        spread = [self.gain, self.shape[1], self.strength, self.optimal_length, self.slack_length]
        return np.array([0.0, self.shape[0], 0.0, 0.0, 0.0]), np.array(spread)


class TrialArrays(NamedTuple):
    """A trial at k instants.

    time         (k,) [s]
    lengths      (k, m) of paths
    speeds       (k, m) of paths
    arms         (k, e, m) moment arms
    angles       (k, e) of joints
    rates        (k, e) of the angles
    moments      (k, e) measured ones
    signal_time  (t,) [s] of the envelopes
    signal       (t, m) the envelopes
    """

    time: Array
    lengths: Array
    speeds: Array
    arms: Array
    angles: Array
    rates: Array
    moments: Array
    signal_time: Array
    signal: Array

    def at(self, rows: Any) -> "TrialArrays":
        """Some of the instants; the envelopes stay whole."""
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[:-2]})


class MomentModel:
    """Moments (k, e) of m muscles with the laws on e velocities over standardized parameters z (n,).

    By the priors z are independent and normal with deviation 1. They are the delay, `PARAMETERS` of every muscle, and
    `PASSIVE` of every velocity.
    """

    def __init__(self, laws: Sequence[HillLaw], trial: TrialArrays, priors: MomentPriors) -> None:
        self.laws, self.trial, self.priors = tuple(laws), trial, priors
        self.muscles, self.velocities = len(self.laws), trial.arms.shape[1]
        self.size = 1 + len(PARAMETERS) * self.muscles + len(PASSIVE) * self.velocities

    def named(self, z: Array) -> tuple[Array, Array, Array]:
        """(...,) delays [s], (..., m, 5) gains, shapes A and factors, (..., e, 3) passive parameters."""
        mean, spread = self.priors.unbounded
        delay, factors, passive = self._split(z)
        x = mean + spread * factors
        values = np.exp(x)
        values[..., 1] = shape_of(x[..., 1])
        return self.priors.delay[0] + self.priors.delay[1] * delay, values, passive * np.array(self.priors.passive)

    def tensions(self, z: Array) -> Array:
        """(..., k, m) [N]."""
        found, _ = self._tensions(z, slopes=False)
        return found

    def moments(self, z: Array) -> Array:
        """(..., k, e) [N m]."""
        return self._joined(self.tensions(z), z)

    def with_jacobian(self, z: Array) -> tuple[Array, Array]:
        """Moments (..., k, e) at z (..., n), and their derivatives (..., k, e, n)."""
        tension, slopes = self._tensions(z, slopes=True)
        by_muscle = self.trial.arms[..., None] * slopes[..., None, :, :]  # (..., k, e, m, 6)
        shape = (*by_muscle.shape[:-2], -1)
        passive = np.einsum("ked,ef->kefd", self._basis, np.eye(self.velocities))
        parts = [
            by_muscle[..., 0].sum(axis=-1, keepdims=True),
            by_muscle[..., 1:].reshape(shape),
            np.broadcast_to(passive, (*by_muscle.shape[:-2], *passive.shape[-2:])).reshape(shape),
        ]
        return self._joined(tension, z), joined(parts)

    # ---- parts -----------------------------------------------------------------------------------------------

    def _split(self, z: Array) -> tuple[Array, Array, Array]:
        end = 1 + len(PARAMETERS) * self.muscles
        factors = z[..., 1:end].reshape(*z.shape[:-1], self.muscles, len(PARAMETERS))
        return z[..., 0], factors, z[..., end:].reshape(*z.shape[:-1], self.velocities, len(PASSIVE))

    @cached_property
    def _basis(self) -> Array:
        """(k, e, 3) passive moments of one standard deviation of each parameter."""
        one = np.ones_like(self.trial.angles)
        return vector([one, -self.trial.angles, -self.trial.rates]) * np.array(self.priors.passive)

    @cached_property
    def _signal(self) -> Any:
        """Monotone cubic interpolation, whose slope is continuous, of the envelopes."""
        return scipy.interpolate.PchipInterpolator(self.trial.signal_time, self.trial.signal, axis=0)

    def _joined(self, tension: Array, z: Array) -> Array:
        passive = np.einsum("ked,...ed->...ke", self._basis, self._split(z)[2])
        return (self.trial.arms @ tension[..., None])[..., 0] + passive

    def _tensions(self, z: Array, slopes: bool) -> tuple[Array, Array]:
        """(..., k, m) tensions, and their derivatives (..., k, m, 6) by the delay and the muscle's own parameters."""
        mean, spread = self.priors.unbounded
        delay, factors, _ = self._split(z)
        late = self.trial.time - (self.priors.delay[0] + self.priors.delay[1] * delay)[..., None]
        first, last = self.trial.signal_time[[0, -1]]
        inside = np.clip(late, first, last)
        e, x = self._signal(inside), mean + spread * factors
        x = np.broadcast_to(x[..., None, :, :], (*e.shape, len(PARAMETERS)))
        given = joined([e[..., None], x])
        value, slope = tension_kernels(self.laws[0])
        tension = value(given, self._numbers)
        if not slopes:
            return tension, tension
        by = slope(given, self._numbers)
        rate = self._signal(inside, 1) * ((late > first) & (late < last))[..., None] * -self.priors.delay[1]
        return tension, joined([by[..., :1] * rate[..., None], by[..., 1:] * spread])

    @cached_property
    def _numbers(self) -> Array:
        """(k, m, 2 + c) lengths, speeds and the numbers of the laws."""
        own = np.array([list(numbers_of(law).values()) for law in self.laws])
        shape = self.trial.lengths.shape
        parts = [self.trial.lengths[..., None], self.trial.speeds[..., None]]
        return joined([*parts, np.broadcast_to(own, (*shape, own.shape[-1]))])


def shape_of(x: Array) -> Array:
    """(...) A in (-5, 0) of a number x without bounds: the formula, on floats and symbols."""
    return -STRONGEST_SHAPE / (1 + np.exp(-x))


def tension_kernels(law: HillLaw) -> tuple[Kernel, Kernel]:
    """Kernels of the tension of laws of this type, and of its derivatives.

    The inputs are (signal, logarithms of `PARAMETERS`) and (length, speed, the numbers of the law). Derivatives are
    those by the former. ModelError for a law with an elastic tendon.
    """
    if law.tendon != "rigid":
        raise ModelError("calibration to EMG needs rigid tendons; Model.with_rigid_tendons makes them")
    names = list(numbers_of(law))

    def formula(parameters: Array, numbers: Array) -> Array:
        e, log_gain, x, *logs = (parameters[..., k] for k in range(6))
        given = {name: numbers[..., 2 + k] for k, name in enumerate(names)}
        given |= {FACTORS[p]: given[FACTORS[p]] * np.exp(log) for p, log in zip(PARAMETERS[2:], logs, strict=True)}
        shape = shape_of(x)
        activation = np.expm1(shape * np.minimum(np.exp(log_gain) * e, 1.0)) / np.expm1(shape)
        return unchecked(law, given).force(numbers[..., 0], numbers[..., 1], activation)

    inputs: Mapping[str, Any] = {"parameters": 1 + len(PARAMETERS), "numbers": 2 + len(names)}
    key = law_type_of(law), tuple(names)
    value = compiled(("emg tension", *key), formula, inputs, ["tension"], name="emg_tension")
    return value, kernel_for(("emg tension by parameters", *key), lambda content: value.jacobian(wrt="parameters"))


DECREASE = 1e-10  # relative, of minus the logarithm of the density and of its parameters, at which the search ends
PASSES = 3  # of the estimate of the errors' sizes and times, each from the fit before
FIRST_TIME = 0.1  # [s] per independent error, assumed at first
PER_ERROR = 3.0  # instants per `error_time` that are compared
FIRST_ERROR = 0.3  # of the root mean square of measured moments


@frozen(eq=False)
class MomentTrial:
    """A motion (q, u) with the EMG and the moments that were measured along it.

    motion   q and u
    emg      normalized envelopes, channels called as the muscles; muscles without a channel carry nothing
    moments  (t,) [N m] by the name of their velocity, at the motion's times

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import MomentTrial
    >>> from myoquat.data import Emg, Motion
    >>> import myoquat as mq
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0),))
    >>> still = Motion(rod, [0.0, 0.1], [[0.0]] * 2, [[0.0]] * 2)
    >>> trial = MomentTrial(still, Emg([0.0, 0.1], ("biceps",), [[0.2]] * 2, "1"), {"rod.speed": [5.0, 5.0]})
    >>> sorted(trial.moments)
    ['rod.speed']
    """

    motion: Motion
    emg: Emg
    moments: Mapping[str, ArrayLike]


class MomentObjective:
    """-log of the posterior density, up to a constant, over z (n,); `weights` (e,) of squared errors by trial."""

    def __init__(self, models: Sequence[MomentModel], weights: Sequence[Array]) -> None:
        self.models, self.weights = list(models), list(weights)
        self.size = self.models[0].size

    def residuals(self, z: Array) -> tuple[Array, Array]:
        """(..., r) at z (..., n), half of whose sum of squares is the objective, and (..., r, n) their derivatives."""
        batch, n = z.shape[:-1], self.size
        parts = [(z, np.broadcast_to(np.eye(n), (*batch, n, n)))]
        for model, weight in zip(self.models, self.weights, strict=True):
            (moments, J), root = model.with_jacobian(z), np.sqrt(weight)
            off = root * (moments - model.trial.moments)
            parts.append((off.reshape(*batch, -1), (root[:, None] * J).reshape(*batch, -1, n)))
        r, J = (np.concatenate(x, axis=len(batch)) for x in zip(*parts, strict=True))
        return r, J

    def minimum(self, start: Array) -> tuple[Array, Array, bool]:
        """z of the minimum next to the start, the Gauss-Newton matrix (n, n) of its second derivatives, and whether the
        search converged."""
        r, J = (lambda z, part=part: self.residuals(z)[part] for part in (0, 1))
        found = scipy.optimize.least_squares(r, start, J, method="lm", ftol=DECREASE, xtol=DECREASE)
        return found.x, found.jac.T @ found.jac, bool(found.success)


@frozen(eq=False)
class MomentCalibration(Solved):
    """Result of `calibrate_moments`.

    model         with the calibrated strengths and lengths
    muscles       a table of `gain`, `shape`, `strength`, `optimal_length`, `slack_length` by muscle
    passive       a table of `offset` [N m], `stiffness` [N m / rad] and `damping` [N m s / rad] by velocity
    delay         [s] of the signals
    errors        by velocity the root mean squares [N m] of the measured moments and of the differences before and
                  after
    moment_error  (e,) [N m] of the assumed errors
    error_time    (e,) [s] of the assumed errors
    z             (n,) the standardized parameters
    precision     (n, n) the inverse of their covariance by Laplace's approximation

    >>> from myoquat.analysis.recruitment import MomentCalibration
    >>> MomentCalibration.__dataclass_fields__.keys() >= {"model", "muscles", "delay"}  # see calibrate_moments
    True
    """

    model: Model
    velocities: tuple[str, ...]
    muscles: "pd.DataFrame"
    passive: "pd.DataFrame"
    delay: float
    errors: "pd.DataFrame"
    moment_error: Array
    error_time: Array
    priors: MomentPriors
    z: Array
    precision: Array
    converged: bool
    objective: MomentObjective
    original: Model

    def __repr__(self) -> str:
        before, after = (float(np.sqrt(np.mean(self.errors[c] ** 2))) for c in ("before", "after"))
        end = "" if self.converged else ", not converged"
        return f"<MomentCalibration {len(self.muscles)} muscles, RMS error {before:.3g} N m, now {after:.3g}{end}>"

    @property
    def success(self) -> bool:
        """Whether the search converged."""
        return self.converged

    @cached_property
    def deviations(self) -> Array:
        """(n,) standard deviations of z by Laplace's approximation; 1 where the trials say nothing."""
        return np.sqrt(np.diag(np.linalg.inv(self.precision)))

    def log_density(self, z: ArrayLike) -> tuple[Array, Array]:
        """(...) the logarithm of the posterior density at z (..., n), up to a constant, and its gradient (..., n).

        Samplers of other packages take it. Draws from it make a `MomentPosterior` of this calibration.
        """
        r, J = self.objective.residuals(real_array("z", z))
        return -0.5 * np.sum(r * r, axis=-1), -vecmat(r, J)

    def moments(self, trial: MomentTrial, z: Array | None = None) -> Array:
        """(..., t, e) [N m] moments of the muscles and passive moments of a trial.

        The parameters are the calibrated ones, or others z (..., n). Moments of the trial are not read.
        """
        return self.moments_along(trial_arrays(self.original, replace(trial, moments={}), self.velocities), z)

    def moments_along(self, record: TrialArrays, z: Array | None = None) -> Array:
        """(..., t, e) [N m] as `moments`, of lengths, arms and signals."""
        return MomentModel(_laws(self.original), record, self.priors).moments(self.z if z is None else z)

    def tensions_along(self, record: TrialArrays, z: Array | None = None) -> Array:
        """(..., t, m) [N] tensions of the muscles, of lengths, arms and signals."""
        return MomentModel(_laws(self.original), record, self.priors).tensions(self.z if z is None else z)


def calibrate_moments(
    model: Model,
    trials: Sequence[MomentTrial],
    *,
    priors: MomentPriors | None = None,
    moment_error: float | None = None,
    error_time: float | None = None,
) -> MomentCalibration:
    """Parameters of signals and muscles from trials with EMG and measured moments, the most probable ones.

    priors        distributions of the parameters, `MomentPriors()` if none are given.
    moment_error  standard deviation [N m] of the errors of moments, and
    error_time    [s] per independent error. Without them they are those of the differences that are left, by velocity:
                  their root mean square, and their integrated autocorrelation time.

    Muscles have Hill-type laws of one class; elastic tendons are taken as rigid. Before the first and after the last
    time of an envelope its end value holds. What the trials do not tell stays at the priors' means. Raises ValueError
    for no trials, trials with other muscles or velocities, motions without u, moments of another shape and channels
    that are no muscles. It is raised for signals in volts, outside [0, 1] or with gaps. It is raised for velocities
    that are not free or not the rate of a coordinate, and for sizes that are not positive. Raises ModelError for
    muscles without a Hill-type law.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import MomentTrial, calibrate_moments
    >>> from myoquat.data import Emg, Motion
    >>> from myoquat.muscle import PathPoint
    >>> from myoquat.muscle.laws import DeGrooteFregly2016
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0)
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = DeGrooteFregly2016(100.0, optimal_fiber_length=0.4, tendon_slack_length=0.1, tendon="rigid")
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
    >>> time = np.linspace(0.0, 2.0, 41)
    >>> still = Motion(model, time, np.zeros((41, 1)), np.zeros((41, 1)))
    >>> burst = Emg(time, ("biceps",), 0.5 + 0.4 * np.sin(3 * time)[:, None], "1")
    >>> found = calibrate_moments(model, [MomentTrial(still, burst, {"rod.speed": -20 * burst.signal[:, 0]})])
    >>> bool(found.errors["after"].max() < 0.1 * found.errors["before"].max())
    True
    """
    check_types(model=(model, Model), trials=(trials, (list, tuple)), priors=(priors, (MomentPriors, type(None))))
    _check_sizes(trials, moment_error, error_time)
    priors = priors or MomentPriors()
    own, velocities = _measured_muscles(model, trials), tuple(trials[0].moments)
    records = [trial_arrays(own, trial, velocities) for trial in trials]
    models = [MomentModel(_laws(own), record, priors) for record in records]
    z = np.zeros(models[0].size)
    sizes = np.sqrt(np.mean(np.concatenate([m.trial.moments for m in models]) ** 2, axis=0))
    before = _differences(models, z)
    error = np.full(len(velocities), moment_error) if moment_error else np.maximum(FIRST_ERROR * sizes, 1e-9)
    span = np.full(len(velocities), error_time) if error_time else np.full(len(velocities), FIRST_TIME)
    for _ in range(1 if moment_error and error_time else PASSES):
        thinned = [_thinned(record, float(span.min())) for record in records]
        objective = MomentObjective([MomentModel(_laws(own), r, priors) for r in thinned],
                                    [_weights(r, error, span) for r in thinned])  # fmt: skip
        z, precision, converged = objective.minimum(z)
        left = _differences(models, z)
        assumed = error, span
        error = error if moment_error else np.maximum(np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0)), 1e-6 * sizes)
        span = span if error_time else _correlation_times(models, left)
    return _result(own, velocities, objective, (z, precision, converged), (sizes, before, left), assumed)


def trial_arrays(model: Model, trial: MomentTrial, velocities: Sequence[str]) -> TrialArrays:
    """What a trial's moments are computed from, at the motion's times; NaN for moments that it does not hold."""
    motion = trial.motion
    model = motion.check_system(model)
    speeds = motion.speeds
    signal = _signal(model, trial.emg)
    _, _, lengths, rates, arms = muscles_along(model, motion, velocities)
    angles = _coordinates(model, velocities)
    u = [model.system.velocity_names.index(name) for name in velocities]
    measured = np.full((len(motion.time), len(angles)), np.nan)
    for k, name in enumerate(velocities):
        if name in trial.moments:
            measured[:, k] = check_series(f"moment of {name}", trial.moments[name], motion.time.shape)
    return TrialArrays(motion.time, lengths, rates, arms, motion.q[:, angles],
                       speeds[:, u], measured, trial.emg.time, signal)  # fmt: skip


# ---- parts -----------------------------------------------------------------------------------------------------------


def _check_sizes(trials: Sequence[MomentTrial], moment_error: float | None, error_time: float | None) -> None:
    if not trials:
        raise ValueError("at least one trial is needed")
    if not trials[0].moments:
        raise ValueError("the first trial has no measured moments")
    for name, size in (("moment_error", moment_error), ("error_time", error_time)):
        if size is not None and not (np.isfinite(size) and size > 0):
            raise ValueError(f"{name} must be positive, not {size}")


def _measured_muscles(model: Model, trials: Sequence[MomentTrial]) -> Model:
    """The model with the muscles that have a channel, and rigid tendons. ValueError where trials differ."""
    first = trials[0]
    for k, trial in enumerate(trials):
        indices_of("muscle", trial.emg.names, model.muscle_names)
        for what, given, known in (("channels", trial.emg.names, first.emg.names),
                                   ("moments", trial.moments, first.moments)):  # fmt: skip
            if set(given) != set(known):
                raise ValueError(f"trial {k} has other {what} than the first: {', '.join(given)}")
    muscles = tuple(m for m in model.muscles if m.name in first.emg.names)
    silent = {*model.muscle_names}.difference(first.emg.names)
    inputs = tuple(given for given in model.inputs if given.name not in silent)
    own = replace(model, muscles=muscles, groups=(), inputs=inputs).with_rigid_tendons()
    check_laws(own)
    _laws(own)
    return own


def _laws(model: Model) -> list[HillLaw]:
    """The laws, Hill-type and of one class. ValueError for others."""
    laws: list[Any] = [muscle.law for muscle in model.muscles]
    for muscle, law in zip(model.muscles, laws, strict=True):
        if not isinstance(law, HillLaw) or law_type_of(law) != law_type_of(laws[0]):
            raise ValueError(f"muscle {muscle.name!r}: all muscles need Hill-type laws of one class, not {law!r}")
    return laws


def _signal(model: Model, emg: Emg) -> Array:
    """(t, m) envelopes in the order of the muscles."""
    check_normalized(emg)
    if len(emg.time) < 2 or np.isnan(emg.signal).any():
        raise ValueError("envelopes need two instants or more, without gaps")
    return emg.select(model.muscle_names).signal


def _coordinates(model: Model, velocities: Sequence[str]) -> list[int]:
    """Indices in q of the coordinates of some velocities. ValueError for a velocity that is not a coordinate's rate."""
    names, coordinates = model.system.velocity_names, model.system.coordinate_names
    known = {names[u]: coordinates.index(name) for name, u in velocity_of(model.system).items()}
    for name in velocities:
        if name not in known:
            raise ValueError(f"velocity {name!r} is not the rate of a coordinate")
    return [known[name] for name in velocities]


def _thinned(trial: TrialArrays, span: float) -> TrialArrays:
    """Every so-manieth instant, `PER_ERROR` of them per span [s]."""
    step = float(np.median(np.diff(trial.time)))
    return trial.at(slice(None, None, max(1, int(span / PER_ERROR / step + 1e-9))))


def _weights(trial: TrialArrays, error: Array, span: Array) -> Array:
    """(e,) of squared errors: 1 / error^2 for one error per `span`."""
    step = float(np.median(np.diff(trial.time)))
    return np.minimum(step / span, 1.0) / error**2


def _differences(models: Sequence[MomentModel], z: Array) -> list[Array]:
    return [m.moments(z) - m.trial.moments for m in models]


def _correlation_times(models: Sequence[MomentModel], left: Sequence[Array]) -> Array:
    """(e,) [s] integrated autocorrelation times of the differences, summed up to where they first are not positive."""
    found = []
    for model, off in zip(models, left, strict=True):
        step, size = float(np.median(np.diff(model.trial.time))), 2 * len(off)
        power = np.abs(np.fft.rfft(off - off.mean(axis=0), size, axis=0)) ** 2
        c = np.fft.irfft(power, size, axis=0)[: len(off)]
        c = ratio(c, c[0])
        inside = np.cumprod(c > 0, axis=0)
        found.append(step * np.maximum(2 * np.sum(c * inside, axis=0) - 1, 1.0))
    return np.max(found, axis=0)


def _result(
    model: Model,
    velocities: tuple[str, ...],
    objective: MomentObjective,
    solved: tuple[Array, Array, bool],
    differences: tuple[Array, list[Array], list[Array]],
    assumed: tuple[Array, Array],
) -> MomentCalibration:
    z, precision, converged = solved
    first = objective.models[0]
    delay, factors, passive = first.named(z)
    sizes, before, after = differences
    rms = [np.sqrt(np.mean(np.concatenate(x) ** 2, axis=0)) for x in (before, after)]
    index = pd.Index(velocities)
    return MomentCalibration(
        model=with_factors(model, factors[:, PARAMETERS.index("strength") :]), velocities=velocities,
        muscles=pd.DataFrame(factors, pd.Index(model.muscle_names), pd.Index(PARAMETERS)),
        passive=pd.DataFrame(passive, index, pd.Index(PASSIVE)), delay=float(delay),
        errors=pd.DataFrame({"measured": sizes, "before": rms[0], "after": rms[1]}, index),
        moment_error=assumed[0], error_time=assumed[1], priors=first.priors, z=z, precision=precision,
        converged=converged, objective=objective, original=model,
    )  # fmt: skip


MAX_NUMBERS = 2**22  # tensions that are held at once


@frozen(eq=False)
class MomentPosterior:
    """Draws (k, n) of a calibration's standardized parameters.

    >>> from myoquat.analysis.recruitment import MomentPosterior
    >>> list(MomentPosterior.__dataclass_fields__)  # see moment_posterior
    ['calibration', 'draws']
    """

    calibration: MomentCalibration
    draws: Array

    def __repr__(self) -> str:
        return f"<MomentPosterior {len(self.draws)} draws, Laplace's approximation>"

    def bands(self, trial: MomentTrial, level: float = 0.9, *, errors: bool = False, seed: int = 0) -> Array:
        """(2, t, e) [N m] low and high quantiles of the moments of a trial.

        The share `level` of the posterior lies between them. errors: bands of measured moments, with the errors of
        measurement and model too. ValueError for a level outside (0, 1).
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {level}")
        size = max(1, MAX_NUMBERS // max(1, len(trial.motion.time) * len(trial.emg.names)))
        parts = [self.draws[k : k + size] for k in range(0, len(self.draws), size)]
        found = np.concatenate([self.calibration.moments(trial, z) for z in parts])
        if errors:
            found = found + self.calibration.moment_error * np.random.default_rng(seed).normal(size=found.shape)
        return np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)

    def table(self, level: float = 0.9) -> "pd.DataFrame":
        """A row per muscle and parameter, and one for the delay [s]: median, low and high quantile."""
        model = self.calibration.objective.models[0]
        delay, factors, _ = model.named(self.draws)
        at = [0.5, (1 - level) / 2, (1 + level) / 2]
        names = [(muscle, name) for muscle in self.calibration.muscles.index for name in self.calibration.muscles]
        values = np.concatenate([delay[:, None], factors.reshape(len(self.draws), -1)], axis=1)
        index = pd.MultiIndex.from_tuples([("all", "delay"), *names], names=["muscle", "parameter"])
        return pd.DataFrame(np.quantile(values, at, axis=0).T, index, pd.Index(["median", "low", "high"]))


def moment_posterior(calibration: MomentCalibration, *, samples: int = 1000, seed: int = 0) -> MomentPosterior:
    """Draws of the parameters that a calibration's trials leave possible, by Laplace's approximation.

    This is the normal distribution with the calibration's precision about the most probable parameters
    [C. M. Bishop, Pattern Recognition and Machine Learning, 2006, sec. 4.4]. For draws of the exact posterior, give
    `MomentCalibration.log_density` to a sampler of your choice.

    The same seed gives the same bits. Raises ValueError for fewer than one sample.

    >>> from myoquat.analysis.recruitment import moment_posterior  # see the guide on validation
    >>> moment_posterior.__kwdefaults__
    {'samples': 1000, 'seed': 0}
    """
    check_types(calibration=(calibration, MomentCalibration), samples=(samples, Integral))
    if samples < 1:
        raise ValueError(f"samples must be positive, not {samples}")
    L = np.linalg.cholesky(calibration.precision)
    y = np.random.default_rng(seed).normal(size=(len(L), samples))
    draws = calibration.z + scipy.linalg.solve_triangular(L, y, trans=1, lower=True).T
    return MomentPosterior(calibration, draws)
