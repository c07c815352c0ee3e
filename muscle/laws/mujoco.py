"""MuJoCo's muscle: force-length, force-velocity and passive curves over a range of path lengths."""

from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError
from myoquat.joints.ranges import AboveOne, NotNegative, Positive, Range

from .base import ForceLaw
from .path_affine import ClippedForce


@frozen
class MujocoMuscle(ForceLaw):
    """F = F0 (a f_L(L) f_V(V) + f_P(L)): the force model of MuJoCo's `muscle` actuators, on a rigid tendon.

    The fiber length L, in units of its optimal length L0, is affine in the path length l. It is `lowest` where l is
    `shortest_length` and `highest` where l is `longest_length`. Therefore L0 = (longest_length -
    shortest_length) / (highest - lowest). The speed is V = (dl/dt) / (L0 max_speed).

    f_L  parabolas from 0 at `active_from` over 1 at L = 1 to 0 at `active_to`, with inflections in the middle of each
         side
    f_V  (1 + V)^2 for V in [-1, 0], 0 below, and a parabola that rises to `eccentric_force` for V > 0
    f_P  a parabola from L = 1 up to the middle of [1, active_to], where it is passive_force / 2, and straight beyond.
         It is 3/2 passive_force at `active_to`

    A negative F0, with `shortest_length` above `longest_length`, pushes along the path: a muscle of negative `gear`.
    A file that gives the passive force a range of its own has it at the length passive_scale L + passive_offset.

    max_isometric_force              F0 [N]
    shortest_length, longest_length  [m]
    max_speed                        [L0/s]

    The other numbers have no unit. Source: the documentation of MuJoCo, chapter Modeling, "Muscles" (E. Todorov et
    al.). It follows D. G. Thelen, J. Biomech. Eng. 125, 2003 in form.

    >>> import numpy as np
    >>> from myoquat.muscle.laws import MujocoMuscle
    >>> law = MujocoMuscle(100.0, shortest_length=0.2, longest_length=0.3, lowest=0.75, highest=1.05)
    >>> length = 0.2 + 0.1 / 0.3 * np.array([0.25, 0.5])  # fibers of optimal length, and of 5/4 of it
    >>> law.force(length, 0.0, 1.0).round(3)
    array([100.   , 110.417])
    """

    kind: ClassVar[str] = "mujoco_muscle"
    max_isometric_force: float
    shortest_length: float
    longest_length: float
    lowest: float = 0.75
    highest: float = 1.05
    active_from: Annotated[float, Range(high=1.0, open_high=True)] = 0.5
    active_to: AboveOne = 1.6
    max_speed: Positive = 1.5
    passive_force: NotNegative = 1.3
    eccentric_force: Annotated[float, Range(1.0)] = 1.2
    passive_scale: Positive = 1.0
    passive_offset: float = 0.0

    @property
    def can_push(self) -> bool:
        return self.max_isometric_force < 0

    @property
    def optimal_length(self) -> float:
        """L0 [m], the path length that the fiber takes where it is optimal."""
        return (self.longest_length - self.shortest_length) / (self.highest - self.lowest)

    def fiber(self, length: Array) -> Array:
        """(...) L, the length of the fiber over its optimal one."""
        # in a table of muscles a product with a known reciprocal takes a quarter of a division's time, here and below
        return self.lowest + (length - self.shortest_length) * (1.0 / self.optimal_length)

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        L, V = self.fiber(length), speed * (1.0 / self.optimal_length) * (1.0 / self.max_speed)
        active = activation * self.active_force_length(L) * self.force_velocity(V)
        return self.max_isometric_force * (
            active + self.passive_force_length(self.passive_scale * L + self.passive_offset)
        )

    def active_force_length(self, L: Array) -> Array:
        """(...) f_L at the fiber length L (...)."""
        rising = (L - self.active_from) * (1.0 / (1.0 - self.active_from))
        falling = (self.active_to - L) * (1.0 / (self.active_to - 1.0))
        return _two_parabolas(rising) * _two_parabolas(falling)

    def force_velocity(self, V: Array) -> Array:
        """(...) f_V at the speed V (...), positive where the fiber lengthens."""
        rise = self.eccentric_force - 1.0
        left = np.maximum(rise - V, 0.0)
        shortening = np.maximum(np.minimum(V, 0.0) + 1.0, 0.0)
        lengthening = self.eccentric_force - left * left * (1.0 / np.where(rise > 0.0, rise, 1.0))
        return np.where(V > 0.0, lengthening, shortening * shortening)

    def passive_force_length(self, L: Array) -> Array:
        """(...) f_P at the fiber length L (...)."""
        x = np.maximum(L - 1.0, 0.0) * (1.0 / (0.5 * (self.active_to - 1.0)))
        return self.passive_force * np.where(x > 1.0, x - 0.5, 0.5 * x * x)

    def check(self, element: str) -> None:
        super().check(element)
        pulls = self.max_isometric_force >= 0
        if not (self.shortest_length < self.longest_length if pulls else self.longest_length < self.shortest_length):
            bounds, sides = f"{self.shortest_length} and {self.longest_length}", ("below", "above")
            problem = f"shortest_length must be {sides[not pulls]} longest_length, not {bounds}"
            raise ModelError(problem, element=element)
        if not self.lowest < self.highest:
            raise ModelError(f"lowest must be below highest, not {self.lowest} and {self.highest}", element=element)


@frozen
class ClippedMujocoMuscle(ClippedForce, MujocoMuscle):
    """F of a `MujocoMuscle`, but at least `least_force` and at most `greatest_force` [N]: one with a `forcerange`.

    Raises ModelError where the least force is above the greatest.

    >>> from myoquat.muscle.laws import ClippedMujocoMuscle
    >>> law = ClippedMujocoMuscle(100.0, shortest_length=0.2, longest_length=0.3, least_force=0.0, greatest_force=60.0)
    >>> float(law.force(0.28, 0.0, 1.0))
    60.0
    """

    kind: ClassVar[str] = "clipped_mujoco_muscle"


def _two_parabolas(x: Array) -> Array:
    """(...) from 0 at x <= 0 to 1 at x >= 1 by two parabolas that meet at 1/2."""
    x = np.minimum(np.maximum(x, 0.0), 1.0)
    rest = 1.0 - x
    return np.where(x > 0.5, 1.0 - 2.0 * rest * rest, 2.0 * x * x)
