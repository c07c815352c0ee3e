"""How much the muscles work against each other."""

from typing import Any, ClassVar

import numpy as np
from scipy.integrate import trapezoid

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.muscle.segments.lengths import velocity_jacobian
from myoquat.muscle.states import forces

__all__ = ["CoContraction"]


class CoContraction(Summary):
    """Mean over the run of 2 min(P, N) / (P + N): 0 if all muscles pull one way, 1 if they cancel, 0 where none pulls.

    P and N are the sums of the muscles' positive and negative torques along a velocity.

    Source: K. Falconer and D. A. Winter, Electromyogr. Clin. Neurophysiol. 25 (1985) 135, of torques instead of
    activities.
    """

    name: ClassVar[str] = "co_contraction"
    along: ClassVar[str] = "velocity"
    unit: ClassVar[str] = "1"
    description: ClassVar[str] = "share of opposing muscle torques"

    def observe(self, model: Any, at: Moment) -> Any:
        J = velocity_jacobian(model.system, model.muscles, at.q)
        torques = -forces(model, at.q, at.u, at.activation, at.states)[..., :, None] * J
        positive = np.sum(np.where(torques > 0, torques, 0.0), axis=-2)
        negative = np.sum(np.where(torques < 0, -torques, 0.0), axis=-2)
        total = positive + negative
        least = np.where(positive < negative, positive, negative)
        return np.where(total > 0, 2 * least / np.where(total > 0, total, 1.0), 0.0)

    def reduce(self, times: Array, values: Array) -> Array:
        mean: Array = trapezoid(values, times, axis=1) / (times[-1] - times[0])
        return mean
