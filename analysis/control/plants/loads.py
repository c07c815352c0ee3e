"""External loads on the bodies of a model, as numbers of every point."""

from dataclasses import dataclass

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.muscle.loads import Load, generalized_force, world_point

__all__ = ["LoadFrames"]


@dataclass(frozen=True)
class LoadFrames:
    """Where external loads act: bodies, frames of force and torque, frames of the points."""

    bodies: tuple[str, ...] = ()
    force_frames: tuple[str, ...] = ()
    point_frames: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Numbers per time: force, torque and point of each load."""
        return 9 * len(self.bodies)

    def forces(self, system: ArticulatedSystem, q: Array, loads: Array) -> list[Array]:
        """(..., 3) the force of each load [N], in world axes."""
        poses = system.poses(q)
        return [matvec(poses[f][0], loads[..., 9 * k : 9 * k + 3]) for k, f in enumerate(self.force_frames)]

    def force(self, system: ArticulatedSystem, q: Array, loads: Array) -> Array:
        """(..., nu) generalized force of loads (..., 9 n), each a force, a torque and a point."""
        poses, acting = system.poses(q), []
        for k, (body, frame, point_frame) in enumerate(
            zip(self.bodies, self.force_frames, self.point_frames, strict=True)
        ):
            force, torque, point = (loads[..., 9 * k + 3 * i : 9 * k + 3 * i + 3] for i in range(3))
            R = poses[frame][0]
            acting.append(Load(body, world_point(poses, point_frame, point), matvec(R, force), matvec(R, torque)))
        return generalized_force(system, q, acting)
