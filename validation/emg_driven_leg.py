"""Moments of ankle and knee from EMG: calibrated on one trial, predicted for others, beside the published calibration.

The data: CEINMS-RT/LowerLimbModel (Apache-2.0), 10.5281/zenodo.6457662. Muscles, channels and joints are those of its
subject; the muscle model is `DeGrooteFregly2016` with a rigid tendon from the uncalibrated numbers of the file.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment import MomentCalibration, MomentPosterior, MomentTrial, calibrate_moments
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.core import Array, frozen
from myoquat.data import load_model, load_motion
from myoquat.data.motions import Emg, load_table
from myoquat.data.motions.series import rows_within
from myoquat.joints.errors import ModelError
from myoquat.muscle import Muscle, path_jacobian, path_lengths
from myoquat.muscle.laws import DeGrooteFregly2016
from myoquat.muscle.model import Model
from validation.ceinms import CeinmsSubject, ceinms_force, load_subject

JOINTS = ("ankle_angle_r", "knee_angle_r")
CUTOFF = 10.0  # [Hz] of the motion
ERROR_TIME = 0.5  # [s] per independent error: about two per stride, since errors of a stride recur in the next
DELAYS = (0.0, 0.02, 0.05, 0.1)  # [s] that are tried for the published parameters, whose delay is not known
MODEL, CALIBRATED, UNCALIBRATED = "gait2392_subject.osim", "subjectCalibrated.xml", "subjectUncalibrated.xml"
# SHA-256 of the files of the trial at 3.6 km/h
HASHES: dict[str, str] = {
    "gait2392_subject.osim": "b6bfb8bb76997fd6a30e91812511d533ead75f7ff3f8fc47168644585165ec10",
    "subjectCalibrated.xml": "dbdf351ed7fed0aa54b06ce57b197948e2d0ce8805583ffea75637c2c20583ad",
    "subjectUncalibrated.xml": "da4c8f17790ec5373f0d81039bc4a4ec03aace38197801b1e9d270f175a0d1f0",
    "walk36_emgFilt.sto": "ea4e6d254a32a4d1a0373d7e2555dc5c2327d524aa6a3c140e349408668e21ab",
    "walk36_id.sto": "5e43a01b7a8409db254cf8ef62b14b60d577c6259701e9f2b69fd7d7b85d28d6",
    "walk36_ik.sto": "9062c2ff23da5626fa1b4b9673803dd557262eb4363b1e0c0db63fc7ece0f15f",
}


@frozen(eq=False)
class LegData:
    """The model with the measured muscles, the published subject, and trials by name."""

    model: Model
    subject: CeinmsSubject
    trials: dict[str, MomentTrial]


def trial_names(folder: Path) -> list[str]:
    """Names of the trials whose three files NAME_emgFilt.sto, NAME_ik.sto, NAME_id.sto are in the folder."""
    found = [path.name.removesuffix("_emgFilt.sto") for path in sorted(folder.glob("*_emgFilt.sto"))]
    return [n for n in found if all((folder / f"{n}_{content}.sto").is_file() for content in ("ik", "id"))]


def load_leg(folder: Path, names: Sequence[str]) -> LegData:
    """The files of trials; ModelError for a trial that is not there."""
    known = trial_names(folder)
    for name in names:
        if name not in known:
            raise ModelError(f"no trial {name!r} with EMG, IK and ID; the folder has {', '.join(known) or 'none'}")
    subject, start = load_subject(folder / CALIBRATED), load_subject(folder / UNCALIBRATED)
    model = load_model(folder / MODEL)
    wanted = {m for joint in JOINTS for m in subject.joints[joint]}
    muscles = tuple(_with_law(m, start) for m in model.muscles if m.name in wanted)
    model = replace(model, muscles=muscles, groups=())
    return LegData(model, subject, {name: _trial(folder, name, model, subject) for name in names})


def calibrated(data: LegData, name: str, span: tuple[float, float] | None = None) -> tuple[MomentCalibration, float]:
    """The calibration on a trial, or on a span [s] of it, and the seconds that it took."""
    trial = data.trials[name] if span is None else part(data.trials[name], *span)
    start = time.perf_counter()
    found = calibrate_moments(data.model, [trial], error_time=ERROR_TIME)
    return found, time.perf_counter() - start


def part(trial: MomentTrial, start: float, end: float) -> MomentTrial:
    """The frames of a trial from start to end [s], with the whole envelopes."""
    rows = rows_within(trial.motion.time, start, end)
    moments = {name: np.asarray(values)[rows] for name, values in trial.moments.items()}
    return replace(trial, motion=trial.motion.between(start, end), moments=moments)


def cross_validation(data: LegData, name: str) -> pd.DataFrame:
    """RMS differences [N m] over one half of a trial of a calibration on the other, beside the published parameters."""
    time = data.trials[name].motion.time
    middle = 0.5 * (time[0] + time[-1])
    halves = ((time[0], middle), (np.nextafter(middle, np.inf), time[-1]))
    rows = {}
    for fitted, predicted, label in ((0, 1, "second half from first"), (1, 0, "first half from second")):
        found, _ = calibrated(data, name, halves[fitted])
        other = part(data.trials[name], *halves[predicted])
        rows[label] = _rms_row(data, other, found.moments(other))
    return pd.DataFrame.from_dict(rows, orient="index")


def errors_table(data: LegData, calibration: MomentCalibration, posterior: MomentPosterior) -> pd.DataFrame:
    """A row per trial: RMS differences [N m] here and of the published parameters, and how many moments the bands hold.

    The bands are those of 90 %, with the errors of measurement and model. The table has the share of measured moments
    in them.
    """
    rows = {}
    for name, trial in data.trials.items():
        low, high = posterior.bands(trial, 0.9, errors=True)
        true = measured(trial)
        rows[name] = _rms_row(data, trial, calibration.moments(trial)) | {
            f"{joint} within 90 % band": float(((true >= low) & (true <= high))[:, k].mean())
            for k, joint in enumerate(JOINTS)
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def measured(trial: MomentTrial) -> Array:
    """(t, e) [N m]."""
    return np.stack([np.asarray(values) for values in trial.moments.values()], axis=-1)


def published_moments(data: LegData, trial: MomentTrial, delays: Sequence[float] = (0.0,)) -> Array:
    """(d, t, e) [N m] of the published muscles and parameters, for each delay [s] of the signals. Each joint is moved
    by the muscles that the file names."""
    motion, emg, model = trial.motion, trial.emg, data.model
    lengths = path_lengths(model, motion.q)
    names, C = free_velocities(model, motion.q, motion.time)
    arms = -path_jacobian(model, motion.q) @ C[..., [names.index(f"{joint}_dot") for joint in JOINTS]]
    moments = np.zeros((len(delays), len(motion.time), len(JOINTS)))
    for i, muscle in enumerate(model.muscle_names):
        acts = [muscle in data.subject.joints[joint] for joint in JOINTS]
        for of_delay, delay in zip(moments, delays, strict=True):
            signal = np.interp(motion.time - delay, emg.time, emg.signal[:, emg.names.index(muscle)])
            force = ceinms_force(data.subject, muscle, motion.time, lengths[:, i], signal)
            of_delay += arms[:, i] * force[:, None] * acts
    return moments


# ---- parts -----------------------------------------------------------------------------------------------------------


def _rms_row(data: LegData, trial: MomentTrial, own: Array) -> dict[str, float]:
    """RMS differences of our moments, and of the published ones with the delay that is best for each joint."""
    true = measured(trial)
    theirs = np.stack([_rms(moments - true) for moments in published_moments(data, trial, DELAYS)])
    row = {}
    for k, joint in enumerate(JOINTS):
        row[f"{joint} here [N m]"] = float(_rms(own - true)[k])
        row[f"{joint} published [N m]"] = float(theirs[0, k])
        row[f"{joint} published, best delay [N m]"] = float(theirs[:, k].min())
    return row


def _rms(off: Array) -> Array:
    return np.sqrt(np.mean(off**2, axis=0))


def _with_law(muscle: Muscle, subject: CeinmsSubject) -> Muscle:
    own = subject.muscles[muscle.name]
    law = DeGrooteFregly2016(
        own.max_force, optimal_fiber_length=own.optimal_length, tendon_slack_length=own.slack_length,
        pennation=float(np.radians(own.pennation)), tendon="rigid", minimum_activation=0.0,
    )  # fmt: skip
    return replace(muscle, law=law)


def _trial(folder: Path, name: str, model: Model, subject: CeinmsSubject) -> MomentTrial:
    """A trial; each muscle's envelope is the mean of its channels, cut to [0, 1] where a filter left it."""
    motion = smooth(load_motion(folder / f"{name}_ik.sto", model, start=model.start), CUTOFF, model=model)
    table, needed = load_table(folder / f"{name}_emgFilt.sto"), load_table(folder / f"{name}_id.sto")
    columns = [table[subject.channels[m]].to_numpy(dtype=float).mean(axis=1) for m in model.muscle_names]
    emg = Emg(table.index.to_numpy(dtype=float), tuple(model.muscle_names), np.clip(np.stack(columns, -1), 0, 1), "1")
    own = needed.index.to_numpy(dtype=float)
    moments = {f"{j}_dot": np.interp(motion.time, own, needed[f"{j}_moment"].to_numpy(dtype=float)) for j in JOINTS}
    return MomentTrial(motion, emg, moments)
