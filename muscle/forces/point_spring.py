"""A spring between two points."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec, vector
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.forces.base import MeasuredForce

__all__ = ["PointForce", "PointSpring"]

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PointForce(MeasuredForce):
    """A force on the distance |p1 - p2| [m] of two points of bodies, in body frames [m]; not determined where they
    meet."""

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        poses = system.poses(q)
        (R1, p1), (R2, p2) = poses[self.first], poses[self.second]
        d = p1 + matvec(R1, as_array(self.first_point)) - p2 - matvec(R2, as_array(self.second_point))
        return vector([np.sqrt(np.sum(d * d, axis=-1))])

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_bodies(system, self.first, self.second)


@dataclass(frozen=True)
class PointSpring(PointForce):
    """f = -k (|p1 - p2| - rest_length) on the distance of two points of bodies: OpenSim's PointToPointSpring.

    stiffness    k [N/m]
    rest_length  [m]; a shorter spring pushes

    >>> import numpy as np
    >>> from myoquat.muscle.forces import PointSpring
    >>> band = PointSpring("band", "pelvis", "femur", stiffness=300.0, rest_length=0.2)
    >>> band.force(np.array([0.3]), np.array([0.0])).round(6)  # [N] along the distance: they pull each other
    array([-30.])
    """

    stiffness: float = 1.0
    rest_length: float = 0.0

    def force(self, x: Array, rate: Array) -> Array:
        return -self.stiffness * (x - self.rest_length)

    def stored(self, x: Array) -> Array:
        d = x[..., 0] - self.rest_length
        return self.stiffness / 2 * d * d
