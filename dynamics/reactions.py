"""What passes through the joints."""

from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.inverse import link_forces, transmitted
from myoquat.joints.motion import kinematics, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, matvec

__all__ = ["joint_wrenches"]


def joint_wrenches(system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None = None) -> Array:
    """(..., bodies, 6) (force, torque) that each body gets through its joint, at its origin in world axes."""
    tree = system.unmerged_tree
    motion = kinematics(tree, q, u)
    passing = transmitted(tree, motion, link_forces(system, tree, motion, udot, f_ext))
    rows: list[Any] = [None] * len(system.bodies)
    for link, (R, _), (n, f) in zip(tree.links, world_poses(tree, motion), passing, strict=True):
        rows[link.body] = joined([matvec(R, f), matvec(R, n)])
    return np.stack(np.broadcast_arrays(*rows, subok=True), axis=-2)
