"""Forces on bodies and between them: springs, bushings, expressions, functions of time, gravity compensation."""

from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, quaternion_from_euler, rotation_matrix
from myoquat.joints.functions import AxisFunction, Constant
from myoquat.joints.ranges import NotNegative, Range
from myoquat.joints.vectors import dot, joined, matvec, vector
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.expressions import check_expression, evaluate
from myoquat.muscle.loads import Load, Poses, world_point

from .base import LoadingForce, MeasuredForce
from .coordinates import CoordinateForce

Vector = tuple[float, float, float]
NotNegatives = Annotated[Vector, Range(0.0)]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@frozen
class ForceBetween(MeasuredForce):
    """A force between points of two bodies, in body frames [m]."""

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN


@frozen
class PointForce(ForceBetween):
    """A force on the distance |p1 - p2| [m] of two points of bodies, in body frames [m]; not determined where they
    meet."""

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        poses = system.poses(q)
        (R1, p1), (R2, p2) = poses[self.first], poses[self.second]
        d = p1 + matvec(R1, as_array(self.first_point)) - p2 - matvec(R2, as_array(self.second_point))
        return vector([np.sqrt(np.sum(d * d, axis=-1))])


@frozen
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

    stiffness: NotNegative = 1.0
    rest_length: float = 0.0

    def force(self, x: Array, rate: Array) -> Array:
        return -self.stiffness * (x - self.rest_length)

    def stored(self, x: Array) -> Array:
        d = x[..., 0] - self.rest_length
        return self.stiffness / 2 * d * d


# ---- A bushing ------------------------------------------------------------------------------------------------------
# A bushing: springs and dampers between two frames.


@frozen
class FrameForce(ForceBetween):
    """Forces on six measures between a frame of each body.

    The measures x are the angles (3) [rad] and the position (3) [m] of the second frame in the first. The angles are
    body-fixed about x, y and z. They are not determined where the second one is a right angle. The frames sit at points
    [m] and XYZ angles [rad] in their bodies.
    """

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
            np.arctan2(-R[..., 1, 2], R[..., 2, 2]),
            np.arctan2(R[..., 0, 2], level),
            np.arctan2(-R[..., 0, 1], R[..., 0, 0]),
        )
        return joined([vector(angles), p])


@frozen
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

    rotational_stiffness: NotNegatives = ORIGIN
    translational_stiffness: NotNegatives = ORIGIN
    rotational_damping: NotNegatives = ORIGIN
    translational_damping: NotNegatives = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        k = six(self.rotational_stiffness, self.translational_stiffness)
        return -k * x - six(self.rotational_damping, self.translational_damping) * rate

    def stored(self, x: Array) -> Array:
        return np.sum(six(self.rotational_stiffness, self.translational_stiffness) / 2 * x * x, axis=-1)


def six(rotational: Vector, translational: Vector) -> Array:
    """(6,) the numbers of the six measures."""
    return as_array([*rotational, *translational])


# ---- A bushing whose springs are functions --------------------------------------------------------------------------


Functions = tuple[AxisFunction, AxisFunction, AxisFunction]
NONE: Functions = (Constant(0.0), Constant(0.0), Constant(0.0))


@frozen
class BushingFunctions(FrameForce):
    """f_i = -g_i(x_i) - c_i dx_i/dt on the six measures x of a `Bushing`: OpenSim's FunctionBasedBushingForce.

    g are the functions `moments` [N m] of the angles and `forces` [N] of the positions.

    >>> import numpy as np
    >>> from myoquat.joints.functions import Constant, Polynomial
    >>> from myoquat.muscle.forces import BushingFunctions
    >>> stiffening = Polynomial((0.0, 10.0, 0.0, 500.0))  # 10 x + 500 x^3
    >>> disc = BushingFunctions("disc", "pelvis", "torso", moments=(stiffening, Constant(), Constant()))
    >>> disc.force(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)).round(3) + 0.0
    array([-1.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """

    moments: Functions = NONE
    forces: Functions = NONE
    rotational_damping: NotNegatives = ORIGIN
    translational_damping: NotNegatives = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        elastic = vector([g.value(x[..., i]) for i, g in enumerate((*self.moments, *self.forces))])
        return -elastic - six(self.rotational_damping, self.translational_damping) * rate

    def stored(self, x: Array) -> Array:
        total: Array = 0.0 * x[..., 0]
        for i, g in enumerate((*self.moments, *self.forces)):
            total = total + g.integral(x[..., i])
        return total


# ---- Forces that are expressions of what they act on ----------------------------------------------------------------


Texts = tuple[str, str, str]
DEFLECTIONS = ("theta_x", "theta_y", "theta_z", "delta_x", "delta_y", "delta_z")


@frozen
class CoordinateExpression(CoordinateForce):
    """f = expression [N m or N] of q and qdot, the `coordinate` by name and its rate.

    OpenSim's ExpressionBasedCoordinateForce. `myoquat.muscle.expressions` describes the expressions.

    >>> import numpy as np
    >>> from myoquat.muscle.forces import CoordinateExpression
    >>> spring = CoordinateExpression("spring", "knee", "-20*q^3-0.5*qdot")
    >>> spring.force(np.array([0.5]), np.array([2.0]))
    array([-3.5])
    """

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return evaluate(self.expression, {"q": x, "qdot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("q", "qdot"), self.element)


@frozen
class PointExpression(PointForce):
    """Two points pull each other by an expression [N] of their distance d [m] and its rate ddot [m/s].

    OpenSim's ExpressionBasedPointToPointForce.

    >>> import numpy as np
    >>> from myoquat.muscle.forces import PointExpression
    >>> band = PointExpression("band", "pelvis", "femur", expression="300*(d-0.2)")
    >>> band.force(np.array([0.3]), np.array([0.0])).round(6)  # [N] along the distance: they pull each other
    array([-30.])
    """

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return -evaluate(self.expression, {"d": x, "ddot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("d", "ddot"), self.element)


@frozen
class BushingExpressions(FrameForce):
    """f = -(moments, forces) - c dx/dt on the six measures x of a `Bushing`: OpenSim's ExpressionBasedBushingForce.

    Each moment and force is an expression of all measures: theta_x, theta_y, theta_z [rad], delta_x, delta_y, delta_z
    [m].

    >>> import numpy as np
    >>> from myoquat.muscle.forces import BushingExpressions
    >>> disc = BushingExpressions("disc", "pelvis", "torso", moments=("10*theta_x+500*theta_x^3", "0", "0"))
    >>> disc.force(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)).round(3) + 0.0
    array([-1.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """

    moments: Texts = ("0", "0", "0")
    forces: Texts = ("0", "0", "0")
    rotational_damping: NotNegatives = ORIGIN
    translational_damping: NotNegatives = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        values = {name: x[..., i] for i, name in enumerate(DEFLECTIONS)}
        elastic = vector([evaluate(text, values) for text in (*self.moments, *self.forces)])
        return -elastic - six(self.rotational_damping, self.translational_damping) * rate

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        for text in (*self.moments, *self.forces):
            check_expression(text, DEFLECTIONS, self.element)


# ---- A force that is a function of time -----------------------------------------------------------------------------


@frozen
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


# ---- Forces against the weight of bodies ----------------------------------------------------------------------------


@frozen
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
        super().check(system)
        self.check_child(system, self.body, "weight")
