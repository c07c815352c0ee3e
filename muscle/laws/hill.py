"""Hill-type muscles: a fiber with active and passive force, at an angle to an elastic or a rigid tendon."""

import math
from abc import abstractmethod
from dataclasses import field
from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, check_unmasked, frozen, real_array
from myoquat.joints import ModelError
from myoquat.joints.ranges import AcuteAngle, BelowOne, NotNegative, Positive, Range

from .base import ForceLaw
from .equilibrium import equilibrium_lengths

TENDONS = ("elastic", "rigid")
MAX_STRAIN_RATIO = 10  # upper end of the first bracket, over the strain at F0; few tendons are stretched further


@frozen
class HillLaw(ForceLaw):
    """F = F0 f_T(l_T) = F0 f_M cos(alpha): the tendon pulls as hard as the fiber along it, and has no mass.

    The fiber has a fixed width, l_M sin(alpha) = l_M0 sin(alpha_0), and the path is l = l_M cos(alpha) + l_T.
    Normalized lengths are l~_M = l_M / l_M0 and l~_T = l_T / l_Ts, the speed is v~_M = dl_M/dt / (vmax l_M0). With an
    elastic tendon the fiber length l_M [m] is a state. With a rigid one, l_T = l_Ts, it follows from the path.

    Every path length has an answer, by the rules of OpenSim's Millard2012EquilibriumMuscle. The fiber is never shorter
    than `shortest`: a state below counts as that length, and its rate is zero where it would shorten further. On a path
    too short for the shortest fiber and the tendon at its slack length, the tendon is slack and carries nothing: F = 0.

    max_isometric_force       F0 [N]
    optimal_fiber_length      l_M0 [m]
    tendon_slack_length       l_Ts [m]; 0 with a rigid tendon for no tendon
    pennation                 alpha_0 [rad] at l_M0
    max_contraction_velocity  vmax [l_M0 / s]
    tendon                    "elastic" or "rigid"
    tendon_strain             at F0
    minimum_activation        activations below it count as this one (OpenSim's rule), so that the fiber's speed stays
                              finite where it divides by the activation. Derivatives by such an activation are zero. At
                              0, rates of fiber lengths need damping (`check_rates`)
    maximum_pennation         [rad]
    pull_only                 the law is F = max(0, ...), which is not smooth where it becomes zero

    With a rigid tendon a fiber that shortens faster than vmax may push. Then F < 0, because the curves of the sources
    continue there (`can_push`).

    >>> from myoquat.muscle.laws import HillLaw, Millard2012, Thelen2003
    >>> laws = [law(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2) for law in (Thelen2003, Millard2012)]
    >>> [isinstance(law, HillLaw) for law in laws], [law.state_suffixes for law in laws]
    ([True, True], [('fiber_length',), ('fiber_length',)])
    """

    max_isometric_force: NotNegative
    optimal_fiber_length: Positive
    tendon_slack_length: NotNegative
    pennation: AcuteAngle = 0.0
    max_contraction_velocity: Positive = 10.0
    tendon: str = "elastic"
    tendon_strain: Positive = 0.049
    minimum_activation: BelowOne = 0.01
    maximum_pennation: Annotated[float, Range(0.0, math.pi / 2, open_low=True)] = math.acos(0.1)
    pull_only: bool = field(default=False, kw_only=True)

    kinked_at_rest: ClassVar[bool] = False  # whether the slope of the fiber's force over its speed jumps at zero speed
    state_suffixes: ClassVar[tuple[str, ...]] = ("fiber_length",)
    state_range: ClassVar[Range] = Range(0.0, open_low=True)

    # ---- the curves of a muscle type --------------------------------------------------------------------------

    @abstractmethod
    def tendon_force(self, length: Array) -> Array:
        """(...) f_T of the normalized tendon length l~_T."""

    @abstractmethod
    def passive_force(self, length: Array) -> Array:
        """(...) f_PE of the normalized fiber length l~_M."""

    @abstractmethod
    def active_force(self, length: Array) -> Array:
        """(...) f_L of the normalized fiber length l~_M."""

    @abstractmethod
    def fiber_force(self, length: Array, speed: Array, activation: Array) -> Array:
        """(...) f_M along the fiber at l~_M, v~_M and activation."""

    @abstractmethod
    def fiber_speed(self, length: Array, force: Array, activation: Array) -> Array:
        """(...) v~_M at which the fiber pulls with f_M = `force`: the inverse of `fiber_force` in the speed."""

    # ---- the law ---------------------------------------------------------------------------------------------

    @property
    def states(self) -> tuple[str, ...]:
        """The fiber length, where the tendon is elastic."""
        return self.state_suffixes if self.tendon == "elastic" else ()

    @property
    def can_push(self) -> bool:
        """True with a rigid tendon, unless pull_only. An elastic tendon only pulls."""
        return self.tendon == "rigid" and not self.pull_only

    @property
    def width(self) -> Array:
        """l_M0 sin(alpha_0) [m]."""
        return self.optimal_fiber_length * np.sin(self.pennation)

    @property
    def shortest(self) -> Array:
        """The shortest fiber [m]: its pennation is the greatest, or its length 1 % of the optimal one."""
        return np.maximum(self.width / np.sin(self.maximum_pennation), 0.01 * self.optimal_fiber_length)

    @property
    def shortest_along(self) -> Array:
        """The shortest fiber [m], along the tendon."""
        return np.sqrt(self.shortest**2 - self.width**2)

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        """(...) F [N].

        With an elastic tendon, state (..., 1) is the fiber length [m], and speed and activation do not matter. With a
        rigid one there is no state, and a slack tendon carries nothing.
        """
        if self.tendon == "rigid":
            fiber, cosine = self._rigid_fiber(length)
            scale = self.max_contraction_velocity * self.optimal_fiber_length
            f = self.fiber_force(fiber / self.optimal_fiber_length, speed * cosine / scale, self._active(activation))
            slack = length - self.tendon_slack_length <= self.shortest_along
            pull = np.maximum(f, 0.0) if self.pull_only else f
            return np.where(slack, 0.0, self.max_isometric_force * pull * cosine)
        *_, tendon = self._fiber(length, state)
        return self.max_isometric_force * tendon

    def state_rate(self, length: Array, speed: Array, activation: Array, state: Array) -> Array:
        """(..., 1) dl_M/dt [m/s] at which fiber and tendon pull alike."""
        *_, rate = self.fiber(length, speed, activation, state)
        return rate[..., None]

    def state_residual(self, length: Array, speed: Array, activation: Array, state: Array, rate: Array) -> Array:
        """(..., 1) f_M cos(alpha) - f_T at the fiber's rate dl_M/dt [m/s]: what the fiber pulls too hard, over F0.

        It is zero at `state_rate`, except where that rate is held at the shortest fiber. It has no singularity, neither
        at activation 0 nor where the active fiber is at its end.
        """
        fiber, cosine, tendon = self._fiber(length, state)
        v = rate[..., 0] / (self.max_contraction_velocity * self.optimal_fiber_length)
        f = self.fiber_force(fiber / self.optimal_fiber_length, v, self._active(activation))
        return (f * cosine - tendon)[..., None]

    def equilibrium(self, length: ArrayLike, speed: ArrayLike, activation: ArrayLike) -> Array:
        """(..., 1) fiber length [m] at which fiber and tendon pull alike with the fiber at rest; floats, batched.

        Every path length has one. Where the fiber pulls harder than the tendon at every length that it can have, it is
        the shortest: the tendon is slack there. Where neither pulls anywhere near balance, it is the fiber that leaves
        the tendon its slack length. Raises ValueError for numbers that are not finite.
        """
        check_unmasked("speed", speed)
        l, a = np.broadcast_arrays(real_array("length", length), real_array("activation", activation))
        found = equilibrium_lengths(self, l, a)
        failed = np.isnan(found)
        if np.any(failed):
            where = tuple(int(i) for i in np.argwhere(failed)[0])
            raise ValueError(f"no fiber length balances the tendon at path length {l[where]:.6g} m, pose {where}")
        return found[..., None]

    def fiber(
        self, length: Array, speed: Array, activation: Array, state: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """(...) l_M [m], cos(alpha) and dl_M/dt [m/s]: by the states with an elastic tendon, else by the path."""
        if self.tendon == "rigid":
            l, cosine = self._rigid_fiber(length)
            return l, cosine, speed * cosine
        l, cosine, tendon = self._fiber(length, state)
        v = self.fiber_speed(l / self.optimal_fiber_length, tendon / cosine, self._active(activation))
        rate = v * self.max_contraction_velocity * self.optimal_fiber_length
        held = (l <= self.shortest) & (rate < 0)
        return l, cosine, np.where(held, 0.0, rate)

    def fiber_parts(self, length: Array, speed: Array, activation: Array) -> tuple[Array, Array, Array]:
        """(...) the active, the passive and the damping part of f_M at l~_M, v~_M and activation, whose sum it is."""
        passive = self.passive_force(length)
        damping = getattr(self, "damping", 0.0) * speed
        return self.fiber_force(length, speed, self._active(activation)) - passive - damping, passive, damping

    def bracket(self, length: Array) -> tuple[Array, Array, Array, Array]:
        """(...) fiber lengths [m] in ascending order that bracket the equilibrium.

        They are the shortest fiber length, and those for three tendon lengths. The tendon has MAX_STRAIN_RATIO times
        its strain at F0, its slack length, and no length.
        """
        stretched = self.tendon_slack_length * (1 + MAX_STRAIN_RATIO * self.tendon_strain)
        first, second, third = (
            np.maximum(np.hypot(np.maximum(length - tendon, 0.0), self.width), self.shortest)
            for tendon in (stretched, self.tendon_slack_length, 0.0)
        )
        return self.shortest, first, second, third

    def check(self, element: str) -> None:
        super().check(element)
        if self.tendon not in TENDONS:
            raise ModelError(f"tendon is 'elastic' or 'rigid', not {self.tendon!r}", element=element)
        if self.tendon == "elastic" and self.tendon_slack_length == 0:
            raise ModelError(
                "tendon_slack_length must be positive with an elastic tendon; one of length 0 is tendon='rigid'",
                element=element,
            )
        if not self.pennation < self.maximum_pennation:
            raise ModelError(
                f"pennation must lie in [0, {self.maximum_pennation:.6g}), below the greatest, not {self.pennation}",
                element=element,
            )

    def check_rates(self, element: str) -> None:
        """ModelError for a law whose `state_rate` is not finite at activation 0.

        With an elastic tendon, no damping and a minimum_activation of 0 the fiber's speed divides by the activation.
        """
        unbounded = isinstance(self.minimum_activation, (int, float)) and self.minimum_activation == 0
        if self.tendon == "elastic" and unbounded and not self.is_damped:
            raise ModelError(
                "minimum_activation is 0, but the speed of a fiber with an elastic tendon and no damping divides by "
                'the activation; set minimum_activation to 0.01, OpenSim\'s default, or tendon to "rigid"',
                element=element,
            )

    @property
    def is_damped(self) -> bool:
        """Whether a part of the fiber's force holds its speed back, whatever the activation."""
        return False

    # ---- the fiber -------------------------------------------------------------------------------------------

    def _active(self, activation: Array) -> Array:
        """(...) the activation that acts."""
        return np.maximum(activation, self.minimum_activation)

    def _fiber_length(self, state: Array | None) -> Array:
        """(...) l_M [m] as the state has it."""
        if state is None:
            raise ValueError("a muscle with an elastic tendon needs its state, the fiber length")
        return state[..., 0]

    def _fiber(self, length: Array, state: Array | None) -> tuple[Array, Array, Array]:
        """(l_M, cos alpha, f_T) with an elastic tendon; the fiber is no shorter than the shortest."""
        fiber = np.maximum(self._fiber_length(state), self.shortest)
        cosine = np.sqrt(1 - (self.width / fiber) ** 2)
        return fiber, cosine, self.tendon_force((length - fiber * cosine) / self.tendon_slack_length)

    def _rigid_fiber(self, length: Array) -> tuple[Array, Array]:
        """(l_M, cos alpha) with the tendon at its slack length."""
        along = np.maximum(length - self.tendon_slack_length, self.shortest_along)
        fiber = np.sqrt(along * along + self.width**2)
        return fiber, along / fiber


class DampedLaw(HillLaw):
    """A law with f_M = a f_L f_V + f_PE + beta v~_M, beta its `damping`.

    >>> from myoquat.muscle.laws import Millard2012, Schutte1993, Thelen2003
    >>> [hasattr(law, "velocity_force") for law in (Millard2012, Schutte1993, Thelen2003)]
    [True, True, False]
    """

    damping: float

    @abstractmethod
    def velocity_force(self, speed: Array) -> Array:
        """(...) f_V of the normalized fiber speed v~_M."""

    def fiber_force(self, length: Array, speed: Array, activation: Array) -> Array:
        """(...) f_M."""
        active = activation * self.active_force(length) * self.velocity_force(speed)
        return active + self.passive_force(length) + self.damping * speed

    @property
    def is_damped(self) -> bool:
        return self.damping > 0
