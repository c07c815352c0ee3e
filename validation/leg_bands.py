"""Bands of uncertain inputs on moments from EMG: what the calibration leaves open, and where muscles are attached.

Both are sources of Saltelli's design (`UncertainInputs`): a draw of the posterior is one random element, whose numbers
depend on each other. Attachments are normal about those of the model, after the calibration.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from myoquat.analysis.recruitment import MomentPosterior, MomentTrial
from myoquat.analysis.recruitment.emg.moment_calibration import trial_arrays
from myoquat.analysis.recruitment.redundancy.equations import joint_lines
from myoquat.analysis.studies import UncertainCurves, UncertainInputs
from myoquat.analysis.studies.engine import VariedDemands
from myoquat.analysis.studies.uncertain_loads import KEYS, VariedNumbers, central_band, draws_of
from myoquat.core import Array, indices_of
from validation.emg_driven_leg import JOINTS

SOURCES = ("parameters", "attachments")


def moments_with_bands(posterior: MomentPosterior, trial: MomentTrial, inputs: UncertainInputs) -> UncertainCurves:
    """The moments of a trial [N m] with bands, at some of its frames."""
    calibration = posterior.calibration
    model, motion = calibration.original, trial.motion.rows(inputs.times(len(trial.motion.time)))
    seen = MomentTrial(motion, trial.emg, {})
    record = trial_arrays(model, seen, calibration.velocities)
    numbers = VariedNumbers.of(model, ("attachments",))
    assert numbers is not None
    varied = VariedDemands(model, motion, None, ((), ()), numbers.parameters)
    columns = indices_of("free velocity", calibration.velocities, varied.base.names)
    samples, draws = draws_of(inputs, SOURCES), posterior.draws
    values = np.empty((len(samples), len(samples[0]), len(motion.time), len(JOINTS)))
    for matrix, row in np.ndindex(values.shape[:2]):
        draw = samples[matrix][row]
        part = varied.of(numbers.drawn(draw))
        arms: Array = np.swapaxes(part.arms[..., columns], -1, -2)
        along = record._replace(lengths=part.lengths, speeds=part.speeds, arms=arms)
        values[matrix, row] = calibration.moments_along(along, draws[draw.keys["parameters"] * len(draws) // KEYS])
    names, units = tuple(JOINTS), ("N m",) * len(JOINTS)
    nominal = calibration.moments_along(record)
    return UncertainCurves(motion.time, names, units, nominal, values, SOURCES, inputs.level)


class JointForces(NamedTuple):
    """Magnitudes [N] of the muscles' part of the forces in the joints of a trial.

    time    (t,) [s]
    values  (t, e) of the calibration
    bands   (2, t, e) ends of the bands that hold the share `level` of the posterior's draws
    level   of the bands
    """

    time: Array
    values: Array
    bands: Array
    level: float


def joint_forces(posterior: MomentPosterior, trial: MomentTrial, inputs: UncertainInputs) -> JointForces:
    """The muscles' part of the forces in the joints; what gravity, motion and ground add is not in it."""
    calibration = posterior.calibration
    model, motion = calibration.original, trial.motion.rows(inputs.times(len(trial.motion.time)))
    record = trial_arrays(model, MomentTrial(motion, trial.emg, {}), calibration.velocities)
    system = model.system
    bodies = [next(k for k, b in enumerate(system.bodies) if joint in (b.coordinate_names or ())) for joint in JOINTS]
    lines = [joint_lines(system, model.paths_on_bones, motion.q, body)[0] for body in bodies]
    values, draws = (_magnitudes(calibration.tensions_along(record, z), lines) for z in (None, posterior.draws))
    return JointForces(motion.time, values, central_band(draws, inputs.level), inputs.level)


def _magnitudes(tension: Array, lines: Sequence[Array]) -> Array:
    """(..., t, e) of the forces of tensions (..., t, m) along lines (t, m, 3)."""
    forces = [np.einsum("...tm,tmi->...ti", tension, line) for line in lines]
    return np.stack([np.linalg.norm(force, axis=-1) for force in forces], axis=-1)
