"""A spring between two points."""

from dataclasses import dataclass

import numpy as np

from myoquat.joints.stacking import vector
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.kernels.typing import Array
from myoquat.muscle.forces.base import MeasuredForce

__all__ = ["PointSpring"]

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PointSpring(MeasuredForce):
    """f = -k (|p1 - p2| - rest_length) on the distance of two points of bodies: OpenSim's PointToPointSpring.

    Points in body frames [m], stiffness k [N/m], rest_length [m]. It pushes where it is shorter. Not determined where
    the points meet.
    """

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    stiffness: float = 1.0
    rest_length: float = 0.0

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        poses = system.poses(q)
        (R1, p1), (R2, p2) = poses[self.first], poses[self.second]
        d = p1 + matvec(R1, np.array(self.first_point)) - p2 - matvec(R2, np.array(self.second_point))
        return vector([np.sqrt(np.sum(d * d, axis=-1))])

    def force(self, x: Array, rate: Array) -> Array:
        return -self.stiffness * (x - self.rest_length)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_bodies(system, self.first, self.second)
