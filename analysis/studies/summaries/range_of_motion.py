"""How far each joint moves."""

from typing import Any, ClassVar

import numpy as np

from analysis.studies.summaries.base import Moment, Summary
from joints import state

__all__ = ["RangeOfMotion"]


class RangeOfMotion(Summary):
    """Greatest less smallest displacement from the start along each velocity: for a hinge the range of its angle, for a
    ball joint that of each component of the rotation vector from its start."""

    name: ClassVar[str] = "range_of_motion"
    along: ClassVar[str] = "velocity"
    unit: ClassVar[str] = "rad or m"
    description: ClassVar[str] = "range of the displacement from the start"

    def observe(self, model: Any, at: Moment) -> Any:
        return state.difference(model.system, at.start, at.q)

    def reduce(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        return values.max(axis=1) - values.min(axis=1)
