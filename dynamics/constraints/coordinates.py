"""Constraints on single coordinates: couplers and prescribed motions."""

from collections.abc import Callable
from dataclasses import dataclass

from myoquat.dynamics.constraints.base import Holonomic, check_coordinates
from myoquat.joints.functions import AxisFunction, Linear
from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array

__all__ = ["CoordinateCoupler", "Prescribed"]


@dataclass(frozen=True)
class CoordinateCoupler(Holonomic):
    """phi = q_dependent - scale f(q_independent) (1): gears, and the couplers of OpenSim's models."""

    dependent: str
    independent: str
    function: AxisFunction = Linear()  # noqa: RUF009 - frozen
    scale: float = 1.0

    def check(self, system: ArticulatedSystem) -> None:
        check_coordinates(system, self.dependent, self.independent)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        wanted = self.scale * self.function.value(system.coordinate(self.independent, q))
        return (system.coordinate(self.dependent, q) - wanted)[..., None]


@dataclass(frozen=True)
class Prescribed(Holonomic):
    """phi = q - f(t) (1): a coordinate moves as f says, a NumPy formula of time, twice differentiable."""

    coordinate: str
    motion: Callable[[Array], Array]

    def check(self, system: ArticulatedSystem) -> None:
        check_coordinates(system, self.coordinate)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        result: Array = (system.coordinate(self.coordinate, q) - self.motion(t))[..., None]
        return result
