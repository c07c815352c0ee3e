"""What every actuator can do."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, fields
from typing import Any, ClassVar, Protocol

from myoquat.core.arguments import check_type
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import vector
from myoquat.muscle.loads import Load, Poses, generalized_force

__all__ = [
    "ORIGIN",
    "Actuator",
    "ScalarActuator",
    "Vector",
    "delayed",
    "delayed_rates",
    "with_controls",
]

Vector = tuple[float, float, float]
_MAY_BE_INFINITE = ("lower", "upper", "least_activation", "greatest_activation")
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Actuator(Record, ABC):
    """Forces that are proportional to controls, which are inputs of a simulation: without them it does nothing.

    Where an activation, a state, follows the control of an actuator with a delay (`delayed`, with the method
    `activation_rate`), it acts in the control's place. `loads` say what an actuator does to bodies. One that is
    `in_joints` has none, and a `force` of its own, which joints pass on.

    >>> from myoquat.muscle.actuators import BodyActuator, CoordinateActuator
    >>> CoordinateActuator("motor", "knee").control_names, len(BodyActuator("push", "torso").control_names)
    (('motor',), 6)
    """

    delayed: ClassVar[bool] = False
    in_joints: ClassVar[bool] = False
    name: str

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

    @property
    def element(self) -> str:
        """The actuator in words, for messages."""
        return f"actuator {self.name!r}"

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for what does not exist or impossible numbers."""
        known = (system.ground, *system.body_names)
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("body", "first", "second") and value not in known:
                raise ModelError(f"body {value!r} does not exist", element=self.element)
            numbers = value if isinstance(value, tuple) else (value,)
            if f.name not in _MAY_BE_INFINITE and any(isinstance(x, float) and not math.isfinite(x) for x in numbers):
                raise ModelError(f"{f.name} must be finite, not {value!r}", element=self.element)
            if f.name in ("axis", "direction") and not any(numbers):
                raise ModelError(f"{f.name} must not be zero", element=self.element)


@dataclass(frozen=True)
class ScalarActuator(Actuator):
    """An actuator of one control: a force or torque of `optimal_force` [N, N m] times the control, which lies between
    lower and upper.

    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> motor = CoordinateActuator("motor", "knee", optimal_force=50.0, lower=-1.0, upper=1.0)
    >>> motor.bounds  # of its control, by which optimal_force is multiplied
    ((-1.0, 1.0),)
    """

    constants: ClassVar[tuple[str, ...]] = ("lower", "upper")
    optimal_force: float = field(default=1.0, kw_only=True)
    lower: float = field(default=-math.inf, kw_only=True)
    upper: float = field(default=math.inf, kw_only=True)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return ((self.lower, self.upper),)

    def scaled(self, controls: Array) -> Array:
        return self.optimal_force * controls

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if not self.lower <= self.upper:
            raise ModelError(f"lower is above upper: {self.lower} > {self.upper}", element=self.element)


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
