"""Integrators: one file per method, all with the verbs of `dynamics.integrators.base`."""

from dynamics.integrators.base import FixedStep
from dynamics.integrators.equations import StateEquations
from dynamics.integrators.rk4 import RungeKutta4

FIXED_STEP: dict[str, FixedStep] = {method.name: method for method in (RungeKutta4(),)}

__all__ = ["FIXED_STEP", "FixedStep", "RungeKutta4", "StateEquations"]
