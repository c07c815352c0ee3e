"""A generalized force on one coordinate."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import vecmat, vector
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.actuators.base import ScalarActuator
from myoquat.muscle.loads import Load, Poses

__all__ = ["CoordinateActuator"]


@dataclass(frozen=True)
class CoordinateActuator(ScalarActuator):
    """f = optimal_force control [N m or N] on the `coordinate` x by name, whose power is f dx/dt.

    OpenSim's CoordinateActuator. The coordinate may be an angle that a quaternion has replaced. The force is not
    determined at the gimbal lock of that angle.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> motor = CoordinateActuator("motor", "knee", optimal_force=50.0)
    >>> motor.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([0.5]))  # half of 50 N m
    array([25.])
    """

    in_joints: ClassVar[bool] = True
    coordinate: str

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        return []

    def force(self, system: ArticulatedSystem, q: Array, controls: Array) -> Array:
        def value(motion: Array) -> Array:
            return vector([system.coordinate(self.coordinate, system.displaced(q, motion))])

        return vecmat(self.scaled(controls), jacobian_at(value, np.zeros(system.nu), like=q))

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if self.coordinate not in system.coordinate_names and self.coordinate not in system.angle_names:
            raise ModelError(f"coordinate {self.coordinate!r} does not exist", element=self.element)
