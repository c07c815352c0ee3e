"""The muscle of Millard, Uchida, Seth and Delp (2013), as OpenSim's Millard2012EquilibriumMuscle has it."""

from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError
from myoquat.joints.ranges import AboveOne, Fraction, NotNegative, Positive, Range

from .corners import Corners, sharpness
from .hill import DampedLaw

PLATEAU_HALF_WIDTH = 0.05  # of the active curve, over the optimal length
STEEP_SLOPE_RATIO = 1.25  # slope of the steep part of the ascending limb over its mean slope
MAX_SPEED, NEAR_MAX_SPEED = 1.0, 0.9  # normalized speeds of the slopes `_at_vmax` and `_near_vmax`
TOE_FRACTION = 0.1  # length of the toe of a passive curve over its range


@frozen
class Millard2012(DampedLaw):
    """M. Millard, T. Uchida, A. Seth, S. L. Delp, Flexing computational muscle: modeling and simulation of
    musculotendon dynamics, J. Biomech. Eng. 135, 2013, with the curves and the default numbers of OpenSim 4.6.

    The fiber's force has a part beta v~_M with beta = damping. The curves are `Corners` with these numbers:

    active fiber        shortest, transition and longest normalized length, slope of the shallow part, lowest value
    force and velocity  slopes at and near the greatest speeds, isometric slope, greatest eccentric force, curviness
    passive fiber       strains at no force and at F0, stiffness at low force, stiffness at F0 times the strain in
                        between, curviness
    tendon              strain at F0, stiffness at F0 times it, force at the end of the toe, curviness

    Without damping the fiber's speed divides by three numbers. An elastic tendon then needs a lowest active force,
    slopes at the greatest speeds, and a least activation. OpenSim takes at least 0.1, half of the slopes near them, and
    0.01. A rigid tendon carries nothing where the fiber would push it (OpenSim's rule). SymPy symbols pass the curves,
    but the rate with an elastic tendon nests two solutions and is too deep for SymPy.

    >>> from myoquat.muscle.laws import Millard2012
    >>> law = Millard2012(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> [float(law.force(length, 0.0, 1.0).round(1)) for length in (0.25, 0.3, 0.35)]  # [N]
    [98.5, 1000.0, 863.6]
    """

    kind: ClassVar[str] = "millard2012"
    damping: NotNegative = 0.1
    active_shortest: Positive = 0.4441
    active_transition: Positive = 0.73
    active_longest: AboveOne = 1.8123
    active_shallow_slope: NotNegative = 0.8616
    active_lowest: NotNegative = 0.0
    concentric_slope_at_vmax: NotNegative = 0.0
    concentric_slope_near_vmax: NotNegative = 0.25
    isometric_slope: Positive = 5.0
    eccentric_slope_at_vmax: NotNegative = 0.0
    eccentric_slope_near_vmax: NotNegative = 0.15
    eccentric_force: AboveOne = 1.4
    concentric_curviness: Fraction = 0.6
    eccentric_curviness: Fraction = 0.9
    passive_strain_at_zero: float = 0.0
    passive_strain: Positive = 0.7
    passive_low_stiffness: NotNegative = 0.2
    passive_stiffness_ratio: AboveOne = 2.0
    passive_curviness: Fraction = 0.75
    tendon_stiffness_ratio: AboveOne = 1.375
    tendon_toe_force: Annotated[float, Range(0.0, 1.0, open_low=True, open_high=True)] = 2 / 3
    tendon_curviness: Fraction = 0.5

    # ---- curves ----------------------------------------------------------------------------------------------

    @property
    def active_curve(self) -> Corners:
        """f_L(l~_M): up the steep limb, over the shallow one to 1 at 1, down to the longest length."""
        shortest, transition, longest = self.active_shortest, self.active_transition, self.active_longest
        bend = 1 - self.active_shallow_slope * (1 - PLATEAU_HALF_WIDTH - transition)  # value where the limbs meet
        steep = STEEP_SLOPE_RATIO * bend / (transition - shortest)
        fall = -1 / (longest - 1 - 2 * PLATEAU_HALF_WIDTH)
        joins = (
            (shortest, self.active_lowest, 0.0),
            ((shortest + transition) / 2, bend / 2, steep),
            ((transition + 1 - PLATEAU_HALF_WIDTH) / 2, (1 + bend) / 2, self.active_shallow_slope),
            (1.0, 1.0, 0.0),
            ((1 + PLATEAU_HALF_WIDTH + longest) / 2, 0.5, fall),
            (longest, self.active_lowest, 0.0),
        )
        return Corners(joins, sharpness(1.0))

    @property
    def velocity_curve(self) -> Corners:
        """f_V(v~_M): 0 at -1, 1 at 0, the greatest eccentric force at 1."""
        slow = self.concentric_slope_near_vmax + self.concentric_slope_at_vmax
        fast = self.eccentric_slope_near_vmax + self.eccentric_slope_at_vmax
        last = MAX_SPEED - NEAR_MAX_SPEED
        joins = (
            (-MAX_SPEED, 0.0, self.concentric_slope_at_vmax),
            (-NEAR_MAX_SPEED, slow * last / 2, self.concentric_slope_near_vmax),
            (0.0, 1.0, self.isometric_slope),
            (NEAR_MAX_SPEED, self.eccentric_force - fast * last / 2, self.eccentric_slope_near_vmax),
            (MAX_SPEED, self.eccentric_force, self.eccentric_slope_at_vmax),
        )
        concentric, eccentric = sharpness(self.concentric_curviness), sharpness(self.eccentric_curviness)
        return Corners(joins, (concentric, concentric, eccentric, eccentric))

    @property
    def passive_curve(self) -> Corners:
        """f_PE(l~_M): from the strain at no force over a foot of low stiffness to 1."""
        start, end = 1 + self.passive_strain_at_zero, 1 + self.passive_strain
        stiffness = self.passive_stiffness_ratio / (end - start)
        foot = TOE_FRACTION * np.minimum(1 / stiffness, end - start)
        low = (start + foot, self.passive_low_stiffness * foot / 2, self.passive_low_stiffness)
        return Corners(((start, 0.0, 0.0), low, (end, 1.0, stiffness)), sharpness(self.passive_curviness))

    @property
    def tendon_curve(self) -> Corners:
        """f_T(l~_T): from the slack length over a toe of two corners to a straight line through 1 at the strain."""
        stiffness = self.tendon_stiffness_ratio / self.tendon_strain
        toe = self.tendon_toe_force
        end, middle = (1 + self.tendon_strain + (force - 1) / stiffness for force in (toe, toe / 2))
        foot = 1 + TOE_FRACTION * (end - 1)
        slope = toe / 2 / (middle - foot)
        joins = ((1.0, 0.0, 0.0), ((foot + middle) / 2, slope * (middle - foot) / 2, slope), (end, toe, stiffness))
        return Corners(joins, sharpness(self.tendon_curviness))

    def tendon_force(self, length: Array) -> Array:
        """f_T, zero when slack, straight above the toe."""
        return self.tendon_curve.value(length)

    def passive_force(self, length: Array) -> Array:
        """f_PE, zero when slack, straight above F0."""
        return self.passive_curve.value(length)

    def active_force(self, length: Array) -> Array:
        """f_L."""
        return self.active_curve.value(length)

    def velocity_force(self, speed: Array) -> Array:
        """f_V, straight beyond -1 and 1."""
        return self.velocity_curve.value(speed)

    def fiber_speed(self, length: Array, force: Array, activation: Array) -> Array:
        """v~_M: the point of the curve (v~, f_V) where a f_L f_V + beta v~ is what the passive fiber leaves over."""
        isometric = activation * self.active_force(length)
        return self.velocity_curve.point(self.damping, isometric, force - self.passive_force(length))[0]

    # ---- the law ---------------------------------------------------------------------------------------------

    @property
    def shortest(self) -> Array:
        """The shortest fiber [m]: its pennation is the greatest, or it is as short as can be active."""
        return np.maximum(super().shortest, self.active_shortest * self.optimal_fiber_length)

    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        """(...) F [N] as `HillLaw.force`; with a rigid tendon never a push."""
        force = super().force(length, speed, activation, state)
        return force if self.tendon == "elastic" else np.maximum(force, 0.0)

    @property
    def can_push(self) -> bool:
        """Never: the curves end at zero, and so does a fiber that its damping would let push."""
        return False

    @property
    def closed_form(self) -> bool:
        """Never: the curves are found by an iteration."""
        return False

    def check(self, element: str) -> None:
        super().check(element)
        if self.tendon == "elastic" and not self.is_damped:
            for name in ("active_lowest", "concentric_slope_at_vmax", "eccentric_slope_at_vmax"):
                if getattr(self, name) <= 0:
                    raise ModelError(f"{name} must be positive with an elastic tendon and no damping", element=element)
        for name in ("active", "velocity", "passive", "tendon"):
            try:
                curve = getattr(self, f"{name}_curve")
            except ZeroDivisionError:  # beside 1, what is below the round-off of floats is zero
                message = f"the numbers of the {name} curve are so near to each other that its corners coincide"
                raise ModelError(message, element=element) from None
            curve.check(element, name)
