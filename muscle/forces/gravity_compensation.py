"""Forces against the weight of bodies."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import check_ranges
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.forces.base import MeasuredForce
from myoquat.muscle.loads import world_point

__all__ = ["GravityCompensation"]


@dataclass(frozen=True)
class GravityCompensation(MeasuredForce):
    """A force -c m g at the centre of mass of a `body`, against gravity g: MuJoCo's `gravcomp`.

    fraction  c: 1 carries the weight, more lets the body rise

    The measure is the work c m g . p [J] that the weight does at the centre of mass p; the force on it is -1. Raises
    ModelError for a body that does not exist and impossible numbers.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import GravityCompensation
    >>> lift = mq.Body("lift", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=2.0)
    >>> system = mq.ArticulatedSystem((lift,), gravity=(0.0, -10.0, 0.0))
    >>> GravityCompensation("light", "lift", fraction=0.5).torque(system, np.zeros(1), np.zeros(1))
    array([10.])
    """

    body: str
    fraction: float = 1.0

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 1) c m g . p [J]."""
        body = system.bodies[system.indices.body(self.body)]
        center = world_point(system.poses(q), self.body, body.center_of_mass)
        work: Array = self.fraction * body.mass * dot(as_array(system.gravity), center)
        return work[..., None]

    def force(self, x: Array, rate: Array) -> Array:
        return -1.0 + 0.0 * x

    def stored(self, x: Array) -> Array:
        return x[..., 0]

    def check(self, system: ArticulatedSystem) -> None:
        check_ranges(self, self.element)
        self.check_bodies(system, self.body)
        if self.body == system.ground:
            raise ModelError("the ground has no weight", element=self.element)
