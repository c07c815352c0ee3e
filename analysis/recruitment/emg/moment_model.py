"""Joint moments of muscles whose EMG was recorded, as a function of the parameters of signals and muscles.

- activation a = (exp(A u) - 1) / (exp(A) - 1) of u = min(gain e(t - delay), 1)
- tension of the muscle's law with a rigid tendon
- moment = moment arm times tension, and a passive moment that is affine in angle and speed

Derivatives by the parameters are those of the compiled formula, exact to round-off. Source: D. G. Lloyd, T. F. Besier,
An EMG-driven musculoskeletal model to estimate muscle forces and knee joint moments in vivo, J. Biomech. 36, 2003, eqs.
1 to 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass, unchecked
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import Kernel
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.laws.equilibrium import law_type_of, numbers_of

__all__ = ["PARAMETERS", "PASSIVE", "MomentModel", "MomentPriors", "TrialArrays", "tension_kernels"]

PARAMETERS = ("gain", "shape", "strength", "optimal_length", "slack_length")
PASSIVE = ("offset", "stiffness", "damping")
SCALED = {"strength": "max_isometric_force", "optimal_length": "optimal_fiber_length",
          "slack_length": "tendon_slack_length"}  # fmt: skip
STRONGEST_SHAPE = 5.0  # of -A, as in the source


@dataclass(frozen=True)
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
        time, lengths, speeds, arms, angles, rates, moments = (x[rows] for x in self[:7])
        return TrialArrays(time, lengths, speeds, arms, angles, rates, moments, self.signal_time, self.signal)


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
        return self._joined(tension, z), np.concatenate(parts, axis=-1)

    # ---- parts -----------------------------------------------------------------------------------------------

    def _split(self, z: Array) -> tuple[Array, Array, Array]:
        end = 1 + len(PARAMETERS) * self.muscles
        factors = z[..., 1:end].reshape(*z.shape[:-1], self.muscles, len(PARAMETERS))
        return z[..., 0], factors, z[..., end:].reshape(*z.shape[:-1], self.velocities, len(PASSIVE))

    @cached_property
    def _basis(self) -> Array:
        """(k, e, 3) passive moments of one standard deviation of each parameter."""
        one = np.ones_like(self.trial.angles)
        found: Array = np.stack([one, -self.trial.angles, -self.trial.rates], axis=-1) * np.array(self.priors.passive)
        return found

    @cached_property
    def _signal(self) -> Any:
        """Monotone cubic interpolation, whose slope is continuous, of the envelopes."""
        return scipy.interpolate.PchipInterpolator(self.trial.signal_time, self.trial.signal, axis=0)

    def _joined(self, tension: Array, z: Array) -> Array:
        passive = np.einsum("ked,...ed->...ke", self._basis, self._split(z)[2])
        result: Array = (self.trial.arms @ tension[..., None])[..., 0] + passive
        return result

    def _tensions(self, z: Array, slopes: bool) -> tuple[Array, Array]:
        """(..., k, m) tensions, and their derivatives (..., k, m, 6) by the delay and the muscle's own parameters."""
        mean, spread = self.priors.unbounded
        delay, factors, _ = self._split(z)
        late = self.trial.time - (self.priors.delay[0] + self.priors.delay[1] * delay)[..., None]
        first, last = self.trial.signal_time[[0, -1]]
        inside = np.clip(late, first, last)
        e, x = self._signal(inside), mean + spread * factors
        x = np.broadcast_to(x[..., None, :, :], (*e.shape, len(PARAMETERS)))
        given = np.concatenate([e[..., None], x], axis=-1)
        value, slope = tension_kernels(self.laws[0])
        tension = value(given, self._numbers)
        if not slopes:
            return tension, tension
        by = slope(given, self._numbers)
        rate = self._signal(inside, 1) * ((late > first) & (late < last))[..., None] * -self.priors.delay[1]
        return tension, np.concatenate([by[..., :1] * rate[..., None], by[..., 1:] * spread], axis=-1)

    @cached_property
    def _numbers(self) -> Array:
        """(k, m, 2 + c) lengths, speeds and the numbers of the laws."""
        own = np.stack(list(numbers_of(law_type_of(self.laws[0]), self.laws).values()), axis=-1)
        shape = self.trial.lengths.shape
        parts = [self.trial.lengths[..., None], self.trial.speeds[..., None]]
        return np.concatenate([*parts, np.broadcast_to(own, (*shape, own.shape[-1]))], axis=-1)


def shape_of(x: Array) -> Array:
    """(...) A in (-5, 0) of a number x without bounds: the formula, on floats and symbols."""
    result: Array = -STRONGEST_SHAPE / (1 + np.exp(-x))
    return result


def tension_kernels(law: HillLaw) -> tuple[Kernel, Kernel]:
    """Kernels of the tension of laws of this type, and of its derivatives.

    The inputs are (signal, logarithms of `PARAMETERS`) and (length, speed, the numbers of the law). Derivatives are
    those by the former. ModelError for a law with an elastic tendon.
    """
    if law.tendon != "rigid":
        raise ModelError("calibration to EMG needs rigid tendons; Model.with_rigid_tendons makes them")
    law_type = law_type_of(law)
    names = list(numbers_of(law_type, [law]))

    def formula(parameters: Array, numbers: Array) -> Array:
        e, log_gain, x, *logs = (parameters[..., k] for k in range(6))
        given = {name: numbers[..., 2 + k] for k, name in enumerate(names)}
        given |= {SCALED[p]: given[SCALED[p]] * np.exp(log) for p, log in zip(PARAMETERS[2:], logs, strict=True)}
        shape = shape_of(x)
        activation = np.expm1(shape * np.minimum(np.exp(log_gain) * e, 1.0)) / np.expm1(shape)
        found: Array = unchecked(law, given).force(numbers[..., 0], numbers[..., 1], activation)
        return found

    inputs: Mapping[str, Any] = {"parameters": 1 + len(PARAMETERS), "numbers": 2 + len(names)}
    key = law_type.law, law_type.settings, tuple(names)
    value = kernel_for(
        ("emg tension", *key),
        lambda content: kernels.compile(formula, inputs, ["tension"], name="emg_tension", content=content),
    )
    slope = kernel_for(
        ("emg tension by parameters", *key),
        lambda content: value.jacobian(wrt="parameters"),
    )
    return value, slope
