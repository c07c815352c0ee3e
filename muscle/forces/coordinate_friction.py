"""Dry friction of a coordinate."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.forces.coordinate_spring import CoordinateForce
from myoquat.muscle.laws.path_friction import dry_friction

__all__ = ["CoordinateFriction"]


@dataclass(frozen=True)
class CoordinateFriction(CoordinateForce):
    """f = -F tanh((dx/dt) / v_s) on the `coordinate` x by name: Coulomb's dry friction, smooth where x comes to rest.

    friction    F >= 0 [N m or N]
    slip_speed  v_s > 0 [rad/s or m/s], from which on the friction is nearly F

    MuJoCo's `frictionloss` of joints is a soft constraint with the same force where the joint slips. Here a load below
    F moves the coordinate slowly instead of not at all, with less than v_s up to 0.76 F.

    >>> from myoquat.muscle.forces import CoordinateFriction
    >>> friction = CoordinateFriction("friction", "knee", friction=0.5, slip_speed=0.01)
    >>> [float(friction.force(0.3, rate)) for rate in (-1.0, 0.0, 1.0)]
    [0.5, -0.0, -0.5]
    """

    friction: float = 0.0
    slip_speed: float = 0.05

    def force(self, x: Array, rate: Array) -> Array:
        return dry_friction(rate, self.friction, self.slip_speed)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if self.friction < 0:
            raise ModelError(f"friction must not be negative, but is {self.friction!r}", element=self.element)
        if not self.slip_speed > 0:
            raise ModelError(f"slip_speed must be positive, not {self.slip_speed!r}", element=self.element)
