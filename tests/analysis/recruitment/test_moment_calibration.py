"""EMG-driven moments: exact derivatives, known parameters found again, and posteriors of known width."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from benchmarks.posteriors import PRIORS, TIME, coverage, leg, simulated, unmeasured_trial
from myoquat.analysis.recruitment import MomentPriors, calibrate_moments, moment_posterior
from myoquat.analysis.recruitment.emg.moment_calibration import MomentModel, MomentObjective, trial_arrays
from myoquat.data import Motion
from myoquat.muscle import ExponentialMuscle


@pytest.fixture(scope="module", name="leg")
def two_sided_leg():
    return leg()


@pytest.fixture(scope="module")
def blank(leg):
    return unmeasured_trial(leg)


@pytest.fixture(scope="module")
def calibrated(leg, blank):
    rng = np.random.default_rng(5)
    _, moments, trial = simulated(leg, blank, rng, 1.0)
    return moments, trial, calibrate_moments(leg, [trial], priors=PRIORS, moment_error=1.0, error_time=0.04)


def test_derivatives_of_moments_are_exact(calibrated, rng):
    """Against central differences, at random parameters."""
    model = calibrated[2].objective.models[0]
    z, d, h = 0.5 * rng.normal(size=(2, model.size)), rng.normal(size=model.size), 1e-5
    J = model.with_jacobian(z)[1] @ d
    np.testing.assert_allclose(J, (model.moments(z + h * d) - model.moments(z - h * d)) / (2 * h), atol=1e-6)


def test_known_moments_are_found_again(leg, blank, calibrated):
    """With small errors the moments of the truth, also of another trial; the model holds the numbers of the table."""
    rng = np.random.default_rng(3)
    z, moments, trial = simulated(leg, blank, rng, 0.1)
    found = calibrate_moments(leg, [trial], priors=PRIORS, moment_error=0.1, error_time=0.04)
    assert found.converged
    assert np.abs(found.moments(trial) - moments).max() < 0.3
    other = replace(blank, motion=Motion(leg, TIME, blank.motion.q * 0.8, blank.motion.u * 0.8))
    truth = MomentModel([m.law for m in leg.muscles], trial_arrays(leg, other, ["knee_dot"]), PRIORS).moments(z)
    assert np.abs(found.moments(other) - truth).max() < 0.05 * np.abs(truth).max()
    factors = [new.law.max_isometric_force / old.law.max_isometric_force
               for new, old in zip(found.model.muscles, leg.muscles, strict=True)]  # fmt: skip
    np.testing.assert_allclose(factors, found.muscles["strength"])
    record = trial_arrays(leg, trial, ["knee_dot"])
    late = np.clip(record.time - found.delay, *record.signal_time[[0, -1]])
    e = np.minimum(found.muscles["gain"].to_numpy() * PchipInterpolator(record.signal_time, record.signal)(late), 1.0)
    activation = np.expm1((shape := found.muscles["shape"].to_numpy()) * e) / np.expm1(shape)
    expected = [muscle.law.force(record.lengths[:, k], record.speeds[:, k], activation[:, k])
                for k, muscle in enumerate(found.model.muscles)]  # fmt: skip
    np.testing.assert_allclose(found.tensions_along(record).T, expected, rtol=1e-9)


def test_sizes_and_times_of_errors_are_estimated(leg, blank):
    """Errors of 2 N m that are independent from frame to frame."""
    _, _, trial = simulated(leg, blank, np.random.default_rng(8), 2.0)
    found = calibrate_moments(leg, [trial], priors=PRIORS)
    assert found.moment_error[0] == pytest.approx(2.0, rel=0.3)
    assert found.error_time[0] < 0.12
    assert found.errors.loc["knee_dot", "after"] < found.errors.loc["knee_dot", "before"]


def test_log_density_has_its_gradient_and_is_greatest_at_the_calibration(calibrated):
    """The gradient by central differences; the density is less nearby."""
    _, _, found = calibrated
    value, gradient = found.log_density(found.z)
    assert (value.shape, gradient.shape) == ((), found.z.shape)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)  # the minimum is found to a decrease, not to a gradient
    rng = np.random.default_rng(3)
    z = found.z + 0.1 * rng.normal(size=found.z.shape)
    step = 1e-5 * rng.normal(size=z.shape)
    difference = found.log_density(z + step)[0] - found.log_density(z - step)[0]
    assert found.log_density(z)[0] < value
    np.testing.assert_allclose(difference, 2 * step @ found.log_density(z)[1], rtol=1e-6)
    with pytest.raises(ValueError, match="z"):
        found.log_density(np.ma.masked_array(z, mask=z > 0))


def test_bands_of_the_posterior_cover_the_truth():
    """90 % bands over a few trials whose parameters come from the priors; `python -m benchmarks posteriors` has 200."""
    share, _ = coverage(3, 120)
    assert 0.7 < share <= 1.0


def test_bands_with_errors_are_wider(calibrated):
    _, trial, found = calibrated
    posterior = moment_posterior(found)
    plain, wide = posterior.bands(trial), posterior.bands(trial, errors=True)
    assert (wide[1] - wide[0]).mean() > (plain[1] - plain[0]).mean()
    assert (posterior.table()["low"] <= posterior.table()["high"]).all()


def test_what_does_not_fit_is_rejected(leg, blank, calibrated):
    bad = replace(blank, emg=replace(blank.emg, signal=2 * blank.emg.signal))
    other = replace(leg.muscles[0], law=ExponentialMuscle(0.5, 100.0))
    mixed = replace(leg, muscles=(other, *leg.muscles[1:]))
    for call, words in (
        (lambda: calibrate_moments(leg, [bad]), r"must lie in \[0, 1\]"),
        (lambda: calibrate_moments(leg, [replace(blank, moments={"knee_dot": [1.0]})]), r"\(76,\) is needed"),
        (lambda: calibrate_moments(leg, [blank, replace(blank, moments={})]), "has other moments"),
        (lambda: calibrate_moments(leg, [replace(blank, moments={"ankle_dot": np.zeros(76)})]), "free velocity"),
        (lambda: calibrate_moments(leg, [blank], moment_error=0.0), "must be positive"),
        (lambda: MomentPriors(gain=0.0), "standard deviations of gain"),
        (lambda: moment_posterior(calibrated[2], samples=0), "samples must be positive"),
        (lambda: calibrate_moments(mixed, [blank]), "laws of one class"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert isinstance(calibrated[2].objective, MomentObjective)
