"""The greatest speed of each velocity."""

from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array

__all__ = ["PeakSpeed"]


class PeakSpeed(Summary):
    """max over the run of |u|."""

    name: ClassVar[str] = "peak_speed"
    along: ClassVar[str] = "velocity"
    unit: ClassVar[str] = "rad/s or m/s"
    description: ClassVar[str] = "greatest absolute velocity"

    def observe(self, model: Any, at: Moment) -> Any:
        return at.u

    def reduce(self, times: Array, values: Array) -> Array:
        peak: Array = np.abs(values).max(axis=1)
        return peak
