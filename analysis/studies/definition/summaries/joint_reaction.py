"""The greatest force through each joint."""

from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.reactions import joint_wrenches
from myoquat.dynamics.wrenches import muscle_wrenches
from myoquat.muscle import limits
from myoquat.muscle.states import forces, torques

__all__ = ["JointReaction"]


class JointReaction(Summary):
    """max over the run of the force |f| that each body gets through its joint, muscles pulling where they attach."""

    name: ClassVar[str] = "joint_reaction"
    along: ClassVar[str] = "body"
    unit: ClassVar[str] = "N"
    description: ClassVar[str] = "greatest joint reaction force"

    def observe(self, model: Any, at: Moment) -> Any:
        system, q, u = model.system, at.q, at.u
        tau = torques(model, q, u, at.activation, at.state) + limits.torques(model, q, u)
        udot = forward(system, q, u, tau)
        wrenches = muscle_wrenches(model, q, forces(model, q, u, at.activation, at.state))
        if limits.has_loads(model):
            wrenches = wrenches + limits.wrenches(model, q, u)
        force = joint_wrenches(system, q, u, udot, wrenches)[..., :3]
        return np.sqrt(np.sum(force * force, axis=-1))

    def reduce(self, times: Array, values: Array) -> Array:
        peak: Array = values.max(axis=1)
        return peak
