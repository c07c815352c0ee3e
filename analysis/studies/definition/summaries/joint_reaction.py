"""The greatest force through each joint."""

from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.reactions import joint_wrenches
from myoquat.muscle.acting import torques, wrenches

__all__ = ["JointReaction"]


class JointReaction(Summary):
    """max over the run of the force |f| that each body gets through its joint, under all that acts."""

    name: ClassVar[str] = "joint_reaction"
    along: ClassVar[str] = "body"
    unit: ClassVar[str] = "N"
    description: ClassVar[str] = "greatest joint reaction force"

    def observe(self, model: Any, at: Moment) -> Any:
        udot = forward(model.system, at.q, at.u, torques(model, at))
        force = joint_wrenches(model.system, at.q, at.u, udot, wrenches(model, at))[..., :3]
        return np.sqrt(np.sum(force * force, axis=-1))

    def reduce(self, times: Array, values: Array) -> Array:
        peak: Array = values.max(axis=1)
        return peak
