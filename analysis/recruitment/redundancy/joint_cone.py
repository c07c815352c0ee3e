"""A joint is stable while the force in it points into its socket: a cone of directions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve, reserve_wrenches
from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.data.motions.series import indices_of
from myoquat.dynamics.constraints import HeldMotion
from myoquat.dynamics.constraints.multipliers import carried_wrenches
from myoquat.joints.vectors import matvec
from myoquat.muscle.model import Model

__all__ = ["JointCone", "angles_of", "constraint_lines", "joints_of", "reserve_lines", "rest_forces"]

ROUNDING = 1e-15  # by which the length of a unit vector is off 1


@dataclass(frozen=True)
class JointCone:
    """The force that a joint's child presses on its parent with lies within `half_angle` [rad] of `direction` (3,), in
    the parent's axes: tan(half_angle) n . f >= |f - (n . f) n|, n the unit vector of the direction.

    `joint` is named by itself or by the body that it carries. Raises ValueError for a direction of length zero, and a
    half angle outside (0, pi / 2).

    >>> from myoquat.analysis.recruitment import JointCone
    >>> glenoid = JointCone("shoulder", direction=(0.0, 0.0, 1.0), half_angle=0.5)
    >>> glenoid.half_angle  # [rad] between the direction and the force of the child on its parent
    0.5
    """

    joint: str
    direction: tuple[float, float, float]
    half_angle: float

    def __post_init__(self) -> None:
        size = float(np.linalg.norm(self.direction))
        if len(self.direction) != 3 or not np.isfinite(size) or size == 0:
            raise ValueError(f"cone of {self.joint!r}: direction must be a vector (3,), not {self.direction}")
        if not 0 < self.half_angle < np.pi / 2:
            raise ValueError(f"cone of {self.joint!r}: half_angle must lie in (0, pi / 2), not {self.half_angle}")
        unit = 1.0 if abs(size - 1) < ROUNDING else size  # a unit vector keeps its bits, as a stored one has to
        object.__setattr__(self, "direction", tuple(float(x) / unit for x in self.direction))

    @classmethod
    def from_markers(cls, model: Model, joint: str, head: str, centre: str, rim: str) -> Self:
        """The cone whose apex is the marker `head`, the centre of the head, about the line to `centre`, that of the
        socket, through the marker `rim` on the edge of the socket, as they lie in the model's start pose.

        ValueError for a marker that does not exist.
        """
        system = model.system
        parent = system.bodies[system.indices.body(joint)].parent
        poses = system.poses(model.start)
        R, _ = poses[parent]
        names = [marker.name for marker in model.markers]
        markers = [model.markers[k] for k in indices_of("marker", [head, centre, rim], names)]
        world = [poses[m.body][1] + matvec(poses[m.body][0], np.array(m.position)) for m in markers]
        axis, edge = world[1] - world[0], world[2] - world[0]
        cosine = axis @ edge / np.linalg.norm(axis) / np.linalg.norm(edge)
        direction = R.T @ axis
        return cls(joint, (float(direction[0]), float(direction[1]), float(direction[2])), float(np.arccos(cosine)))

    @property
    def frame(self) -> Array:
        """(3, 3) unit vectors in rows, in the parent's axes: the direction, and two across it."""
        n = np.array(self.direction)
        across = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        across = across / np.linalg.norm(across)
        return np.stack([n, across, np.cross(n, across)])


def angles_of(cones: Sequence[JointCone], force: Array) -> Array:
    """(t, c) between the directions of the cones and the forces (t, c, 3), in the parents' axes."""
    along = np.stack([force[:, j] @ np.swapaxes(cone.frame, 0, 1) for j, cone in enumerate(cones)], axis=1)
    return np.asarray(np.arctan2(np.hypot(along[..., 1], along[..., 2]), along[..., 0]))


def joints_of(model: Model, cones: Sequence[JointCone]) -> tuple[int, ...]:
    """The numbers of the bodies that the joints of the cones carry."""
    return tuple(int(model.system.indices.body(cone.joint)) for cone in cones)


def rest_forces(passing: Array, joints: Sequence[int], parents: Array) -> Array:
    """(t, c, 3) the forces on the parents of joints, in their axes, without muscles: of what passes through all joints
    (t, bodies, 6), the parents' orientations being (t, c, 3, 3)."""
    return -np.asarray(np.einsum("tcji,tcj->tci", parents, passing[:, list(joints), :3]))


def constraint_lines(model: Model, motion: Motion, joints: Sequence[int], parents: Array) -> Array | None:
    """(t, c, nu, 3) the forces on the parents of joints, in their axes, that constraints pass there for a unit of what
    a motion lacks without them (see `myoquat.dynamics.constraints.multipliers`); None without constraints on bodies.

    ModelError for a constraint on velocities, whose force on bodies is not known; ValueError, with the frame, for a
    joint whose reaction redundant constraints leave open.
    """
    if not joints or not model.constraints:
        return None
    held = HeldMotion(model, motion.q, motion.time)
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
