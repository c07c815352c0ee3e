"""Forces of constraints on the bodies that they hold."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.joints.constraints import Holonomic, Locked
from myoquat.muscle.forces.separate import separate_bodies, wrenches_of_work

__all__ = ["constraint_wrenches"]


def constraint_wrenches(constraints: Constraints, q: Array, t: Array, multipliers: Array) -> Array:
    """(..., bodies, 6) force [N] and torque [N m] of the constraints on each body, at its origin in world axes.

    multipliers (..., k) with Q_c = A^T multipliers. The virtual work on a body is multipliers . dphi for the motion of
    that body alone. A constraint on coordinates acts within their joints, on no body from outside; so does a lock.
    Raises NotImplementedError for constraints on velocities, which do not say at which body they act.
    """
    acting, rows, start = list[Holonomic](), list[int](), 0
    for part in constraints.parts:
        count = part.rate(constraints.system, q, np.zeros(constraints.system.nu), t).shape[-1]
        if isinstance(part, Holonomic):
            acting.append(part)
            rows += range(start, start + count)
        elif not isinstance(part, Locked):
            raise NotImplementedError(f"{type(part).__name__} holds velocities: its force on bodies is not known")
        start += count
    multipliers = multipliers[..., rows]

    def work(motion: Array) -> Array:
        bodies = separate_bodies(constraints.system, motion)
        phi = np.concatenate([part.position(bodies, q, t) for part in acting] or [q[..., :0]], axis=-1)
        result: Array = np.sum(multipliers * phi, axis=-1)
        return result

    return wrenches_of_work(constraints.system, q, work)
