"""Forces of constraints on the bodies that they hold."""

from typing import Any

import numpy as np

from myoquat.dynamics.constraints.base import Holonomic
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import row_cross
from myoquat.kernels.derivatives import jacobian_at

__all__ = ["constraint_wrenches"]


class _Apart:
    """A system whose bodies are displaced each on its own: what the formula of a constraint asks of a system.

    motion (..., 6 bodies): step [m] and small turn [rad] of every body in world axes; coordinates stay.
    """

    def __init__(self, system: ArticulatedSystem, motion: Any) -> None:
        self._system, self._motion = system, motion

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def poses(self, q: Any) -> dict[str, tuple[Any, Any]]:
        """R, p of every body after its own displacement, to first order."""
        poses = dict(self._system.poses(q))
        for i, name in enumerate(self._system.body_names):
            step, turn = (self._motion[..., 6 * i + k : 6 * i + k + 3] for k in (0, 3))
            R, p = poses[name]
            poses[name] = R + row_cross(turn, R), p + step
        return poses


def constraint_wrenches(constraints: Constraints, q: Any, t: Any, multipliers: Any) -> Any:
    """(..., bodies, 6) force [N] and torque [N m] of the constraints on each body, at its origin in world axes.

    multipliers (..., k) with Q_c = A^T multipliers. The work of a force on a body is multipliers . dphi for the motion
    of that body alone; a constraint on coordinates acts within their joints, on no body from outside. Raises
    NotImplementedError for constraints on velocities, which do not say at which body they act.
    """
    for part in constraints.parts:
        if not isinstance(part, Holonomic):
            raise NotImplementedError(f"{type(part).__name__} holds velocities: its force on bodies is not known")
    system = constraints.system

    def work(motion: Any) -> Any:
        apart = _Apart(system, motion)
        rows = [part.position(apart, q, t) for part in constraints.parts]  # type: ignore[arg-type]
        return np.sum(multipliers * np.concatenate(rows, axis=-1), axis=-1)[..., None]

    bodies = len(system.bodies)
    gradient = jacobian_at(work, np.zeros((*q.shape[:-1], 6 * bodies)), like=q)[..., 0, :]
    return gradient.reshape((*gradient.shape[:-1], bodies, 6))
