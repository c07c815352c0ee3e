"""A torque between two bodies."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle.actuators.base import ScalarActuator, Vector
from myoquat.muscle.loads import Load, Poses, unit_vector

__all__ = ["TorqueActuator"]


@dataclass(frozen=True)
class TorqueActuator(ScalarActuator):
    """A torque of optimal_force times the control [N m] on the `first` body, its opposite on the `second`.

    OpenSim's TorqueActuator. The torque acts about the `axis`, of any length. The axis is one of the world, or of the
    first body unless `in_world`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import TorqueActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)))
    >>> motor = TorqueActuator("motor", "shin", "ground", axis=(0, 0, 1), optimal_force=10.0)
    >>> motor.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([1.0]))  # on the first body
    array([10.])
    """

    first: str
    second: str
    axis: Vector = (0.0, 0.0, 1.0)
    in_world: bool = True

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        (R, p), (_, p_second) = poses[self.first], poses[self.second]
        torque = f * unit_vector(self.axis, None if self.in_world else R)
        return [Load(self.first, p, 0.0 * torque, torque), Load(self.second, p_second, 0.0 * torque, -torque)]
