"""A spring and damper on one coordinate."""

from typing import ClassVar

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import vector
from myoquat.muscle.forces.base import MeasuredForce

__all__ = ["CoordinateForce", "CoordinateSpring"]


@dataclass(frozen=True)
class CoordinateForce(MeasuredForce):
    """A force on the `coordinate` x by name; an angle that a quaternion has replaced can have one too."""

    in_joints: ClassVar[bool] = True
    coordinate: str

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        return vector([system.coordinate(self.coordinate, q)])

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if self.coordinate not in system.coordinate_names and self.coordinate not in system.angle_names:
            raise ModelError(f"coordinate {self.coordinate!r} does not exist", element=self.element)


@dataclass(frozen=True)
class CoordinateSpring(CoordinateForce):
    """f = -k (x - rest) - c dx/dt on the `coordinate` x by name: OpenSim's SpringGeneralizedForce.

    stiffness  k [N m/rad or N/m]
    rest       [rad or m]
    damping    c [N m s/rad or N s/m]

    The coordinate may be an angle that a quaternion has replaced.

    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> spring = CoordinateSpring("spring", "knee", stiffness=20.0, rest=0.1, damping=0.5)
    >>> spring.force(0.6, 2.0)  # -20 * 0.5 - 0.5 * 2
    -11.0
    """

    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0

    def force(self, x: Array, rate: Array) -> Array:
        return -self.stiffness * (x - self.rest) - self.damping * rate

    def stored(self, x: Array) -> Array:
        d = x[..., 0] - self.rest
        return self.stiffness / 2 * d * d
