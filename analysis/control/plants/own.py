"""One's own differential equations in place of a model."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from myoquat.analysis.control.plants.base import Plant
from myoquat.analysis.control.plants.parameters import UnknownParameters
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import CALLABLE, check_types
from myoquat.core.content import content_key
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.data.motions.series import check_names
from myoquat.joints.stacking import vector

__all__ = ["Equations", "OwnPlant"]

Rate = Callable[[Point], Any]


@dataclass(frozen=True)
class Equations(Record):
    """One's own differential equations, xdot = rate(point), in plain NumPy, in place of a model.

    states    names (n,)
    controls  names
    rate      rate(point) returns the rates of the states, an array (n,) or a sequence of n numbers in the order of
              their names

    `point["x"]` is a state, a control or an unknown parameter of the problem by its name, `point.t` the time [s]. The
    function is traced, so it may not branch on values. Raises ValueError for names that come twice.

    >>> from myoquat.analysis.control import Equations
    >>> cart = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"] - point["v"]))
    >>> cart.states, cart.controls
    (('x', 'v'), ('force',))
    """

    states: tuple[str, ...]
    controls: tuple[str, ...]
    rate: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(states=(self.states, tuple), controls=(self.controls, tuple), rate=(self.rate, CALLABLE))
        check_names("state or control", (*self.states, *self.controls))


class OwnPlant(Plant):
    """One's own `Equations`: all states are w."""

    def __init__(self, equations: Equations, unknown: UnknownParameters | None = None) -> None:
        self.equations = equations
        self.unknown = unknown or UnknownParameters()
        self.state_names, self.control_names = equations.states, equations.controls

    @property
    def content(self) -> Hashable:
        return content_key(self.equations)

    def bound(self, p: Array) -> "OwnPlant":
        if not self.unknown.names:
            return self
        plant = OwnPlant(self.equations, self.unknown)
        plant.parameters = p
        return plant

    @property
    def control_bounds(self) -> Array:
        return np.tile([-np.inf, np.inf], (self.nc, 1))

    @property
    def state_bounds(self) -> Array:
        return np.tile([-np.inf, np.inf], (self.nw, 1))

    def residual(self, point: Point) -> Array:
        return point.rates - self._rate(point)

    def rates(self, point: Point) -> tuple[Array, Array]:
        return point.u, self._rate(point)

    def _rate(self, point: Point) -> Array:
        rate = self.equations.rate(point)
        found: Array = rate if isinstance(rate, np.ndarray) or hasattr(rate, "shape") else vector(rate)
        if found.shape[-1:] != (self.nw,):
            raise ValueError(f"rate returns {found.shape[-1:]} numbers; the states are {', '.join(self.state_names)}")
        return found
