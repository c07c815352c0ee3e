"""A ball that rolls on a plane without slipping."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.constraints.base import NonHolonomic, check_bodies, point_of
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types.direction import unit_axis
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["Rolling"]

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Rolling(NonHolonomic):
    """A ball of `radius` about `centre` in the frame of `body` rolls on a plane of the world without slipping.

    psi (3) [m/s] is the velocity of the body's point that touches the plane, in world axes. The plane runs through
    `plane_point` with the `normal`, both in the world. The constraint also keeps phi (1) [m], the height of the centre
    over the plane less the radius.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Rolling
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.FloatingJoint(), mass=1.0),))
    >>> q, u = np.array([0, 0, 0.1, 1, 0, 0, 0]), np.array([0.5, 0, 0, 0, 5.0, 0])  # v = omega r
    >>> Rolling("ball", radius=0.1).rate(ball, q, u, 0.0) + 0.0
    array([0., 0., 0.])
    """

    constants: ClassVar[tuple[str, ...]] = ("normal",)
    body: str
    radius: float
    centre: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    plane_point: Vector = (0.0, 0.0, 0.0)

    def check(self, system: ArticulatedSystem) -> None:
        check_bodies(system, self.body)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        over = point_of(system, q, self.body, self.centre) - as_array(self.plane_point)
        result: Array = (np.sum(over * as_array(unit_axis(self.normal)), axis=-1) - self.radius)[..., None]
        return result

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        R, _ = system.poses(q)[self.body]
        n = as_array(unit_axis(self.normal))
        foot = as_array(self.centre) - self.radius * vecmat(n, R)

        def along(s: Array) -> Array:  # the material point that touches now
            R, p = system.poses(state.displaced(system.layout, q, s * u))[self.body]
            return p + matvec(R, foot)

        result: Array = jacobian_at(along, np.zeros(1), like=q)[..., 0]
        return result
