"""A limit of the angle by which a ball joint turns, whatever the axis."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions.base import engaged, engaged_energy
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import axial, dot
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.forces.base import MeasuredForce

__all__ = ["RotationLimit", "joint_rotation"]


@dataclass(frozen=True)
class RotationLimit(MeasuredForce):
    """f = -k s(x - x1) (x - x1) - c s(x - x1) dx/dt on the angle x in [0, pi] of a ball joint's rotation vector.

    The rotation is that of the `body` against the frame of its joint on the parent. MuJoCo's limits of ball joints are
    soft constraints of this type.

    upper       x1 in (0, pi] [rad]
    stiffness   k [N m/rad]
    transition  [rad], over which s rises smoothly from 0 to 1 as for a `CoordinateLimit`
    damping     c [N m s/rad]

    The torque acts about the axis of the rotation. At half a turn, where that axis changes its sign, the torque jumps.
    Raises ModelError for a body that does not exist and impossible numbers.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import RotationLimit
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    >>> limit = RotationLimit("limit", "ball", upper=1.0, stiffness=10.0, transition=0.01)
    >>> Q = np.array([np.cos(0.6), 0.0, 0.0, np.sin(0.6)])  # 1.2 rad about z
    >>> limit.torque(mq.ArticulatedSystem((ball,)), Q, np.zeros(3)).round(6) + 0.0
    array([ 0.,  0., -2.])
    """

    in_joints: ClassVar[bool] = True
    body: str
    upper: float
    stiffness: float
    transition: float
    damping: float = 0.0

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 1) x."""
        R = joint_rotation(system, self.body, q)
        r = axial(R)
        square = dot(r, r)
        turned = square > 0  # a root of zero would spoil the derivative
        sine = np.where(turned, np.sqrt(np.where(turned, square, 1.0)), 0.0)
        above = (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] + 1.0) / 2  # 1 + the cosine
        less = above > 0  # than half a turn
        half = np.where(less, np.arctan(sine / np.where(less, above, 1.0)), np.pi / 2)
        result: Array = 2.0 * half[..., None]
        return result

    def force(self, x: Array, rate: Array) -> Array:
        beyond = x - self.upper
        return -engaged(beyond, self.transition) * (self.stiffness * beyond + self.damping * rate)

    def stored(self, x: Array) -> Array:
        result: Array = self.stiffness * engaged_energy(x - self.upper, self.transition)[..., 0]
        return result

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_bodies(system, self.body)
        if self.body == system.ground:
            raise ModelError("the ground has no joint", element=self.element)
        if not 0 < self.upper <= np.pi:
            raise ModelError(f"upper must lie in (0, pi], not {self.upper}", element=self.element)
        if not self.transition > 0:
            raise ModelError(f"transition must be positive, not {self.transition}", element=self.element)


def joint_rotation(system: ArticulatedSystem, name: str, q: Array) -> Array:
    """(..., 3, 3) the rotation of a body against the frame of its joint on the parent: the formula."""
    body = system.bodies[system.indices.body(name)]
    poses = system.poses(q)
    frame = poses[body.parent][0] @ rotation_matrix(as_array(body.orientation))
    result: Array = np.swapaxes(frame, -1, -2) @ poses[body.name][0]
    return result
