"""The work of each muscle."""

from typing import Any, ClassVar

from scipy.integrate import trapezoid

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.joints.vectors import matvec
from myoquat.muscle.segments.lengths import velocity_jacobian
from myoquat.muscle.states import forces

__all__ = ["Work"]


class Work(Summary):
    """Integral over the run of the power -F dl/dt, positive while a muscle shortens; by the trapezoidal rule."""

    name: ClassVar[str] = "work"
    along: ClassVar[str] = "muscle"
    unit: ClassVar[str] = "J"
    description: ClassVar[str] = "work done on the skeleton"

    def observe(self, model: Any, at: Moment) -> Any:
        speed = matvec(velocity_jacobian(model.system, model.muscles, at.q), at.u)
        return -forces(model, at.q, at.u, at.activation, at.states) * speed

    def reduce(self, times: Array, values: Array) -> Array:
        work: Array = trapezoid(values, times, axis=1)
        return work
