"""A multiple of another function."""

from myoquat.core.records import dataclass
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

    @property
    def as_polynomial(self) -> tuple[float, ...] | None:
        found = self.function.as_polynomial
        return None if found is None else tuple(self.scale * c for c in found)

    @property
    def as_line(self) -> tuple[float, float] | None:
        found = self.function.as_line
        return None if found is None else (self.scale * found[0], self.scale * found[1])

    @property
    def as_constant(self) -> float | None:
        found = self.function.as_constant
        return None if found is None else self.scale * found

    def value(self, x: Array) -> Array:
        return self.scale * self.function.value(x)

    def slope(self, x: Array) -> Array:
        return self.scale * self.function.slope(x)

    def curvature(self, x: Array) -> Array:
        return self.scale * self.function.curvature(x)

    def integral(self, x: Array) -> Array:
        return self.scale * self.function.integral(x)
