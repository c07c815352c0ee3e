"""A force that is a function of time."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions import AxisFunction, Constant
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec, vector
from myoquat.muscle.forces.base import LoadingForce
from myoquat.muscle.loads import Load, Poses

__all__ = ["PrescribedForce"]

Functions = tuple[AxisFunction, AxisFunction, AxisFunction]
NONE: Functions = (Constant(0.0), Constant(0.0), Constant(0.0))


@dataclass(frozen=True)
class PrescribedForce(LoadingForce):
    """A force [N] at a point [m] of the `body`, and a torque [N m], as functions of the time [s].

    OpenSim's PrescribedForce and ExternalForce.

    forces, points, torques  three functions each
    in_world                 whether force and torque are in world axes, else in the body's
    point_in_world           whether the point is in the world's frame, else in the body's
    force_frame              another body, in whose axes force and torque are
    point_frame              another body, in whose frame the point is

    In a simulation with an adaptive method, kinks of the functions cost steps. Every point of a table is compiled:
    hundreds of them take seconds, once.

    >>> import myoquat as mq
    >>> from myoquat.joints.functions import Constant, Linear
    >>> from myoquat.muscle.forces import PrescribedForce
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> ramp = (Linear(10.0), Constant(), Constant())  # 10 N per second along x
    >>> push = PrescribedForce("push", "sled", forces=ramp)
    >>> model = mq.Model(mq.ArticulatedSystem((sled,)), forces=(push,))
    >>> mq.muscle.limit_torques(model, [0.0], [0.0], time=2.0)
    array([20.])
    """

    timed: ClassVar[bool] = True
    body: str
    forces: Functions = NONE
    points: Functions = NONE
    torques: Functions = NONE
    in_world: bool = True
    point_in_world: bool = False
    force_frame: str | None = None
    point_frame: str | None = None

    def loads(self, poses: Poses, shifts: Poses, t: Array | None = None) -> list[Load]:
        if t is None:
            raise ValueError(f"{self.element} depends on the time, which is needed")
        force, at, torque = (vector([f.value(t) for f in three]) for three in (self.forces, self.points, self.torques))
        axes = self.force_frame or (None if self.in_world else self.body)
        if axes is not None:
            force, torque = matvec(poses[axes][0], force), matvec(poses[axes][0], torque)
        R, p = poses[self.point_frame or self.body]
        fixed = self.point_in_world and self.point_frame is None
        point = at + np.zeros(p.shape) if fixed else p + matvec(R, at)
        return [Load(self.body, point, force, torque)]

    def check(self, system: ArticulatedSystem) -> None:
        for name in (self.body, self.force_frame, self.point_frame):
            if name is not None:
                self.check_bodies(system, name)
