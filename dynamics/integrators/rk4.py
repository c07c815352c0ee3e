"""The classical Runge-Kutta method of order 4, on the coordinates as they are."""

from typing import ClassVar

from myoquat.dynamics.integrators.base import FixedStep, StepFormula
from myoquat.dynamics.integrators.equations import StateEquations

__all__ = ["RungeKutta4"]


class RungeKutta4(FixedStep):
    """x + h (k1 + 2 k2 + 2 k3 + k4) / 6, then |Q| = 1 by division ("projection"), by a force that pulls it back
    ("baumgarte"), or not at all. In the last case |Q| drifts by O(h^5) a step ("none").

    Dividing by |Q| does not lower the order: |Q| - 1 is of the order of the local error.

    >>> from myoquat.dynamics.integrators import RungeKutta4
    >>> RungeKutta4.name, RungeKutta4.order, RungeKutta4.stabilizations
    ('rk4', 4, ('projection', 'norm', 'baumgarte', 'none'))
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    stability_bound: ClassVar[float] = 2.785
    by_acceleration: ClassVar[bool] = True

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        return StepFormula(slope=equations.rate, project=equations.projection(stabilization), bound=equations.beyond)
