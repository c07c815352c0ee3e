"""The uncertainty of a calibration: draws of its parameters, and bands on joint moments."""

from numbers import Integral

import numpy as np

from myoquat.analysis.recruitment.emg.moment_calibration import MomentCalibration, MomentTrial
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["MomentPosterior", "moment_posterior"]

MAX_NUMBERS = 2**22  # tensions that are held at once


@dataclass(frozen=True, eq=False)
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
        result: Array = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return result

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
