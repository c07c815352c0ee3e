"""Coverage of the posteriors of EMG-driven calibrations: 200 synthetic trials whose parameters come from the priors.

A share of 85 to 95 % of the true moments should lie within 90 % bands.
"""

import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.recruitment import MomentPriors, MomentTrial, calibrate_moments, moment_posterior
from myoquat.analysis.recruitment.emg.moment_calibration import MomentModel, trial_arrays
from myoquat.core import Array
from myoquat.data import Emg, Motion
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import Model, Muscle, PathPoint
from myoquat.muscle.laws import DeGrooteFregly2016

TIME = np.linspace(0.0, 3.0, 76)  # [s]
PRIORS = MomentPriors(gain=0.3, strength=0.3, optimal_length=0.05, slack_length=0.02)
TRIALS, SAMPLES, ERROR = 200, 400, 2.0  # ERROR [N m] standard deviation of a measured moment


def leg() -> Model:
    """A hinge with two muscles on one side and one on the other."""
    body = Body("shank", "ground", RevoluteJoint((0, 0, 1)), mass=3.0, coordinate_names=("knee",))
    muscles = []
    for name, side, force in (("front", 1.0, 2000.0), ("back", -1.0, 1500.0), ("deep", -0.7, 900.0)):
        path = (PathPoint("ground", (0.04 * side, 0.3, 0.0)), PathPoint("shank", (0.04 * side, -0.05, 0.0)))
        law = DeGrooteFregly2016(force, 0.1, 0.25, pennation=0.1, tendon="rigid", minimum_activation=0.0)
        muscles.append(Muscle(name, path, law))
    return Model(ArticulatedSystem((body,)), tuple(muscles))


def unmeasured_trial(model: Model) -> MomentTrial:
    """A swinging hinge with three bursting envelopes, whose moments are not known yet."""
    q, u = 0.4 * np.sin(5 * TIME), 2.0 * np.cos(5 * TIME)
    signal = 0.05 + 0.5 * np.clip(np.sin(np.outer(TIME, [5, 5, 7]) + np.array([0.0, 3.0, 1.0])), 0, None) ** 2
    emg = Emg(TIME, model.muscle_names, signal, "1")
    return MomentTrial(Motion(model, TIME, q[:, None], u[:, None]), emg, {"knee_dot": np.zeros(len(TIME))})


def simulated(
    model: Model, trial: MomentTrial, rng: np.random.Generator, error: float
) -> tuple[Array, Array, MomentTrial]:
    """Parameters drawn from the priors, the moments that they give, and a trial that measured them with errors."""
    driven = MomentModel([m.law for m in model.muscles], trial_arrays(model, trial, ["knee_dot"]), PRIORS)
    z = rng.normal(size=driven.size)
    moments = driven.moments(z)
    measured = moments[:, 0] + error * rng.normal(size=len(TIME))
    return z, moments, replace(trial, moments={"knee_dot": measured})


def coverage(trials: int, samples: int, seed: int = 11) -> tuple[float, float]:
    """The share of true moments within 90 % bands, and the median seconds of processor time of a posterior."""
    model = leg()
    trial, rng = unmeasured_trial(model), np.random.default_rng(seed)
    shares, seconds = [], []
    for _ in range(trials):
        _, moments, measured = simulated(model, trial, rng, ERROR)
        found = calibrate_moments(model, [measured], priors=PRIORS, moment_error=ERROR, error_time=0.04)
        began = time.process_time()
        low, high = moment_posterior(found, samples=samples).bands(measured)
        seconds.append(time.process_time() - began)
        shares.append(float(((moments >= low) & (moments <= high)).mean()))
    return statistics.mean(shares), statistics.median(seconds)


def run() -> list[dict[str, Any]]:
    """One row."""
    work = f"90 % bands on joint moments, {TRIALS} synthetic trials, {SAMPLES} draws"
    share, seconds = coverage(TRIALS, SAMPLES)
    return [{"work": work, "covered": share, "asked": "0.85 to 0.95", "processor time, s": seconds}]
