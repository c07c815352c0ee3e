"""A multiple of another function."""

from dataclasses import dataclass

from myoquat.core.typing import Array
from myoquat.joints.functions.base import AxisFunction

__all__ = ["Multiplier"]


@dataclass(frozen=True)
class Multiplier(AxisFunction):
    """f(x) = scale function(x): how scaled models keep the functions of the generic one.

    >>> from myoquat.joints.functions import Linear, Multiplier
    >>> Multiplier(Linear(2.0), scale=10.0).value(3.0)
    60.0
    """

    function: AxisFunction
    scale: float = 1.0

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.function.kinks

    def value(self, x: Array) -> Array:
        return self.scale * self.function.value(x)

    def slope(self, x: Array) -> Array:
        return self.scale * self.function.slope(x)

    def curvature(self, x: Array) -> Array:
        return self.scale * self.function.curvature(x)

    def integral(self, x: Array) -> Array:
        return self.scale * self.function.integral(x)
