"""External wrenches on bodies, brought to the links.

A wrench of a body is a row (force [N], torque [N m]) at its origin in world axes.
"""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.motion import Motion, Pair, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Tree
from myoquat.joints.vectors import cross, vecmat

__all__ = ["link_wrenches"]


def link_wrenches(system: ArticulatedSystem, tree: Tree, motion: Motion, f_ext: Array) -> list[Pair]:
    """(n, f) on every link, at its origin in its axes, of f_ext (..., bodies, 6): (force, torque) on each body at its
    origin in world axes. What acts on bodies welded to the ground, the ground takes."""
    poses = world_poses(tree, motion)
    total: list[Pair] = [(np.zeros(3), np.zeros(3)) for _ in tree.links]
    for i, name in enumerate(system.body_names):
        link, _, origin = tree.frames[name]
        if link == WORLD:
            continue
        R, _ = poses[link]
        f = vecmat(f_ext[..., i, :3], R)
        n = vecmat(f_ext[..., i, 3:], R) + cross(origin, f)
        total[link] = total[link][0] + n, total[link][1] + f
    return total
