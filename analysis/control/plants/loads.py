"""External loads on the bodies of a model, as numbers of every point."""

from dataclasses import dataclass

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.muscle.loads import Load, world_point

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

    def acting(self, system: ArticulatedSystem, q: Array, loads: Array) -> list[Load]:
        """The loads on bodies of numbers (..., 9 n): a force, a torque and a point of each."""
        poses, acting = system.poses(q), []
        for k, (body, frame, point_frame) in enumerate(
            zip(self.bodies, self.force_frames, self.point_frames, strict=True)
        ):
            force, torque, point = (loads[..., 9 * k + 3 * i : 9 * k + 3 * i + 3] for i in range(3))
            R = poses[frame][0]
            acting.append(Load(body, world_point(poses, point_frame, point), matvec(R, force), matvec(R, torque)))
        return acting
