"""The greatest tension of each muscle."""

from typing import Any, ClassVar

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.muscle.states import forces

__all__ = ["PeakForce"]


class PeakForce(Summary):
    """max over the run of F."""

    name: ClassVar[str] = "peak_force"
    along: ClassVar[str] = "muscle"
    unit: ClassVar[str] = "N"
    description: ClassVar[str] = "greatest tension"

    def observe(self, model: Any, at: Moment) -> Any:
        return forces(model, at.q, at.u, at.activation, at.states)

    def reduce(self, times: Array, values: Array) -> Array:
        peak: Array = values.max(axis=1)
        return peak
