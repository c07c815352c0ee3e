"""Forces along a path that are piecewise affine in its length and speed: servos, dampers, springs that also push, and
limits.
"""

from dataclasses import field
from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.functions.base import engaged, engaged_energy
from myoquat.joints.ranges import NotNegative, Positive

from .base import ForceLaw


@frozen
class AffinePath(ForceLaw):
    """F = (g0 + g1 l + g2 v) a + b0 + b1 l + b2 v, positive where it pulls; negative forces push along the path.

    MuJoCo's actuators on tendons with an affine gain and bias: motors, position and velocity servos, and dampers. The
    gain has g0 [N], g1 [N/m], g2 [N s/m], and the bias b0, b1, b2 in the same units.

    >>> from myoquat.muscle.laws import AffinePath
    >>> servo = AffinePath(gain_0=-20.0, bias_1=100.0)  # 100 N/m about the length 0.2 a
    >>> float(round(servo.force(0.25, 0.0, 1.0), 9))
    5.0
    """

    kind: ClassVar[str] = "affine_path"
    gain_0: float = 0.0
    gain_1: float = 0.0
    gain_2: float = 0.0
    bias_0: float = 0.0
    bias_1: float = 0.0
    bias_2: float = 0.0

    @property
    def can_push(self) -> bool:
        return True

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        gain = self.gain_0 + self.gain_1 * length + self.gain_2 * speed
        return gain * activation + self.bias_0 + self.bias_1 * length + self.bias_2 * speed


@frozen
class ClippedForce(ForceLaw):
    """The force of the law into which this is mixed, between `least_force` and `greatest_force` [N]."""

    ordered: ClassVar[tuple[tuple[str, str], ...]] = (("least_force", "greatest_force"),)
    least_force: float = field(default=0.0, kw_only=True)
    greatest_force: float = field(default=0.0, kw_only=True)

    @property
    def can_push(self) -> bool:
        return self.least_force < 0

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        force = super().force(length, speed, activation, state)  # type: ignore[safe-super]
        return np.minimum(np.maximum(force, self.least_force), self.greatest_force)


@frozen
class ClippedAffinePath(ClippedForce, AffinePath):
    """F of an `AffinePath`, but at least `least_force` and at most `greatest_force` [N].

    MuJoCo's actuators with a `forcerange`. Raises ModelError where the least force is above the greatest.

    >>> from myoquat.muscle.laws import ClippedAffinePath
    >>> servo = ClippedAffinePath(gain_0=-20.0, bias_1=100.0, least_force=-3.0, greatest_force=3.0)
    >>> [float(round(servo.force(length, 0.0, 1.0), 9)) for length in (0.1, 0.21, 0.25)]
    [-3.0, 1.0, 3.0]
    """

    kind: ClassVar[str] = "clipped_affine_path"


@frozen
class _BetweenLengths(ForceLaw):
    """A law of a path that is free between two lengths."""

    ordered: ClassVar[tuple[tuple[str, str], ...]] = (("shortest_length", "longest_length"),)
    stiffness: NotNegative
    shortest_length: float
    longest_length: float
    damping: NotNegative = 0.0

    @property
    def can_push(self) -> bool:
        return True


@frozen
class SlackSpring(_BetweenLengths):
    """F = k max(l - l1, 0) - k max(l0 - l, 0) + c v: a spring that is slack between two lengths, and a damper.

    MuJoCo's springs and dampers of tendons. They push where the path is shorter than l0. The activation does not
    matter.

    stiffness        k [N/m]
    shortest_length  l0 [m]
    longest_length   l1 [m]
    damping          c [N s/m]

    >>> from myoquat.muscle.laws import SlackSpring
    >>> spring = SlackSpring(stiffness=100.0, shortest_length=0.1, longest_length=0.2, damping=5.0)
    >>> [float(round(spring.force(length, 0.0, 0.0), 9)) for length in (0.05, 0.15, 0.3)]
    [-5.0, 0.0, 10.0]
    """

    kind: ClassVar[str] = "slack_spring"
    activated: ClassVar[bool] = False

    def _stretch(self, length: Array) -> Array:
        above = np.maximum(length - self.longest_length, 0.0)
        return above - np.maximum(self.shortest_length - length, 0.0)

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        return self.stiffness * self._stretch(length) + self.damping * speed

    def stored(self, length: Array) -> Array:
        stretch = self._stretch(length)
        return self.stiffness / 2 * stretch * stretch


