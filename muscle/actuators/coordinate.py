"""A generalized force on one coordinate."""

from dataclasses import dataclass

import numpy as np

from myoquat.joints.errors import ModelError
from myoquat.joints.stacking import vector
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import vecmat
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.typing import Array
from myoquat.muscle.actuators.base import ScalarActuator

__all__ = ["CoordinateActuator"]


@dataclass(frozen=True)
class CoordinateActuator(ScalarActuator):
    """f = optimal_force control [N m or N] on the `coordinate` x by name, whose power is f dx/dt: OpenSim's
    CoordinateActuator. An angle that a quaternion has replaced can have one too; it is not determined at the gimbal
    lock of that angle."""

    coordinate: str

    def force(self, system: ArticulatedSystem, q: Array, controls: Array) -> Array:
        def value(motion: Array) -> Array:
            return vector([system.coordinate(self.coordinate, system.displaced(q, motion))])

        return vecmat(self.optimal_force * controls, jacobian_at(value, np.zeros(system.nu), like=q))

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if self.coordinate not in system.coordinate_names and self.coordinate not in system.angle_names:
            raise ModelError(f"coordinate {self.coordinate!r} does not exist", element=self.element)
