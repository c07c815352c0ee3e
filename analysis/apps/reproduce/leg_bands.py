"""Bands of uncertain inputs on moments from EMG: what the calibration leaves open, and where muscles are attached.

Both are sources of Saltelli's design (`UncertainInputs`): a draw of the posterior is one random element, whose numbers
depend on each other. Attachments are normal about those of the model, after the calibration.
"""

import numpy as np

from myoquat.analysis.apps.reproduce.emg_driven_leg import JOINTS
from myoquat.analysis.recruitment import MomentPosterior, MomentTrial
from myoquat.analysis.recruitment.emg.moment_calibration import trial_arrays
from myoquat.analysis.studies import UncertainCurves, UncertainInputs
from myoquat.analysis.studies.execution.varied_demands import VariedDemands
from myoquat.analysis.studies.uncertainty.inputs import KEYS, Samples
from myoquat.analysis.studies.uncertainty.numbers import VariedNumbers
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.data import Motion

__all__ = ["SOURCES", "moments_with_bands"]

SOURCES = ("parameters", "attachments")


def moments_with_bands(posterior: MomentPosterior, trial: MomentTrial, inputs: UncertainInputs) -> UncertainCurves:
    """The moments of a trial [N m] with bands, at some of its frames."""
    calibration = posterior.calibration
    model, motion = calibration.original, _rows_of(trial.motion, inputs.times(len(trial.motion.time)))
    seen = MomentTrial(motion, trial.emg, {})
    record = trial_arrays(model, seen, calibration.velocities)
    numbers = VariedNumbers.of(model, ("attachments",))
    assert numbers is not None
    varied = VariedDemands(model, motion, None, ((), ()), numbers.parameters)
    columns = indices_of("free velocity", calibration.velocities, varied.base.names)
    samples, draws = Samples(inputs, SOURCES), posterior.draws
    values = np.empty((samples.matrices, samples.rows, len(motion.time), len(JOINTS)))
    for matrix in range(samples.matrices):
        for row in range(samples.rows):
            keys = samples.keys(matrix, row)
            part = varied.of(numbers.drawn(samples, keys))
            arms: Array = np.swapaxes(part.arms[..., columns], -1, -2)
            along = record._replace(lengths=part.lengths, speeds=part.speeds, arms=arms)
            values[matrix, row] = calibration.moments_along(along, draws[keys["parameters"] * len(draws) // KEYS])
    names, units = tuple(JOINTS), ("N m",) * len(JOINTS)
    nominal = calibration.moments_along(record)
    return UncertainCurves(motion.time, names, units, nominal, values, SOURCES, inputs.level)


def _rows_of(motion: Motion, rows: Array) -> Motion:
    u, udot = (None if x is None else x[rows] for x in (motion.u, motion.udot))
    return Motion(motion.system, motion.time[rows], motion.q[rows], u, udot)
