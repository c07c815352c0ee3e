"""A bushing: springs and dampers between two frames."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.joints.vectors import matvec
from myoquat.kernels.symbolic.arrays import arctan2, as_array
from myoquat.muscle.forces.base import MeasuredForce

__all__ = ["ORIGIN", "Bushing", "FrameForce", "Vector", "six"]

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class FrameForce(MeasuredForce):
    """Forces on six measures between a frame of each body.

    The measures x are the angles (3) [rad] and the position (3) [m] of the second frame in the first. The angles are
    body-fixed about x, y and z. They are not determined where the second one is a right angle. The frames sit at points
    [m] and XYZ angles [rad] in their bodies.
    """

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    first_angles: Vector = ORIGIN
    second_angles: Vector = ORIGIN

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        poses = system.poses(q)
        (R1, p1), (R2, p2) = (
            (R @ rotation_matrix(quaternion_from_euler(as_array(angles), "XYZ")), p + matvec(R, as_array(point)))
            for (R, p), angles, point in (
                (poses[self.first], self.first_angles, self.first_point),
                (poses[self.second], self.second_angles, self.second_point),
            )
        )
        back = np.swapaxes(R1, -1, -2)
        R, p = back @ R2, (back @ (p2 - p1)[..., None])[..., 0]
        level = np.sqrt(R[..., 0, 0] * R[..., 0, 0] + R[..., 0, 1] * R[..., 0, 1])
        angles = (
            arctan2(-R[..., 1, 2], R[..., 2, 2]),
            arctan2(R[..., 0, 2], level),
            arctan2(-R[..., 0, 1], R[..., 0, 0]),
        )
        return np.concatenate([np.stack(angles, axis=-1), p], axis=-1)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_bodies(system, self.first, self.second)


@dataclass(frozen=True)
class Bushing(FrameForce):
    """f = -k x - c dx/dt on the measures x of a `FrameForce`: OpenSim's BushingForce.

    rotational_stiffness, translational_stiffness  k [N m/rad], [N/m] by axis
    rotational_damping, translational_damping      c [N m s/rad], [N s/m] by axis

    >>> import numpy as np
    >>> from myoquat.muscle.forces import Bushing
    >>> stiffness = {"rotational_stiffness": (10.0, 10.0, 20.0), "translational_stiffness": (1e4, 1e4, 1e4)}
    >>> disc = Bushing("disc", "pelvis", "torso", **stiffness)
    >>> x = np.array([0.1, 0.0, 0.2, 0.001, 0.0, 0.0])  # angles [rad] and displacements [m]
    >>> disc.force(x, np.zeros(6)).round(3) + 0.0
    array([ -1.,   0.,  -4., -10.,   0.,   0.])
    """

    rotational_stiffness: Vector = ORIGIN
    translational_stiffness: Vector = ORIGIN
    rotational_damping: Vector = ORIGIN
    translational_damping: Vector = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        k = six(self.rotational_stiffness, self.translational_stiffness)
        result: Array = -k * x - six(self.rotational_damping, self.translational_damping) * rate
        return result

    def stored(self, x: Array) -> Array:
        result: Array = np.sum(six(self.rotational_stiffness, self.translational_stiffness) / 2 * x * x, axis=-1)
        return result


def six(rotational: Vector, translational: Vector) -> Array:
    """(6,) the numbers of the six measures."""
    return as_array([*rotational, *translational])
