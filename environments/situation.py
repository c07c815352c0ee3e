"""The arguments of the formulas of a task: the state of one environment, or of a batch of them."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints import frames
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined
from myoquat.joints.validation import system_of
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

__all__ = ["Situation"]


@dataclass(frozen=True)
class Situation:
    """A state as the formulas of a `Task` take it, with any leading axes (...).

    time          (...,) [s] since the reset
    q             (..., nq)
    u             (..., nu)
    activation    (..., m) of the muscles
    goal          (..., g) the numbers that the task drew
    control_step  [s] between two actions
    model         with the numbers of this state where some of them vary

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import Situation
    >>> model = mq.load_model("two_link")
    >>> q, none = np.array([1.0, 0, 0, 0] * 2), np.zeros(0)
    >>> from myoquat.muscle.coordinates import Marker
    >>> tip = Marker("tip", "B", (0.0, 0.0, -1.0))
    >>> Situation(0.0, q, np.zeros(6), none, none, 0.02, model).points([tip]) + 0.0  # in the world [m]
    array([ 0.,  0., -2.])
    """

    time: Array
    q: Array
    u: Array
    activation: Array
    goal: Array
    control_step: float
    model: Model | ArticulatedSystem

    def points(self, markers: Sequence[Marker]) -> Array:
        """(..., 3 k) where k markers are in the world [m], one after the other."""
        system = system_of(self.model)
        return joined([frames.pose(system, self.q, m.body, np.array(m.position))[1] for m in markers])