@frozen
class PathLimit(_BetweenLengths):
    """F = k s(l - l1) (l - l1) - k s(l0 - l) (l0 - l) + c (s(l - l1) + s(l0 - l)) v: a path limit.

    The path is free between two lengths. It pushes where it is shorter than l0. This is the counterpart of
    `CoordinateLimit` for paths. MuJoCo's limits of tendons are soft constraints. The activation does not matter. Raises
    ModelError where l0 is above l1.

    stiffness          k [N/m]
    shortest_length    l0 [m]
    longest_length     l1 [m]
    damping            c [N s/m]
    transition_length  [m] the depth over which s rises smoothly from 0 to 1

    >>> from myoquat.muscle.laws import PathLimit
    >>> limit = PathLimit(stiffness=1000.0, shortest_length=0.1, longest_length=0.2)
    >>> [float(round(limit.force(length, 0.0, 0.0), 9)) for length in (0.09, 0.15, 0.21)]
    [-10.0, 0.0, 10.0]
    """

    kind: ClassVar[str] = "path_limit"
    activated: ClassVar[bool] = False
    transition_length: Positive = 0.001

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        above, below = length - self.longest_length, self.shortest_length - length
        s_above, s_below = (engaged(depth, self.transition_length) for depth in (above, below))
        elastic = self.stiffness * (s_above * above - s_below * below)
        return elastic + self.damping * (s_above + s_below) * speed

    def stored(self, length: Array) -> Array:
        depths = length - self.longest_length, self.shortest_length - length
        above, below = (engaged_energy(depth, self.transition_length) for depth in depths)
        return self.stiffness * (above + below)


# ---- Springs and actuators along a path -----------------------------------------------------------------------------


@frozen
class PathSpring(ForceLaw):
    """F = k x (1 + c v) for a stretch x = l - l0 > 0, zero otherwise: OpenSim's PathSpring.

    stiffness       k [N/m]
    resting_length  l0 [m]
    dissipation     c [s/m]

    It pushes where it shortens faster than 1 / c, as in OpenSim [PathSpring::getTension]. The activation does not
    matter.

    >>> import numpy as np
    >>> from myoquat.muscle.laws import PathSpring
    >>> spring = PathSpring(stiffness=1000.0, resting_length=0.2)
    >>> spring.force(np.array([0.19, 0.21]), 0.0, 0.0).round(3)  # a short one is slack
    array([ 0., 10.])
    """

    kind: ClassVar[str] = "path_spring"
    activated: ClassVar[bool] = False
    stiffness: NotNegative
    resting_length: Positive
    dissipation: NotNegative = 0.0

    @property
    def can_push(self) -> bool:
        return self.dissipation > 0

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        stretch = np.maximum(length - self.resting_length, 0.0)
        force: Array = self.stiffness * stretch * (1 + self.dissipation * speed)
        return force

    def stored(self, length: Array) -> Array:
        stretch = np.maximum(length - self.resting_length, 0.0)
        return self.stiffness / 2 * stretch * stretch


@frozen
class PathActuator(ForceLaw):
    """F = a F0: a force of its activation alone, such as OpenSim's PathActuator with its control as the activation.

    >>> from myoquat.muscle.laws import PathActuator
    >>> PathActuator(max_isometric_force=500.0).force(0.3, 0.1, 0.4)  # of the activation alone
    200.0
    """

    kind: ClassVar[str] = "path_actuator"
    max_isometric_force: NotNegative

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        return activation * self.max_isometric_force + 0.0 * length


# ---- Dry friction along a path --------------------------------------------------------------------------------------


def dry_friction(rate: Array, friction: float, slip_speed: float) -> Array:
    """(...) -F tanh(v / v_s): Coulomb's friction force against a motion of speed v, smooth where v changes its sign.

    Nothing sticks: under a force below F the path moves with a speed below v_s atanh(force / F).
    """
    return -friction * np.tanh(rate / slip_speed)


@frozen
class PathFriction(ForceLaw):
    """F = F0 tanh(v / v_s): dry friction, which pulls on a path that lengthens and pushes one that shortens.

    friction    F0 [N]
    slip_speed  v_s [m/s], from which on the friction is nearly F0

    The activation does not matter. MuJoCo's `frictionloss` of tendons is a soft constraint with the same force where
    the path slips.

    >>> from myoquat.muscle.laws import PathFriction
    >>> friction = PathFriction(friction=2.0, slip_speed=0.001)
    >>> [float(friction.force(0.3, speed, 0.0)) for speed in (-0.1, 0.0, 0.1)]
    [-2.0, 0.0, 2.0]
    """

    kind: ClassVar[str] = "path_friction"
    activated: ClassVar[bool] = False
    friction: NotNegative
    slip_speed: Positive

    @property
    def can_push(self) -> bool:
        return True

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        return -dry_friction(speed, self.friction, self.slip_speed) + 0.0 * length
