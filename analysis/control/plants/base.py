"""The interface of controlled systems for transcriptions: state, equations, bounds.

The state is (q, u, w):

- the pose q with its chart z (nu,)
- the velocities u (nu,)
- further states w (nw,), such as activations and fiber lengths

Equations are implicit: residual(point) = 0 with udot and wdot as unknowns. For a model this is inverse dynamics, the
cheapest form of its equations of motion.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable

import numpy as np

from myoquat.analysis.control.charts import chart_coordinates, chart_pose, displacement, displacement_rate
from myoquat.analysis.control.plants.constraints import PathEquations
from myoquat.analysis.control.plants.parameters import UnknownParameters
from myoquat.analysis.control.points import Point
from myoquat.core.typing import Array
from myoquat.joints.multibody.state import integrate
from myoquat.joints.multibody.system import ArticulatedSystem

__all__ = ["Plant"]


class Plant(ABC):
    """A model or equations, as transcriptions use them. Sizes and names, the chart of the pose, the residual."""

    system: ArticulatedSystem | None = None
    velocity_names: tuple[str, ...] = ()
    state_names: tuple[str, ...]
    control_names: tuple[str, ...]
    constraints: PathEquations | None = None
    unknown: UnknownParameters = UnknownParameters()
    parameters: Array = np.zeros(0)
    """(np,) the values of the unknown parameters, where the plant is `bound` to some."""

    def bound(self, p: Array) -> "Plant":
        """The same with values (np,) of its unknown parameters, floats or symbols."""
        return self

    @property
    @abstractmethod
    def content(self) -> Hashable:
        """What the residual computes with, for the key of its kernels."""

    @property
    @abstractmethod
    def control_bounds(self) -> Array:
        """(nc, 2) least and greatest of each control."""

    @property
    @abstractmethod
    def state_bounds(self) -> Array:
        """(nw, 2) least and greatest of each of the states w."""

    @abstractmethod
    def residual(self, point: Point) -> Array:
        """(..., nu + nw + nk) zero where the equations hold, constraints by their second derivatives: the formula."""

    def rates(self, point: Point) -> tuple[Array, Array]:
        """(..., nu) udot and (..., nw) wdot at a point by the explicit equations, where there are any: the formula."""
        raise NotImplementedError

    @property
    def residual_names(self) -> tuple[str, ...]:
        """The name of each entry of the residual, for messages."""
        forces = tuple(f"equation of motion of {name}" for name in self.velocity_names)
        names = self.constraints.names("acceleration") if self.constraints else ()
        return (*forces, *(f"equation of {name}" for name in self.state_names), *names)

    def acting_controls(self, t: Array, controls: Array) -> Array:
        """(..., nc) the controls at times t (...) [s], from values (..., nc): the formula. What the model prescribes by
        its own `inputs` has the value of its function, and is no unknown."""
        return controls

    @property
    def width(self) -> int:
        """How many numbers of data its equations take at each time."""
        return 0

    def samples(self, time: Array) -> Array:
        """(t, width) these data at the times [s]; ValueError for times that they do not cover."""
        return np.zeros((len(time), 0))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.system.nq if self.system is not None else 0

    @property
    def nu(self) -> int:
        """Number of velocities, and of chart coordinates."""
        return len(self.velocity_names)

    @property
    def nw(self) -> int:
        """Number of further states."""
        return len(self.state_names)

    @property
    def nc(self) -> int:
        """Number of controls."""
        return len(self.control_names)

    @property
    def nk(self) -> int:
        """Number of multipliers of constraints."""
        return self.constraints.rates if self.constraints else 0

    @property
    def ng(self) -> int:
        """Number of multiples by which a node is moved onto the constraints, and of rows of its state."""
        return self.constraints.positions + self.constraints.rates if self.constraints else 0

    @property
    def state_row_names(self) -> tuple[str, ...]:
        """The name of each of these rows, for messages."""
        held = self.constraints
        return (*held.names("position"), *held.names("velocity")) if held else ()

    def pose(self, reference: Array, z: Array) -> Array:
        """(..., nq) q at the chart coordinates z (..., nu)."""
        return z if self.system is None else chart_pose(self.system.layout, reference, z)

    def coordinates(self, reference: Array, q: Array) -> Array:
        """(..., nu) chart coordinates of q (..., nq) about a reference."""
        return q if self.system is None else chart_coordinates(self.system.layout, reference, q)

    def moved(self, q: Array, motion: Array) -> Array:
        """(..., nq) q after unit time at constant velocities `motion` (..., nu)."""
        return q if self.system is None else integrate(self.system.layout, q, motion)

    def displacement(self, q0: Array, q1: Array) -> Array:
        """(..., nu) from q0 to q1."""
        return q1 - q0 if self.system is None else displacement(self.system.layout, q0, q1)

    def displacement_rate(self, theta: Array, q: Array, u: Array) -> Array:
        """(..., nu) the rate of a displacement."""
        return u if self.system is None else displacement_rate(self.system.layout, theta, q, u)
