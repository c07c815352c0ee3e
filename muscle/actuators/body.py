"""A wrench on a body."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import matvec
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.actuators.base import ORIGIN, Actuator, Vector
from myoquat.muscle.loads import Load, Poses, world_point

__all__ = ["BodyActuator"]


@dataclass(frozen=True)
class BodyActuator(Actuator):
    """A torque (3) [N m] and a force (3) [N] on the `body`, the six controls in this order: OpenSim's BodyActuator.

    point           [m] where the force acts, in the body's frame
    point_in_world  whether the point is in the world's frame instead
    in_world        whether the controls are components in world axes, else in the body's

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import BodyActuator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> push = BodyActuator("push", "sled")  # controls: a torque [N m] and a force [N]
    >>> push.force(mq.ArticulatedSystem((sled,)), np.zeros(1), np.array([0.0, 0, 0, 5.0, 0, 0]))
    array([5.])
    """

    body: str
    point: Vector = ORIGIN
    point_in_world: bool = False
    in_world: bool = True

    @property
    def control_names(self) -> tuple[str, ...]:
        """'<name>.torque_x' to '<name>.force_z'."""
        return tuple(f"{self.name}.{part}_{axis}" for part in ("torque", "force") for axis in "xyz")

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        torque, force = f[..., :3], f[..., 3:]
        if not self.in_world:
            torque, force = matvec(poses[self.body][0], torque), matvec(poses[self.body][0], force)
        at = as_array(self.point) if self.point_in_world else world_point(poses, self.body, self.point)
        return [Load(self.body, at, force, torque)]
