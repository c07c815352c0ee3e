"""A force on a point of a body."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.actuators.base import ORIGIN, ScalarActuator, Vector
from myoquat.muscle.loads import Load, Poses, unit_vector, world_point

__all__ = ["PointActuator"]


@dataclass(frozen=True)
class PointActuator(ScalarActuator):
    """A force of optimal_force times the control [N] on the `body` at a `point` [m]: OpenSim's PointActuator.

    The force is along the `direction`, of any length. Point and direction are in the body's frame. With point_in_world
    or direction_in_world they are in the world's; the body may then be anywhere relative to the point.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import PointActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)))
    >>> pull = PointActuator("pull", "shin", point=(0.0, -0.4, 0.0), direction=(1, 0, 0), optimal_force=10.0)
    >>> pull.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([1.0]))  # 10 N at 0.4 m
    array([4.])
    """

    body: str
    point: Vector = ORIGIN
    direction: Vector = (1.0, 0.0, 0.0)
    point_in_world: bool = False
    direction_in_world: bool = False

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        force = f * unit_vector(self.direction, None if self.direction_in_world else poses[self.body][0])
        at = as_array(self.point) if self.point_in_world else world_point(poses, self.body, self.point)
        return [Load(self.body, at, force)]
