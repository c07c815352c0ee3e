"""Actuators beside muscles: forces and torques in proportion to a control."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol

import numpy as np

from myoquat.core import Array, check_type, frozen
from myoquat.joints import ArticulatedSystem
from myoquat.joints.ranges import Bound, Positive
from myoquat.joints.vectors import dot, matvec, vecmat, vector
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at

from .loads import ActingPart, Load, Poses, generalized_force, unit_vector, world_point

__all__ = [
    "ActivationCoordinateActuator",
    "Actuator",
    "BodyActuator",
    "CoordinateActuator",
    "IntegratingCoordinateActuator",
    "PointActuator",
    "PointToPointActuator",
    "ScalarActuator",
    "TorqueActuator",
    "delayed",
    "delayed_rates",
]

# ---- What every actuator can do -------------------------------------------------------------------------------------


Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@frozen
class Actuator(ActingPart):
    """Forces that are proportional to controls, which are inputs of a simulation: without them it does nothing.

    Where an activation, a state, follows the control of an actuator with a delay (`delayed`, with the method
    `activation_rate`), it acts in the control's place. `loads` say what an actuator does to bodies. One that is
    `in_joints` has none, and a `force` of its own, which joints pass on.

    >>> from myoquat.muscle.actuators import BodyActuator, CoordinateActuator
    >>> CoordinateActuator("motor", "knee").control_names, len(BodyActuator("push", "torso").control_names)
    (('motor',), 6)
    """

    noun: ClassVar[str] = "actuator"
    delayed: ClassVar[bool] = False

    @property
    def control_names(self) -> tuple[str, ...]:
        """Names of its controls."""
        return (self.name,)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """(least, greatest) of every control."""
        return ((-math.inf, math.inf),) * len(self.control_names)

    @property
    def activation_bounds(self) -> tuple[float, float]:
        """(least, greatest) activation of one with a delay."""
        return (-math.inf, math.inf)

    def scaled(self, controls: Array) -> Array:
        """(..., k) forces and torques [N, N m] at controls (..., k), or what acts in their place."""
        return controls

    @abstractmethod
    def loads(self, poses: Poses, f: Array) -> list[Load]:
        """The loads on bodies of forces and torques f (..., k) [N, N m], none where it is `in_joints`: the formula, on
        floats and symbols."""

    def force(self, system: ArticulatedSystem, q: Array, controls: Array) -> Array:
        """(..., nu) generalized forces on u at controls (..., k): the formula, on floats and symbols."""
        return generalized_force(system, q, self.loads(system.poses(q), self.scaled(controls)))


@frozen
class ScalarActuator(Actuator):
    """An actuator of one control: a force or torque of `optimal_force` [N, N m] times the control, which lies between
    lower and upper.

    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> motor = CoordinateActuator("motor", "knee", optimal_force=50.0, lower=-1.0, upper=1.0)
    >>> motor.bounds  # of its control, by which optimal_force is multiplied
    ((-1.0, 1.0),)
    """

    constants: ClassVar[tuple[str, ...]] = ("lower", "upper")
    ordered: ClassVar[tuple[tuple[str, str], ...]] = (("lower", "upper"),)
    optimal_force: float = field(default=1.0, kw_only=True)
    lower: Bound = field(default=-math.inf, kw_only=True)
    upper: Bound = field(default=math.inf, kw_only=True)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return ((self.lower, self.upper),)

    def scaled(self, controls: Array) -> Array:
        return self.optimal_force * controls


class HasActuators(Protocol):
    """A system with actuators, above all a Model, which builds on this module."""

    @property
    def system(self) -> ArticulatedSystem: ...

    @property
    def actuators(self) -> Sequence[Actuator]: ...


def delayed(model: HasActuators) -> dict[int, Any]:
    """The actuators whose activations follow their controls with a delay, by the indices of their controls.

    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import ActivationCoordinateActuator, CoordinateActuator, delayed
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), coordinate_names=("x",))
    >>> motors = CoordinateActuator("push", "x"), ActivationCoordinateActuator("pull", "x")
    >>> list(delayed(mq.Model(mq.ArticulatedSystem((sled,)), actuators=motors)))
    [1]
    """
    check_type("model", model, "Model")
    return {own.start: actuator for actuator, own in with_controls(model.actuators) if actuator.delayed}


def delayed_rates(model: HasActuators, controls: Array, activation: Array) -> Array:
    """(..., n) da/dt [1/s] of the delayed actuators at controls (..., k) of all and their activations (..., n): the
    formula, on floats and symbols.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import ActivationCoordinateActuator, delayed_rates
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), coordinate_names=("x",))
    >>> motor = ActivationCoordinateActuator("motor", "x", activation_time=0.1)
    >>> delayed_rates(mq.Model(mq.ArticulatedSystem((sled,)), actuators=(motor,)), np.ones(1), np.zeros(1))
    array([10.])
    """
    rates = [
        actuator.activation_rate(controls[..., place], activation[..., k])
        for k, (place, actuator) in enumerate(delayed(model).items())
    ]
    return vector(rates) if rates else 0.0 * activation


def with_controls(actuators: Iterable[Actuator]) -> Iterator[tuple[Actuator, slice]]:
    """Every actuator with the place of its controls among those of all."""
    place = 0
    for actuator in actuators:
        own = slice(place, place + len(actuator.control_names))
        yield actuator, own
        place = own.stop


# ---- A generalized force on one coordinate --------------------------------------------------------------------------


@frozen
class CoordinateActuator(ScalarActuator):
    """f = optimal_force control [N m or N] on the `coordinate` x by name, whose power is f dx/dt.

    OpenSim's CoordinateActuator. The coordinate may be an angle that a quaternion has replaced. The force is not
    determined at the gimbal lock of that angle.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> motor = CoordinateActuator("motor", "knee", optimal_force=50.0)
    >>> motor.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([0.5]))  # half of 50 N m
    array([25.])
    """

    in_joints: ClassVar[bool] = True
    coordinate: str

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        return []

    def force(self, system: ArticulatedSystem, q: Array, controls: Array) -> Array:
        def value(motion: Array) -> Array:
            return vector([system.coordinate(self.coordinate, system.displaced(q, motion))])

        return vecmat(self.scaled(controls), jacobian_at(value, np.zeros(system.nu), like=q))


# ---- A generalized force on one coordinate that follows its control with a delay ------------------------------------


@frozen
class ActivationCoordinateActuator(CoordinateActuator):
    """f = optimal_force a [N m or N] on the `coordinate`; the activation a, a state, lags behind the control x.

    da/dt = (x - a) / activation_time, and a starts at `activation`: OpenSim's ActivationCoordinateActuator.
    activation_time is in [s]. The bounds are those of the control. An activation that starts between them stays there.

    >>> from myoquat.muscle.actuators import ActivationCoordinateActuator
    >>> motor = ActivationCoordinateActuator("motor", "knee", optimal_force=50.0, activation_time=0.02)
    >>> motor.activation_rate(1.0, 0.5)  # [1/s]
    25.0
    """

    delayed: ClassVar[bool] = True
    activation_time: Positive = field(default=0.01, kw_only=True)
    activation: float = field(default=0.5, kw_only=True)

    def activation_rate(self, control: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        return (control - activation) / self.activation_time


# ---- A generalized force on one coordinate whose activation is the integral of its control --------------------------


@frozen
class IntegratingCoordinateActuator(CoordinateActuator):
    """f = optimal_force a [N m or N] on the `coordinate`; the control x is the rate of the activation a, a state.

    da/dt = x, and a starts at `activation`. With a spring and a damper (`CoordinateSpring`) it is MuJoCo's intvelocity.
    The bounds are those of the control. The activation stays between `least_activation` and `greatest_activation`, by
    default without bounds. Raises ModelError where the least is above the greatest.

    >>> from myoquat.muscle.actuators import IntegratingCoordinateActuator
    >>> servo = IntegratingCoordinateActuator("servo", "knee", optimal_force=50.0)
    >>> float(servo.activation_rate(0.2, 0.7))  # [1/s]
    0.2
    """

    delayed: ClassVar[bool] = True
    ordered: ClassVar[tuple[tuple[str, str], ...]] = (
        *ScalarActuator.ordered,
        ("least_activation", "greatest_activation"),
    )
    activation: float = field(default=0.0, kw_only=True)
    least_activation: Bound = field(default=-math.inf, kw_only=True)
    greatest_activation: Bound = field(default=math.inf, kw_only=True)

    @property
    def activation_bounds(self) -> tuple[float, float]:
        return self.least_activation, self.greatest_activation

    def activation_rate(self, control: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        rate = control + 0.0 * activation
        low, high = self.activation_bounds
        outwards = ((activation >= high) & (rate > 0)) | ((activation <= low) & (rate < 0))
        return np.where(outwards, 0.0, rate)


# ---- A wrench on a body ---------------------------------------------------------------------------------------------


@frozen
class BodyActuator(Actuator):
    """A torque (3) [N m] and a force (3) [N] on the `body`, the six controls in this order: OpenSim's BodyActuator.

    point           [m] where the force acts, in the body's frame
    point_in_world  whether the point is in the world's frame instead
    in_world        whether the controls are components in world axes, else in the body's

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import BodyActuator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> push = BodyActuator("push", "sled")  # controls: a torque [N m] and a force [N]
    >>> push.force(mq.ArticulatedSystem((sled,)), np.zeros(1), np.array([0.0, 0, 0, 5.0, 0, 0]))
    array([5.])
    """

    body: str
    point: Vector = ORIGIN
    point_in_world: bool = False
    in_world: bool = True

    @property
    def control_names(self) -> tuple[str, ...]:
        """'<name>.torque_x' to '<name>.force_z'."""
        return tuple(f"{self.name}.{part}_{axis}" for part in ("torque", "force") for axis in "xyz")

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        torque, force = f[..., :3], f[..., 3:]
        if not self.in_world:
            torque, force = matvec(poses[self.body][0], torque), matvec(poses[self.body][0], force)
        at = as_array(self.point) if self.point_in_world else world_point(poses, self.body, self.point)
        return [Load(self.body, at, force, torque)]


# ---- A force on a point of a body -----------------------------------------------------------------------------------


@frozen
class PointActuator(ScalarActuator):
    """A force of optimal_force times the control [N] on the `body` at a `point` [m]: OpenSim's PointActuator.

    The force is along the `direction`, of any length. Point and direction are in the body's frame. With point_in_world
    or direction_in_world they are in the world's; the body may then be anywhere relative to the point.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import PointActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)))
    >>> pull = PointActuator("pull", "shin", point=(0.0, -0.4, 0.0), direction=(1, 0, 0), optimal_force=10.0)
    >>> pull.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([1.0]))  # 10 N at 0.4 m
    array([4.])
    """

    body: str
    point: Vector = ORIGIN
    direction: Vector = (1.0, 0.0, 0.0)
    point_in_world: bool = False
    direction_in_world: bool = False

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        force = f * unit_vector(self.direction, None if self.direction_in_world else poses[self.body][0])
        at = as_array(self.point) if self.point_in_world else world_point(poses, self.body, self.point)
        return [Load(self.body, at, force)]


# ---- A force between points of two bodies ---------------------------------------------------------------------------


@frozen
class PointToPointActuator(ScalarActuator):
    """A force of optimal_force times the control [N] that pushes points [m] of two bodies apart where it is positive.

    OpenSim's PointToPointActuator. The points are in the bodies' frames, or in the world's if `in_world`. The force is
    not determined where the points meet.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import PointToPointActuator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> jack = PointToPointActuator("jack", "ground", "sled", optimal_force=10.0)  # pushes the points apart
    >>> jack.force(mq.ArticulatedSystem((sled,)), np.array([0.5]), np.array([1.0]))
    array([10.])
    """

    first: str
    second: str
    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    in_world: bool = False

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        ends = ((self.first, self.first_point), (self.second, self.second_point))
        first, second = (as_array(p) if self.in_world else world_point(poses, body, p) for body, p in ends)
        d = first - second
        force = f * (d / np.sqrt(dot(d, d))[..., None])
        return [Load(self.first, first, force), Load(self.second, second, -force)]


# ---- A torque between two bodies ------------------------------------------------------------------------------------


@frozen
class TorqueActuator(ScalarActuator):
    """A torque of optimal_force times the control [N m] on the `first` body, its opposite on the `second`.

    OpenSim's TorqueActuator. The torque acts about the `axis`, of any length. The axis is one of the world, or of the
    first body unless `in_world`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import TorqueActuator
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)))
    >>> motor = TorqueActuator("motor", "shin", "ground", axis=(0, 0, 1), optimal_force=10.0)
    >>> motor.force(mq.ArticulatedSystem((shin,)), np.zeros(1), np.array([1.0]))  # on the first body
    array([10.])
    """

    first: str
    second: str
    axis: Vector = (0.0, 0.0, 1.0)
    in_world: bool = True

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        (R, p), (_, p_second) = poses[self.first], poses[self.second]
        torque = f * unit_vector(self.axis, None if self.in_world else R)
        return [Load(self.first, p, 0.0 * torque, torque), Load(self.second, p_second, 0.0 * torque, -torque)]
