"""Limits of coordinates: forces that set in where a coordinate leaves its range, as ligaments and bones do."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions.base import engaged, engaged_energy
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.muscle.forces.coordinate_spring import CoordinateForce

__all__ = ["CoordinateLimit"]


@dataclass(frozen=True)
class CoordinateLimit(CoordinateForce):
    """A force that brings the `coordinate` x, by name, back into its range: OpenSim's CoordinateLimitForce.

        f = -k_up s(x - upper) (x - upper) + k_low s(lower - x) (lower - x) - c (s(x - upper) + s(lower - x)) dx/dt

    The coordinate may be an angle that a quaternion has replaced. The factor s rises smoothly from 0 to 1 over the
    `transition` t: s(d) = 10 z^3 - 15 z^4 + 6 z^5 with z = d / t within [0, 1].

    lower, upper                      [rad, m or 1: the coordinate's unit]
    lower_stiffness, upper_stiffness  k_low, k_up [N m/rad, N/m or N m]
    transition                        t [the coordinate's unit]
    damping                           c [N m s/rad, N s/m or N m s]

    >>> from myoquat.muscle import CoordinateLimit
    >>> stop = CoordinateLimit("stop", "elbow", 0.0, 2.5, lower_stiffness=50.0, upper_stiffness=50.0, transition=0.1)
    >>> [round(float(stop.force(angle, 0.0)), 6) for angle in (-0.2, 1.0, 2.7)]  # [N m] back into the range
    [10.0, 0.0, -10.0]
    """

    lower: float
    upper: float
    lower_stiffness: NotNegative
    upper_stiffness: NotNegative
    transition: Positive
    damping: NotNegative = 0.0

    @property
    def element(self) -> str:
        return f"limit {self.name!r}"

    def force(self, x: Array, rate: Array) -> Array:
        above, below = x - self.upper, self.lower - x
        s_above, s_below = engaged(above, self.transition), engaged(below, self.transition)
        spring = self.lower_stiffness * s_below * below - self.upper_stiffness * s_above * above
        return spring - self.damping * (s_above + s_below) * rate

    def stored(self, x: Array) -> Array:
        x = x[..., 0]
        above, below = (engaged_energy(d, self.transition) for d in (x - self.upper, self.lower - x))
        return self.upper_stiffness * above + self.lower_stiffness * below

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for a coordinate that does not exist, or impossible numbers."""
        if self.coordinate not in system.coordinate_names and self.coordinate not in system.angle_names:
            raise ModelError(f"coordinate {self.coordinate!r} does not exist", element=self.element)
        check_ranges(self, self.element)
        if self.lower > self.upper:
            raise ModelError(f"lower is above upper: {self.lower} > {self.upper}", element=self.element)
