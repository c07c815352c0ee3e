"""The greatest force through each joint."""

from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.studies.summaries.base import Moment, Summary
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.reactions import joint_wrenches
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.typing import Array
from myoquat.muscle import limits
from myoquat.muscle.path import lengths
from myoquat.muscle.states import forces, torques

__all__ = ["JointReaction", "muscle_wrenches"]


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
        force = joint_wrenches(system, q, u, udot, wrenches)[..., :3]
        return np.sqrt(np.sum(force * force, axis=-1))

    def reduce(self, times: Array, values: Array) -> Array:
        peak: Array = values.max(axis=1)
        return peak


class _Apart:
    """A system whose bodies move each on its own: what path lengths ask of a system, for that motion."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def displaced(self, q: Any, motion: Any) -> Any:
        """Coordinates stay: a point that moves with them does not move on its body here."""
        return q

    def shifts(self, q: Any, motion: Any, poses: Any, base: str) -> dict[str, tuple[Any, Any]]:
        """(small turn, step of the origin) of every body, from its six entries (step, turn) of the motion."""
        entries = ((name, slice(6 * i, 6 * i + 6)) for i, name in enumerate(self._system.body_names))
        return {name: (motion[..., s][..., 3:], motion[..., s][..., :3]) for name, s in entries}


def muscle_wrenches(model: Any, q: Any, tension: Any) -> Any:
    """(..., bodies, 6) force [N] and torque [N m] of all muscles on each body, at its origin in world axes.

    Minus the derivative of sum F l by the displacement of each body on its own: right for any path.
    """
    bodies = len(model.system.bodies)

    def pull(motion: Any) -> Any:
        l = lengths(_Apart(model.system), model.muscles, q, motion)  # type: ignore[arg-type]
        return np.sum(tension * l, axis=-1)[..., None]

    gradient = -jacobian_at(pull, np.zeros((*q.shape[:-1], 6 * bodies)), like=q)[..., 0, :]
    return gradient.reshape((*gradient.shape[:-1], bodies, 6))
