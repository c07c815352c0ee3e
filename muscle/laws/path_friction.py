"""Dry friction along a path."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.ranges import NotNegative, Positive
from myoquat.muscle.laws.base import ForceLaw

__all__ = ["PathFriction", "dry_friction"]


def dry_friction(rate: Array, friction: float, slip_speed: float) -> Array:
    """(...) -F tanh(v / v_s): Coulomb's friction force against a motion of speed v, smooth where v changes its sign.

    Nothing sticks: under a force below F the path moves with a speed below v_s atanh(force / F).
    """
    result: Array = -friction * np.tanh(rate / slip_speed)
    return result


@dataclass(frozen=True)
class PathFriction(ForceLaw):
    """F = F0 tanh(v / v_s): dry friction, which pulls on a path that lengthens and pushes one that shortens.

    friction    F0 [N]
    slip_speed  v_s [m/s], from which on the friction is nearly F0

    The activation does not matter. MuJoCo's `frictionloss` of tendons is a soft constraint with the same force where
    the path slips.

    >>> from myoquat.muscle.laws import PathFriction
    >>> friction = PathFriction(friction=2.0, slip_speed=0.001)
    >>> [float(friction.force(0.3, speed, 0.0)) for speed in (-0.1, 0.0, 0.1)]
    [-2.0, 0.0, 2.0]
    """

    kind: ClassVar[str] = "path_friction"
    activated: ClassVar[bool] = False
    friction: NotNegative
    slip_speed: Positive

    @property
    def can_push(self) -> bool:
        return True

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        return -dry_friction(speed, self.friction, self.slip_speed) + 0.0 * length
