"""A force between points of two bodies."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.actuators.base import ORIGIN, ScalarActuator, Vector
from myoquat.muscle.loads import Load, Poses, world_point

__all__ = ["PointToPointActuator"]


@dataclass(frozen=True)
class PointToPointActuator(ScalarActuator):
    """A force of optimal_force times the control [N] that pushes points [m] of two bodies apart where it is positive.

    OpenSim's PointToPointActuator. The points are in the bodies' frames, or in the world's if `in_world`. The force is
    not determined where the points meet.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import PointToPointActuator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> jack = PointToPointActuator("jack", "ground", "sled", optimal_force=10.0)  # pushes the points apart
    >>> jack.force(mq.ArticulatedSystem((sled,)), np.array([0.5]), np.array([1.0]))
    array([10.])
    """

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    in_world: bool = False

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        ends = ((self.first, self.first_point), (self.second, self.second_point))
        first, second = (as_array(p) if self.in_world else world_point(poses, body, p) for body, p in ends)
        d = first - second
        force = f * (d / np.sqrt(dot(d, d))[..., None])
        return [Load(self.first, first, force), Load(self.second, second, -force)]

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if self.first == self.second:
            raise ModelError(f"it acts between body {self.first!r} and itself", element=self.element)
