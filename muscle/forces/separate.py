"""Bodies that move each on its own, as if there were no joints: wrenches on them by virtual work.

A wrench of a body is a row (force [N], torque [N m]) at its origin in world axes.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.motion import Pair
from myoquat.joints.multibody.system import ArticulatedSystem, Body
from myoquat.joints.multibody.tree import WORLD, Frame, Link, Tree
from myoquat.joints.types import FixedJoint
from myoquat.joints.vectors import row_cross
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["separate_bodies", "wrenches_of_work"]


def wrenches_of_work(system: ArticulatedSystem, q: Array, work: Callable[[Array], Array]) -> Array:
    """(..., bodies, 6) the wrenches on the bodies whose virtual work is work(motion) (...).

    motion (..., 6 bodies): the small step [m] and rotation vector [rad] of every body on its own, in world axes; see
    `separate_bodies`.
    """
    count = len(system.bodies)
    zero = np.zeros((*q.shape[:-1], 6 * count))
    gradient = jacobian_at(lambda motion: work(motion)[..., None], zero, like=q)[..., 0, :]
    result: Array = gradient.reshape((*gradient.shape[:-1], count, 6))
    return result


def separate_bodies(system: ArticulatedSystem, displacement: Array | None = None) -> ArticulatedSystem:
    """A stand-in for the system whose bodies move each on its own, as if there were no joints.

    Formulas that ask it for the shifts of the bodies get the entries of the motion (..., 6 bodies) itself. Formulas
    that ask for poses, or for points and frames (`myoquat.joints.point_position`), get them after `displacement` (...,
    6 bodies), to first order. Coordinates stay.
    """
    return _SeparateBodies(system, displacement)


class _SeparateBodies(ArticulatedSystem):
    """What `separate_bodies` returns: a system for the formulas of kinematics, with a tree of its own."""

    def __init__(self, system: ArticulatedSystem, displacement: Array | None) -> None:
        kept = {name: value for name, value in vars(system).items() if name not in ("tree", "unmerged_tree")}
        vars(self).update(kept)
        vars(self)["_displacement"] = displacement

    @cached_property
    def tree(self) -> Tree:
        """Every body on the ground, at the pose that it has now."""
        links = tuple(self._link(i, body) for i, body in enumerate(self.bodies))
        frames = {name: Frame(i, np.eye(3), np.zeros(3)) for i, name in enumerate(self.body_names)}
        return Tree(links, {self.ground: Frame(WORLD, np.eye(3), np.zeros(3)), **frames})

    @cached_property
    def unmerged_tree(self) -> Tree:
        """The tree, which has a link for every body."""
        return self.tree

    def _link(self, i: int, body: Body) -> Link:
        held = _Placed(lambda q: self.poses(q)[body.name])
        still = np.eye(3), np.zeros(3), slice(None), slice(0, 0), 0.0, np.zeros(3), np.zeros(6)
        link = Link(i, body.name, WORLD, held, *still)
        link.add(body, np.eye(3), np.zeros(3))
        return link

    def poses(self, q: Array, motion: Array | None = None) -> dict[str, Pair]:
        """R, p of every body."""
        poses = dict(super().poses(q))
        displacement = vars(self)["_displacement"] if motion is None else motion
        if displacement is not None:
            for name, (rotation, step) in self.shifts(q, displacement, poses, self.ground).items():
                R, p = poses[name]
                poses[name] = R + row_cross(rotation, R), p + step
        return poses

    def displaced(self, q: Array, motion: Array) -> Array:
        """The coordinates, which stay: a point that moves with them does not move on its body here."""
        return q

    def shifts(self, q: Array, motion: Array, poses: dict[str, Pair], base: str) -> dict[str, Pair]:
        """(rotation vector, step of the origin) of every body."""
        entries = ((name, slice(6 * i, 6 * i + 6)) for i, name in enumerate(self.body_names))
        return {name: (motion[..., s][..., 3:], motion[..., s][..., :3]) for name, s in entries}


class _Placed(FixedJoint):
    """A joint that holds a body at the pose `where` of all coordinates q (..., nq)."""

    def __init__(self, where: Callable[[Array], Pair]) -> None:
        vars(self)["_where"] = where

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> Pair:
        pose: Pair = vars(self)["_where"](q)
        return pose

    def transform(self, q: Array) -> Pair:
        return self.placed(np.eye(3), np.zeros(3), q)
