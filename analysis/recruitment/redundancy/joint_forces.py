"""The forces in joints that have a stability rule, by what causes them."""

from collections.abc import Sequence

import numpy as np

from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve, reserve_wrenches
from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.dynamics.constraints.multipliers import carried_wrenches
from myoquat.muscle.model import Model

__all__ = ["constraint_lines", "joints_of", "reserve_lines", "rest_forces"]


def joints_of(model: Model, cones: Sequence[StabilityRule]) -> tuple[int, ...]:
    """The numbers of the bodies that the joints of the rules carry."""
    return tuple(int(model.system.indices.body(cone.joint)) for cone in cones)


def rest_forces(passing: Array, joints: Sequence[int], parents: Array) -> Array:
    """(t, c, 3) the forces on the parents of joints, in their axes, without muscles.

    `passing` (t, bodies, 6) are the wrenches through all joints, and `parents` (t, c, 3, 3) the parents' orientations.
    """
    return -np.asarray(np.einsum("tcji,tcj->tci", parents, passing[:, list(joints), :3]))


def constraint_lines(model: Model, motion: Motion, joints: Sequence[int], parents: Array) -> Array | None:
    """(t, c, nu, 3) the forces on the parents of joints, in their axes, that constraints pass there.

    They are those for a unit of what a motion lacks without constraints (see
    `myoquat.dynamics.constraints.multipliers`). None without constraints on bodies.

    ModelError for a constraint on velocities, whose force on bodies is not known. ValueError, with the frame, for a
    joint whose reaction redundant constraints leave open.
    """
    if not joints or not model.constraints:
        return None
    held = ConstrainedMotion(model, motion.q, motion.time)
    if not held.count:
        return None
    for i in joints:
        if held.undetermined[:, i].any():
            raise ValueError(
                f"the load of the joint of {model.system.body_names[i]!r} is not determined at frame "
                f"{int(np.argmax(held.undetermined[:, i]))}: constraints that act beside it are redundant"
            )
    passing = held.reaction_map[:, list(joints), :3] @ held.map[:, None]
    result: Array = -np.swapaxes(np.swapaxes(parents, -1, -2) @ passing, -1, -2)
    return result


def reserve_lines(
    model: Model, q: Array, reserves: Sequence[AnyReserve], joints: Sequence[int], parents: Array
) -> Array:
    """(t, c, r, 3) the forces on the parents of joints, in their axes, of reserves at c = 1 that act on bodies."""
    found = np.zeros((len(q), len(joints), len(reserves), 3))
    if not joints:
        return found
    for k, reserve in enumerate(reserves):
        wrenches = reserve_wrenches(model.system, reserve, q, np.ones(len(q)))
        if wrenches is not None:
            force = carried_wrenches(model.system, q, wrenches)[:, list(joints), :3]
            found[:, :, k] = np.einsum("tcji,tcj->tci", parents, force)
    return found
